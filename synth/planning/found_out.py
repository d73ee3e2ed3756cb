"""What Bayes' rule leaves of the noise in the cells of a table.

The rule knows how the counts of the table are distributed, but not which cell has which: the k-th
largest of N cells is expected to hold n k^-ZIPF / H of n records, and counts are Poisson. Every
cell is then known by its noisy count alone, and there is a least error that is left. So this is the
forecast of a rule that could be carried out; an estimate that uses how columns go together does
better.

Up to WHOLE records the law of a count is a sum over the ranks; above, the ranks are taken to go
over into each other, and a bin of counts has as many cells as ranks lie between its edges. Counts
of more than CLEAR standard deviations keep the noise: around them all counts are about as likely.
The noise is taken to be discrete Laplace of its variance, whatever its law.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from synth.planning.expected_counts import ZIPF, expected_counts

Floats = NDArray[np.float64]

WHOLE, WIDER = 32, 0.05
"""Counts up to the first have a place each; then the places grow by the second in proportion."""
HIGHEST = 1.5
"""The largest cell holds no more than this times what is expected of it."""
CLEAR = 10.0
FINEST = 4.0
"""Noisy counts are told apart by this part of a standard deviation, or by single records."""
FARTHEST = 6.0
"""Noise of more standard deviations is left out (probability 2e-4)."""
ROUNDING = 1e-12
"""A smaller part of the cells is none."""
LARGEST_DEVIATION = 1e12
"""Noise of more is taken to be of this: of fewer records than that nothing is left to find out."""


@lru_cache(maxsize=1 << 16)
def variance_left(size: int, records: float, variance: float) -> float:
    """The mean squared error of the posterior mean of a cell, in records squared.

    Of a table of so many cells and records, each cell with noise of this variance; on average.
    """
    counts, likelihood = _likelihoods(variance)
    masses, clear = _masses(size, records, counts.size)
    total = masses @ likelihood
    means = (masses * counts) @ likelihood
    seen = total > 0.0
    left = masses @ counts**2 - float((means[seen] ** 2 / total[seen]).sum())
    return min(clear * variance + max(float(left), 0.0), variance)


@lru_cache(maxsize=1 << 12)
def absolute_left(size: int, records: float, variance: float) -> float:
    """The mean absolute error of the posterior median of a cell, in records; as `variance_left`."""
    counts, likelihood = _likelihoods(variance)
    masses, clear = _masses(size, records, counts.size)
    joint = masses[:, None] * likelihood
    below, sums = np.cumsum(joint, axis=0), np.cumsum(joint * counts[:, None], axis=0)
    total = below[-1]
    at = (below < 0.5 * total).sum(axis=0), np.arange(total.size)
    left = counts[at[0]] * (2 * below[at] - total) + sums[-1] - 2 * sums[at]
    noise = mean_absolute(variance)
    return min(clear * noise + float(left.sum()), noise)


def mean_absolute(variance: float) -> float:
    """About that of discrete Laplace noise of this variance."""
    return variance / math.sqrt(1 + 2 * variance)


@lru_cache(maxsize=1 << 6)
def _likelihoods(variance: float) -> tuple[Floats, Floats]:
    """Counts that noise can hide, and for each a row: the probability of every noisy count."""
    deviation = min(math.sqrt(variance), LARGEST_DEVIATION)
    edges = _edges(max(WHOLE + 0.5, CLEAR * deviation))
    counts = np.concatenate([np.arange(WHOLE + 1.0), 0.5 * (edges[:-1] + edges[1:])])
    counts = counts[: max(2, int(np.searchsorted(counts, CLEAR * deviation)))]
    step = max(1.0, math.floor(deviation / FINEST))
    first = -step * math.ceil(FARTHEST * deviation / step)
    noisy = np.arange(first, counts[-1] + FARTHEST * deviation + step, step)
    rate = 2 * math.asinh(1 / (math.sqrt(2) * deviation))
    likelihood = np.exp(-rate * np.abs(counts[:, None] - noisy))
    return counts, likelihood / likelihood.sum(axis=1, keepdims=True)


def _edges(most: float) -> Floats:
    """The edges of the places of counts above WHOLE, from below to at least `most`."""
    edges = [WHOLE + 0.5]
    while edges[-1] < most:
        edges.append(edges[-1] + max(1.0, math.floor(WIDER * edges[-1])))
    return np.array(edges)


@lru_cache(maxsize=1 << 12)
def _law_of_counts(size: int, records: float) -> Floats:
    """The probability that a cell, whichever it is, has a count at each of the places."""
    means, cells = expected_counts(size, records)
    counts = np.arange(WHOLE + 1.0)[:, None]
    each = np.exp(counts * np.log(means) - means - gammaln(counts + 1))
    small: Floats = each @ (cells / cells.sum())
    larger = np.clip((means[0] / _edges(HIGHEST * means[0])) ** (1 / ZIPF) - 0.5, 0.0, size)
    larger[-1] = 0.0
    large = -np.diff(larger)
    rest = 1.0 - float(small.sum())
    if rest < ROUNDING:
        return small
    if not large.any():
        small[-1] += rest
        return small
    return np.concatenate([small, large * (rest / large.sum())])


def _masses(size: int, records: float, places: int) -> tuple[Floats, float]:
    """The law at the first of the places, and the probability of all others."""
    law = _law_of_counts(size, records)
    known = np.zeros(places)
    known[: law.size] = law[:places]
    return known, float(law[places:].sum())
