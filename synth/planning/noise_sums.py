"""The noise of a table as numbers for forecasts: its variance, and the law of sums over cells.

The law of a sum of discrete Laplace noises is found in four ways, chosen by `count` (how many
noises are summed) and by how far out the quantile lies:

* one noise: closed form, exact;
* `fft`: the characteristic function ((1-a)^2 / (1 - 2a cos t + a^2))^count has a closed form,
  and one inverse transform gives the whole pmf with an absolute error near 1e-14. The grid is
  wide enough that what wraps around it has probability below 1e-18 (Chernoff);
* `normal`: for at least 1,024 noises whose grid would be larger than 2^17 points, the normal
  quantile with the fourth-cumulant (Cornish-Fisher) term, within 0.1 % for 95 % intervals;
* `chernoff`: misses below 1e-11, where the transform's rounding would show. An upper bound.

With few noises of a very small rate the grid would be too large as well: then the law is taken
at a larger rate and scaled by the ratio of standard deviations (within 0.3 %, rounded up).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from synth.noise import discrete_laplace
from synth.privacy import TableEvent
from synth.privacy.accounting import GAUSSIAN

LARGEST_RATE = float(discrete_laplace.LARGEST_RATE)
"""Above this rate the sampler draws the noise of 256."""
MEAN_ABSOLUTE = math.sqrt(2 / math.pi)
"""E|x| of a normal x with standard deviation 1."""
SMALL_SIGMA_SQUARED = 4.0
"""From here on the discrete Gaussian has the variance sigma^2 to 30 digits."""
_LARGEST_GRID = 1 << 17
_WRAPPED = 1e-18
_SMALLEST_FFT_MISS = 1e-11
_FFT_ERROR = 1e-14
_MANY = 1024


def noise_variance(event: TableEvent) -> float:
    """The variance in records squared: exact for Laplace noise and for Gaussian noise."""
    if event.mechanism == GAUSSIAN:
        return event.summed * gaussian_variance(float(event.sigma_squared))
    return event.summed * laplace_variance(laplace_rate(event))


def noise_variances(events: Sequence[TableEvent]) -> list[float]:
    """That of every table; of thousands many have the same noise."""
    known: dict[tuple[object, ...], float] = {}
    found = []
    for event in events:
        noise = event.noise
        if noise not in known:
            known[noise] = noise_variance(event)
        found.append(known[noise])
    return found


def laplace_rate(event: TableEvent) -> float:
    """Epsilon / sensitivity of Laplace noise, as far as the sampler follows it.

    Of each of the noises, where a table is the sum of several.
    """
    return min(float(1 / event.noise_scale_records), LARGEST_RATE)


def laplace_variance(rate: float) -> float:
    """The variance of P(k) ~ exp(-rate |k|) on whole numbers."""
    return 1 / (2 * math.sinh(rate / 2) ** 2)


def gaussian_variance(sigma_squared: float) -> float:
    """The variance of P(k) ~ exp(-k^2 / (2 sigma^2)) on whole numbers: a little below sigma^2."""
    if sigma_squared >= SMALL_SIGMA_SQUARED:
        return sigma_squared
    weights = [math.exp(-(k**2) / (2 * sigma_squared)) for k in range(30)]
    squares = sum(k**2 * weight for k, weight in enumerate(weights))
    return max(2 * squares / (2 * sum(weights) - 1), 1e-110)


@dataclass(frozen=True)
class NoiseSum:
    """The sum of `count` independent noises with P(k) = (1-a)/(1+a) a^|k|, a = exp(-rate).

    Shapes and units: everything is in records. `rate` is epsilon / sensitivity_l1.
    """

    rate: float
    count: int

    @cached_property
    def sd(self) -> float:
        """The standard deviation: sqrt(count * 2a / (1-a)^2)."""
        return math.sqrt(2 * self.count) * inverse_sinh_half(self.rate) / 2

    @cached_property
    def excess_kurtosis(self) -> float:
        """(1 + 4a + a^2) / (2a) / count: how much heavier than normal the tails are."""
        return (math.cosh(self.rate) + 2) / self.count

    @cached_property
    def method(self) -> str:
        """How quantiles and means are found: `closed form`, `fft` or `normal`."""
        if self.count == 1:
            return "closed form"
        if self.count >= _MANY and _grid(self.rate, self.count) > _LARGEST_GRID:
            return "normal"
        return "fft"

    @cached_property
    def mean_absolute(self) -> float:
        """E|S|; for one noise 2a / (1 - a^2)."""
        if self.method == "closed form":
            return 2 * math.exp(-self.rate) / -math.expm1(-2 * self.rate)
        if self.method == "normal":
            return self.sd * MEAN_ABSOLUTE * (1 - self.excess_kurtosis / 24)
        upper, scale = self._upper_pmf
        return scale * 2 * float((np.arange(len(upper)) * upper).sum())

    def half_width(self, miss: float) -> int:
        """The smallest whole h with P(|S| > h) <= miss, or a little more.

        Rounding: upwards, so that the stated confidence holds.
        """
        if self.method == "closed form":
            # P(|S| > h) = 2 a^(h+1) / (1+a)
            exponent = -math.log(miss * (1 + math.exp(-self.rate)) / 2) / self.rate
            return max(0, math.ceil(exponent) - 1)
        if self.method == "normal":
            z = -NormalDist().inv_cdf(miss / 2)
            return math.ceil(self.sd * (z + self.excess_kurtosis * (z**3 - 3 * z) / 24))
        if miss < _SMALLEST_FFT_MISS:
            return max(0, math.ceil(chernoff(self.rate, self.count, miss / 2)) - 1)
        upper, scale = self._upper_pmf
        beyond = 2 * (np.cumsum(upper[::-1])[::-1] - upper) + _FFT_ERROR
        return math.ceil(scale * int(np.argmax(beyond <= miss)))

    @cached_property
    def _upper_pmf(self) -> tuple[NDArray[np.float64], float]:
        """P(S = 0), P(S = 1), ... and the number of records that one step stands for."""
        rate = self.rate
        grid = _grid(rate, self.count)
        while grid > _LARGEST_GRID:
            rate *= grid / _LARGEST_GRID
            grid = _grid(rate, self.count)
        half_angle = np.pi * np.arange(grid // 2 + 1) / grid
        spread = (np.sin(half_angle) * inverse_sinh_half(rate)) ** 2
        pmf = np.fft.irfft(np.exp(-self.count * np.log1p(spread)), grid)
        upper = np.maximum(pmf[: grid // 2], 0.0)
        scale = 1.0 if rate == self.rate else self.sd / NoiseSum(rate, self.count).sd
        return upper, scale


def _grid(rate: float, count: int) -> int:
    """A power of two so large that less than 1e-18 of the mass wraps around it."""
    reach = 2 * chernoff(rate, count, _WRAPPED) + 2
    return 1 << max(6, math.ceil(math.log2(reach)))


def chernoff(rate: float, count: int, tail: float) -> float:
    """A number s with P(S >= s) <= tail, by Chernoff's bound over a grid of tilts."""
    best = math.inf
    for step in range(1, 128):
        tilt = rate * step / 128
        best = min(best, (count * laplace_cumulant(rate, tilt) - math.log(tail)) / tilt)
    return best


def laplace_cumulant(rate: float, tilt: float) -> float:
    """Log E exp(tilt X) = -log(1 - ratio^2), ratio = sinh(tilt/2) / sinh(rate/2), of one noise."""
    ratio = math.exp((tilt - rate) / 2) * math.expm1(-tilt) / math.expm1(-rate)
    return -math.log1p(-(ratio**2))


def inverse_sinh_half(rate: float) -> float:
    """1 / sinh(rate/2) = 2 sqrt(a) / (1-a): without cancellation or overflow."""
    return 2 * math.exp(-rate / 2) / -math.expm1(-rate)
