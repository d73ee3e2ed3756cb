"""Tests of the tester."""

import math

import numpy as np
import pytest


def uniform_cdf(k):
    """Ten values, -5 .. 4."""
    return min(1.0, max(0.0, (k + 6) / 10))


def skewed_cdf(k):
    """Value -5 takes one part in a hundred from value 4."""
    return 0.0 if k < -5 else 1.0 if k >= 4 else uniform_cdf(k) + 0.01


def test_critical_values_are_those_of_the_chi_square_law(policy):
    """With two degrees of freedom P(chi2 > x) = exp(-x/2); with four, exp(-x/2) (1 + x/2)."""
    assert policy.critical_value(2) == pytest.approx(-2 * math.log(1e-9), rel=1e-12)
    x = policy.critical_value(4)
    assert math.exp(-x / 2) * (1 + x / 2) == pytest.approx(1e-9, rel=1e-9)


def test_the_statistic_is_pearsons(policy):
    assert policy.statistic([10, 20, 30], [0.2, 0.3, 0.5]) == pytest.approx(4 / 12 + 4 / 18)
    assert policy.statistic([12, 18, 30], [0.2, 0.3, 0.5]) == pytest.approx(0)


@pytest.mark.parametrize("size", [1 << 16, 1 << 20])
def test_every_bin_expects_enough_and_nothing_is_lost(policy, size):
    bins = policy.make_bins(lambda k: 1 / (1 + math.exp(-k / 7)), 400, size)
    assert bins.shares.sum() == pytest.approx(1)
    assert (bins.shares * size >= policy.MINIMUM_EXPECTED * (1 - 1e-9)).all()
    assert len(bins.edges) == len(bins.shares) - 1
    sample = np.arange(-1000, 1001)
    assert bins.counts(sample).sum() == len(sample)
    edge = int(bins.edges[3])
    assert bins.counts([edge]).tolist() == np.eye(len(bins.shares), dtype=int)[3].tolist()
    assert bins.counts([edge + 1])[4] == 1


def test_false_alarms_are_as_rare_as_the_law_says(policy, monkeypatch):
    """At a significance of 1 %, 4,000 samples give 40 alarms; fewer than 8 or more than 84 is rarer
    than 1e-9."""
    monkeypatch.setattr(policy, "SIGNIFICANCE", 0.01)
    generator = np.random.default_rng(1)
    shares = np.diff([uniform_cdf(k) for k in range(-6, 5)])
    alarms = sum(
        not policy.fits(generator.multinomial(50_000, shares), shares) for _ in range(4000)
    )
    assert 8 <= alarms <= 84


def test_the_sample_size_gives_the_power_it_promises(policy, monkeypatch):
    """With a miss of 10 % allowed, 40 of 400 samples may miss; more than 80 is rarer than 1e-9."""
    monkeypatch.setattr(policy, "MISS", 0.1)
    size = policy.sample_size(uniform_cdf, 10, [skewed_cdf])
    bins = policy.make_bins(uniform_cdf, 10, size)
    alternative = policy.shares_under(skewed_cdf, bins)
    generator = np.random.default_rng(2)
    missed = sum(
        policy.fits(generator.multinomial(size, alternative), bins.shares) for _ in range(400)
    )
    assert missed <= 80
    assert policy.power(bins.shares, alternative, size // 8) < 0.9, "no larger than needed"


def test_power_without_a_difference_is_the_significance(policy):
    shares = np.full(10, 0.1)
    assert policy.power(shares, shares * (1 + 1e-12), 1000) == pytest.approx(1e-9, rel=0.01)


def test_alternatives_that_cannot_be_told_apart_are_refused(policy):
    with pytest.raises(ValueError, match="no sample of reasonable size"):
        policy.sample_size(uniform_cdf, 10, [uniform_cdf])
