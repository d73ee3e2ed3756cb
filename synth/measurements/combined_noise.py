"""The law of a weighted sum of sums of independent noises of several tables.

The weights are whole numbers over a divisor P, so that P times the sum lies on whole numbers: the
characteristic functions of discrete Laplace and discrete Gaussian noise are known in closed form
(the Gaussian's after Poisson summation), and one inverse Fourier transform of their product gives
the law of it with an absolute error near 1e-14. The grid is so wide that what wraps around
it has probability below 1e-15 (Chernoff). Larger weights than LARGEST_WEIGHT are first made smaller
in proportion and rounded; a law too wide for the largest grid is then taken at smaller noise. Both
are scaled by the ratio of standard deviations, rounded up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from synth.planning.noise_sums import (
    gaussian_variance,
    inverse_sinh_half,
    laplace_cumulant,
    laplace_rate,
    laplace_variance,
)
from synth.privacy import TableEvent
from synth.privacy.accounting import GAUSSIAN

LARGEST_GRID = 1 << 18
LARGEST_WEIGHT = 256
"""With larger ones the grid would hold so little noise of a cell that it is nearly always 0."""
WRAPPED = 1e-15
FFT_ERROR = 1e-13
LEAST_LOGARITHM = -60.0
_TILTS = 64
_SMALL_SIGMA_SQUARED = 0.25
"""Below it the characteristic function is summed term by term, above it by Poisson's formula."""


@dataclass(frozen=True)
class SummedNoise:
    """`count` independent noises of one table, added up, with a whole weight.

    Exactly one of `rate` (Laplace: epsilon / sensitivity) and `sigma_squared` is given.
    """

    weight: int
    count: int
    rate: float | None = None
    sigma_squared: float | None = None

    @property
    def variance(self) -> float:
        """That of weight times the sum, in records squared."""
        if self.rate is not None:
            one = laplace_variance(self.rate)
        else:
            one = gaussian_variance(self.sigma_squared or 0.0)
        return self.weight**2 * self.count * one

    def cumulant(self, tilt: float) -> float:
        """A bound of log E exp(tilt weight S); infinite where there is none."""
        bent = self.weight * tilt
        if self.rate is None:
            return self.count * bent**2 * (self.sigma_squared or 0.0) / 2
        if bent >= self.rate:
            return math.inf
        return self.count * laplace_cumulant(self.rate, bent)

    def log_characteristic(self, angles: NDArray[np.float64]) -> NDArray[np.float64]:
        """The logarithm of E exp(i angle weight S), a real number for a symmetric law."""
        if self.rate is not None:
            spread = np.sin(self.weight * angles / 2) * inverse_sinh_half(self.rate)
            return -self.count * np.log1p(spread**2)
        turned = np.remainder(self.weight * angles + np.pi, 2 * np.pi) - np.pi
        sigma_squared = self.sigma_squared or 0.0
        if sigma_squared < _SMALL_SIGMA_SQUARED:
            weights = [math.exp(-(k**2) / (2 * sigma_squared)) for k in range(1, 25)]
            sums = 1 + 2 * sum(w * np.cos(k * turned) for k, w in enumerate(weights, start=1))
            summed = sums / (1 + 2 * sum(weights))
        else:
            around = 2 * np.pi * np.arange(-6, 7)
            summed = sum(np.exp(-sigma_squared * (turned + turn) ** 2 / 2) for turn in around)
            summed = summed / sum(math.exp(-sigma_squared * turn**2 / 2) for turn in around)
        return self.count * np.log(np.maximum(summed, 1e-300))


def summed_noise(event: TableEvent, count: int, weight: int) -> SummedNoise:
    """The noise of `count` cells of a table, each of which may be a sum of noises itself."""
    noises = count * event.summed
    if event.mechanism == GAUSSIAN:
        return SummedNoise(weight, noises, sigma_squared=float(event.sigma_squared))
    return SummedNoise(weight, noises, rate=laplace_rate(event))


@dataclass(frozen=True)
class CombinedNoise:
    """Z = (sum of weight_t S_t) / P over independent sums S_t of noises; `divisor` is P."""

    parts: tuple[SummedNoise, ...]
    divisor: int

    @cached_property
    def variance(self) -> float:
        """In records squared; exact up to floating point."""
        return sum(part.variance for part in self.parts) / self.divisor**2

    def half_widths(self, *misses: float) -> tuple[int, ...]:
        """For every miss the smallest whole h with P(P |Z| > h) <= miss, or a little more.

        The law is tabulated once for all of them.

        Shapes and units: P-th parts of a record.
        Rounding: upwards, so that the stated confidence holds.
        """
        return _half_widths(self, misses) if self.parts else (0,) * len(misses)

    def _reach(self) -> int:
        """A whole number that P |Z| hardly ever exceeds, by Chernoff's bound over some tilts."""
        rates = [part.rate / part.weight for part in self.parts if part.rate is not None]
        spread = math.sqrt(sum(part.variance for part in self.parts))
        largest = min([*rates, 40 / max(spread, 1e-3)])
        best = math.inf
        for step in range(1, _TILTS):
            tilt = largest * step / _TILTS
            bound = sum(part.cumulant(tilt) for part in self.parts) - math.log(WRAPPED)
            best = min(best, bound / tilt)
        return math.ceil(best)

    def _rounded(self) -> CombinedNoise:
        """About in proportion, with no weight above LARGEST_WEIGHT; the least ones are left out."""
        largest = max(part.weight for part in self.parts)
        if largest <= LARGEST_WEIGHT:
            return self
        found: dict[SummedNoise, int] = {}
        for part in self.parts:
            weight = (2 * LARGEST_WEIGHT * part.weight + largest) // (2 * largest)
            if weight:
                alike = replace(part, weight=weight, count=1)
                found[alike] = found.get(alike, 0) + part.count
        parts = (replace(part, count=count) for part, count in found.items())
        return CombinedNoise(tuple(parts), self.divisor)

    def _narrower(self, factor: float) -> CombinedNoise:
        """The same with noises smaller by about this factor."""
        parts = (
            replace(part, rate=part.rate * factor)
            if part.rate is not None
            else replace(part, sigma_squared=(part.sigma_squared or 0.0) / factor**2)
            for part in self.parts
        )
        return CombinedNoise(tuple(parts), self.divisor)


@lru_cache(maxsize=4096)
def _half_widths(noise: CombinedNoise, misses: tuple[float, ...]) -> tuple[int, ...]:
    narrow = noise._rounded()
    while (reach := narrow._reach()) > LARGEST_GRID // 2 - 1:
        narrow = narrow._narrower(max(1.1, 2.1 * reach / LARGEST_GRID))
    grid = 1 << max(6, (2 * reach + 2).bit_length())
    pmf = np.fft.irfft(_characteristic(narrow, grid), grid)
    upper = np.maximum(pmf[: grid // 2], 0.0)
    beyond = 2 * (np.cumsum(upper[::-1])[::-1] - upper) + FFT_ERROR
    found = tuple(int(np.argmax(beyond <= miss)) for miss in misses)
    if narrow is noise:
        return found
    wider = math.sqrt(noise.variance / narrow.variance)
    return tuple(math.ceil((width + 1) * wider) for width in found)


def _characteristic(noise: CombinedNoise, grid: int) -> NDArray[np.float64]:
    """The characteristic function of P Z on the grid; 0 where it is below exp(-60)."""
    logarithms = np.zeros(grid // 2 + 1)
    left = np.arange(grid // 2 + 1)
    for part in sorted(noise.parts, key=lambda part: -part.variance):
        logarithms[left] += part.log_characteristic(2 * np.pi * left / grid)
        left = left[logarithms[left] > LEAST_LOGARITHM]  # no part makes it larger again
    found = np.zeros(grid // 2 + 1)
    found[left] = np.exp(logarithms[left])
    return found
