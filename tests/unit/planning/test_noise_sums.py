"""Sums of noises, against pmfs convolved term by term."""

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from synth.noise import DiscreteLaplace
from synth.planning.noise_sums import NoiseSum

RATES = [0.1, 0.5, 1.0, 5.0, 10.0]
COUNTS = [1, 2, 5, 17]
MISSES = [0.05, 0.05 / 1000, 0.05 / 1e6]


@cache
def convolved(rate, count):
    """The pmf of the sum over -reach..reach, one convolution after the other."""
    reach = int(60 / rate) + 3
    steps = np.arange(-reach, reach + 1)
    one = (1 - math.exp(-rate)) / (1 + math.exp(-rate)) * np.exp(-rate * abs(steps))
    pmf = one
    for _ in range(count - 1):
        pmf = np.convolve(pmf, one)
    middle = len(pmf) // 2
    return np.arange(len(pmf)) - middle, pmf


def smallest_half_width(steps, pmf, miss):
    width = 0
    while pmf[abs(steps) > width].sum() > miss:
        width += 1
    return width


def exact_pmf(alpha, count, reach):
    """The same in fractions; mass beyond `reach` in one noise is left out."""
    one = {k: (1 - alpha) / (1 + alpha) * alpha ** abs(k) for k in range(-reach, reach + 1)}
    pmf = {0: Fraction(1)}
    for _ in range(count):
        wider = {}
        for left, p in pmf.items():
            for right, q in one.items():
                wider[left + right] = wider.get(left + right, Fraction(0)) + p * q
        pmf = wider
    return pmf


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("count", COUNTS)
def test_moments_and_quantiles_equal_those_of_the_convolution(rate, count):
    steps, pmf = convolved(rate, count)
    noise = NoiseSum(rate, count)
    assert noise.sd == pytest.approx(math.sqrt((pmf * steps**2).sum()), rel=1e-12)
    assert noise.mean_absolute == pytest.approx((pmf * abs(steps)).sum(), rel=1e-9)
    for miss in MISSES:
        assert noise.half_width(miss) == smallest_half_width(steps, pmf, miss)


def test_quantiles_in_fractions():
    alpha = Fraction(1, 3)
    pmf = exact_pmf(alpha, 3, 25)
    noise = NoiseSum(math.log(3), 3)
    for miss in (Fraction(1, 20), Fraction(1, 1000)):
        width = noise.half_width(float(miss))
        beyond = [sum(p for s, p in pmf.items() if abs(s) > w) for w in (width - 1, width)]
        assert beyond[0] > miss >= beyond[1]


@pytest.mark.parametrize("rate", RATES)
def test_the_variance_is_that_of_the_formula(rate):
    alpha = math.exp(-rate)
    assert NoiseSum(rate, 7).sd ** 2 == pytest.approx(7 * 2 * alpha / (1 - alpha) ** 2, rel=1e-12)


@pytest.mark.parametrize("epsilon", ["1/100", "1/10", "1", "2", "10"])
@pytest.mark.parametrize("sensitivity", [1, 4])
def test_one_noise_is_the_law_that_the_curator_draws(epsilon, sensitivity):
    law = DiscreteLaplace(Fraction(epsilon), sensitivity)
    noise = NoiseSum(float(law.rate), 1)
    assert noise.sd**2 == pytest.approx(law.variance, rel=1e-12)
    for miss in (Fraction(1, 20), Fraction(1, 10**6), Fraction(1, 10**14)):
        assert noise.half_width(float(miss)) == law.half_width(1 - miss)
    by_pmf = sum(2 * k * law.pmf(k) for k in range(1, 60)) if law.rate >= 1 else None
    if by_pmf is not None:
        assert noise.mean_absolute == pytest.approx(float(by_pmf), rel=1e-12)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("count", COUNTS)
def test_the_excess_kurtosis_is_that_of_the_convolution(rate, count):
    steps, pmf = convolved(rate, count)
    variance = (pmf * steps.astype(float) ** 2).sum()
    fourth = (pmf * steps.astype(float) ** 4).sum()
    assert NoiseSum(rate, count).excess_kurtosis == pytest.approx(
        fourth / variance**2 - 3, rel=1e-8, abs=1e-10
    )


@pytest.mark.parametrize("count", [1024, 60_480])
def test_where_the_transform_and_the_normal_law_meet_they_agree(count):
    transform = NoiseSum(0.1, count)
    assert transform.method == "fft"
    normal = NoiseSum(0.1, count)
    vars(normal)["method"] = "normal"
    assert normal.mean_absolute == pytest.approx(transform.mean_absolute, rel=1e-5)
    assert normal.half_width(0.05) == pytest.approx(transform.half_width(0.05), rel=1e-3, abs=1)
    assert normal.half_width(5e-8) == pytest.approx(transform.half_width(5e-8), rel=2e-3)


def test_small_rates_are_scaled():
    """At rates this small the law is that of the continuous Laplace sum, in units of 1/rate."""
    coarse, fine = NoiseSum(1e-3, 4), NoiseSum(1e-7, 4)
    assert fine.sd == pytest.approx(1e4 * coarse.sd, rel=1e-6)
    assert fine.mean_absolute == pytest.approx(1e4 * coarse.mean_absolute, rel=3e-3)
    assert fine.half_width(0.05) == pytest.approx(1e4 * coarse.half_width(0.05), rel=3e-3)


def test_chernoff_takes_over_far_out_and_is_never_too_small():
    steps, pmf = convolved(1.0, 5)
    noise = NoiseSum(1.0, 5)
    for miss in (9e-12, 1e-14):
        exact = smallest_half_width(steps, pmf, miss)
        assert exact <= noise.half_width(miss) <= 1.2 * exact


@pytest.mark.parametrize(
    ("rate", "count"), [(2000.0, 1), (2000.0, 5), (50.0, 10**8), (0.3, 10**25)]
)
def test_extremes_stay_finite(rate, count):
    noise = NoiseSum(rate, count)
    for value in (noise.sd, noise.mean_absolute, noise.half_width(0.05), noise.half_width(1e-30)):
        assert math.isfinite(value)
        assert value >= 0
