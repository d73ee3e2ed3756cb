"""What Bayes' rule leaves of noise, against every count and every noisy count in turn."""

import math
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from synth.planning.found_out import (
    _law_of_counts,
    _likelihoods,
    absolute_left,
    mean_absolute,
    variance_left,
)

ZIPF = 1.2
MOST = 1500
"""No count below is larger, nor any noise."""


@lru_cache(maxsize=8)
def law(size, records):
    """The probability of every count of a cell, from a Poisson law for every rank."""
    shares = np.arange(1.0, size + 1) ** -ZIPF
    means = records * shares / shares.sum()
    return stats.poisson.pmf(np.arange(MOST)[:, None], means).mean(axis=1)


def left_slowly(size, records, variance):
    """Mean square and mean absolute errors of posterior mean and median."""
    counts, noise = np.arange(MOST), np.arange(-MOST, MOST + 1)
    rate = 2 * math.asinh(1 / math.sqrt(2 * variance))
    odds = np.exp(-rate * np.abs(noise))
    odds /= odds.sum()
    prior, squared, absolute = law(size, records), 0.0, 0.0
    for noisy in range(-MOST // 2, 2 * MOST):
        likelihood = np.zeros(MOST)
        gap = noisy - counts
        inside = np.abs(gap) <= MOST
        likelihood[inside] = odds[gap[inside] + MOST]
        joint = prior * likelihood
        if joint.sum() <= 0.0:
            continue
        mean = (joint * counts).sum() / joint.sum()
        median = np.searchsorted(np.cumsum(joint), 0.5 * joint.sum())
        squared += (joint * (counts - mean) ** 2).sum()
        absolute += (joint * np.abs(counts - median)).sum()
    return squared, absolute


@pytest.mark.parametrize("variance", [0.05, 2.0, 50.0, 2_000.0])
@pytest.mark.parametrize(("size", "records"), [(240, 500), (8, 1_000), (2_000, 1_000)])
def test_it_is_what_every_noisy_count_leaves(size, records, variance):
    """But that the largest ranks go over into each other: more is left where noise hides them."""
    squared, absolute = left_slowly(size, records, variance)
    assert 0.9 * squared < variance_left(size, records, variance) < 1.25 * squared
    assert 0.9 * absolute < absolute_left(size, records, variance) < 1.25 * absolute


@pytest.mark.parametrize("size", [1, 2, 100, 10**6, 10**200])
@pytest.mark.parametrize("records", [1, 1_000, 10**12])
def test_no_noise_adds_to_what_is_left_and_more_noise_never_takes_from_it(size, records):
    variances = [10.0**power for power in range(-12, 31, 3)]
    squared = [variance_left(size, records, each) for each in variances]
    absolute = [absolute_left(size, records, each) for each in variances]
    for left, variance in zip(squared, variances, strict=True):
        assert 0.0 <= left <= variance * (1 + 1e-9)
    for left, variance in zip(absolute, variances, strict=True):
        assert 0.0 <= left <= mean_absolute(variance) * 1.01
    for errors in (squared, absolute):
        for less, more in pairwise(errors):
            assert less <= more * 1.05 + 1e-12


@pytest.mark.parametrize("size", [1, 2, 3, 8, 100, 10**6])
@pytest.mark.parametrize("records", [1, 30, 40, 60, 1_000, 10**9])
def test_the_law_of_counts_is_one_and_has_about_the_records(size, records):
    law, places = _law_of_counts(size, records), _places(size, records)
    assert law.sum() == pytest.approx(1.0)
    assert (law * places).sum() * size == pytest.approx(records, rel=0.2)


def _places(size, records):
    """The counts whose probabilities the law has."""
    places, _ = _likelihoods(float(max(records, 100)) ** 2)
    return places[: _law_of_counts(size, records).size]


def test_noise_that_hides_everything_leaves_what_the_law_of_counts_says():
    shares = law(240, 500)
    counts = np.arange(MOST)
    spread = (shares * counts**2).sum() - (shares * counts).sum() ** 2
    middle = np.searchsorted(np.cumsum(shares), 0.5)
    assert spread < variance_left(240, 500, 1e14) < 1.25 * spread
    far = (shares * np.abs(counts - middle)).sum()
    assert absolute_left(240, 500, 1e14) == pytest.approx(far, rel=0.05)
