"""Quantiles of weighted means of sums of noises, against convolution term by term."""

import math

import numpy as np
import pytest

from synth.measurements.combined_noise import LARGEST_GRID, CombinedNoise, SummedNoise


def pmf_of(part, reach):
    steps = np.arange(-reach, reach + 1)
    if part.rate is not None:
        one = np.exp(-part.rate * np.abs(steps))
    else:
        one = np.exp(-(steps**2) / (2 * part.sigma_squared))
    one /= one.sum()
    whole = np.ones(1)
    for _ in range(part.count):
        whole = np.convolve(whole, one)
    spread = np.zeros((len(whole) - 1) * part.weight + 1)
    spread[:: part.weight] = whole
    return spread


def slow_half_widths(noise, misses, reach):
    pmf = np.ones(1)
    for part in noise.parts:
        pmf = np.convolve(pmf, pmf_of(part, reach))
    middle = len(pmf) // 2
    upper = pmf[middle:]
    tails = 2 * (upper.sum() - np.cumsum(upper))
    variance = float((pmf * (np.arange(len(pmf)) - middle) ** 2).sum())
    return [int(np.argmax(tails <= miss)) for miss in misses], variance


@pytest.mark.parametrize(
    "parts",
    [
        (SummedNoise(1, 1, rate=1.0),),
        (SummedNoise(1, 7, rate=0.6),),
        (SummedNoise(1, 1, sigma_squared=9.0),),
        (SummedNoise(1, 3, sigma_squared=0.2),),
        (SummedNoise(1, 2, sigma_squared=0.3),),
        (SummedNoise(5, 3, rate=0.8), SummedNoise(3, 1, sigma_squared=4.0)),
        (SummedNoise(7, 2, rate=0.5), SummedNoise(2, 5, rate=1.5), SummedNoise(1, 1, rate=0.4)),
    ],
)
def test_half_widths_are_those_of_the_convolution(parts):
    misses = (0.3, 0.05, 0.001)
    noise = CombinedNoise(parts, 7)
    widths, variance = slow_half_widths(noise, misses, reach=90)
    assert list(noise.half_widths(*misses)) == widths
    assert noise.variance * noise.divisor**2 == pytest.approx(variance, rel=1e-9)


def test_wide_noise_is_scaled_and_never_too_narrow():
    rate = 1e-6
    noise = CombinedNoise((SummedNoise(1, 1, rate=rate),), 1)
    assert noise._reach() > LARGEST_GRID
    exact = math.ceil(-math.log(0.05 * (1 + math.exp(-rate)) / 2) / rate) - 1
    assert exact <= noise.half_widths(0.05)[0] <= 1.003 * exact
    gaussian = CombinedNoise((SummedNoise(1, 1, sigma_squared=1e12),), 1)
    assert 1.95996e6 <= gaussian.half_widths(0.05)[0] <= 1.003 * 1.95996e6


def test_hardly_any_noise_has_no_width():
    noise = CombinedNoise((SummedNoise(1, 4, rate=256.0),), 1)
    assert noise.half_widths(0.05, 0.01) == (0, 0)
