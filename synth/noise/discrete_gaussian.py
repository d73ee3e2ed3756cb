"""Discrete Gaussian noise, drawn from its exact law, and its tails between rigorous bounds.

Tails are summed in whole-number arithmetic alone: lower bounds are rounded down, upper ones up.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

from synth.noise.law import Part, exponential_bounds, first_above, is_at_most

LARGEST_SIGMA_SQUARED = Fraction(1 << 40)
"""Sigma 1,048,576: more noise than any table is measured with."""
_BLOCKS_PER_SIGMA = 45
"""Wide noise is drawn in blocks of this many to sigma, or up to twice as many."""
LARGEST_RATE = Fraction(256)
"""Above this rho per squared sensitivity, the noise of 256 is drawn: P(X != 0) below 10^-110."""
WIDE_ENOUGH = 4
"""From this sigma^2 on the variance is sigma^2 to within 10^-30 of it."""
_VARIANCE_BITS = 128
_SUMMED_SIGMA_SQUARED = 1 << 24
_LEAST_MISS = Fraction(1, 10**300)
_UPWARDS = 1 + 1e-9
"""Far more than what floating point leaves open in a bound."""
_GUARD = 16
_EXPONENTIAL_GUARD = 40
"""`exponential_bounds` loses fewer bits than that, and the products of its result too."""


@dataclass(frozen=True)
class DiscreteGaussian:
    """Noise on whole numbers, P(X = k) proportional to exp(-k^2 / (2 sigma^2)).

    Privacy: for counts whose neighbours differ by at most `sensitivity_l2_squared` in squared L2
    norm, adding independent noise of this law to every count is `rho`-zCDP with
    sigma^2 = sensitivity_l2_squared / (2 rho) (Canonne, Kamath, Steinke 2020, theorem 4).
    Requires: rho is a positive Fraction, sensitivity_l2_squared a whole number of at least 1.
    Rounding: none. sigma^2 is an exact fraction, and values follow the law itself: every
    decision is made by bounds that enclose it. Above `LARGEST_RATE` sigma is rounded up.
    Raises: TypeError, ValueError for any other parameter; ValueError for sigma^2 > 2^40.
    """

    rho: Fraction
    sensitivity_l2_squared: int

    def __post_init__(self) -> None:
        if type(self.rho) is not Fraction:
            raise TypeError("rho must be a Fraction")
        if type(self.sensitivity_l2_squared) is not int:
            raise TypeError("the squared sensitivity must be a whole number")
        if self.rho <= 0:
            raise ValueError("rho must be positive")
        if self.sensitivity_l2_squared < 1:
            raise ValueError("the squared sensitivity must be at least 1")
        if self.sigma_squared > LARGEST_SIGMA_SQUARED:
            raise ValueError("sigma^2 must be at most 2^40 records squared")

    @cached_property
    def rate(self) -> Fraction:
        """1 / (2 sigma^2): P(X = k) is proportional to exp(-rate * k^2)."""
        return min(self.rho / self.sensitivity_l2_squared, LARGEST_RATE)

    @property
    def sigma_squared(self) -> Fraction:
        """The parameter sigma^2 of the law, in records squared, exactly."""
        return 1 / (2 * self.rate)

    def cdf_bounds(self, value: int, bits: int) -> tuple[int, int]:
        """Whole numbers with low <= 2^bits * P(X <= value) <= high.

        Ensures: high - low is at most 2. The first call for a number of bits takes time in
        proportion to sigma.
        Rounding: outwards.
        """
        tails = gaussian_tails(self.rate, bits)
        if value < 0:
            return tails.bounds(-value)
        low, high = tails.bounds(value + 1)
        return (1 << bits) - high, (1 << bits) - low

    def half_width(self, confidence: Fraction | float) -> int:
        """The smallest k >= 0 with P(|X| > k) <= 1 - confidence, decided exactly.

        Above sigma 4,096 that would take long; there it may be larger, by less than 2 records
        and 10^-8 of it.

        Shapes and units: records. A float is taken at its exact binary value.
        Rounding: up.
        Raises: ValueError unless 0 < confidence < 1.
        """
        if not 0 < confidence < 1:
            raise ValueError("a confidence lies strictly between 0 and 1")
        miss = 1 - Fraction(confidence)
        if self.sigma_squared > _SUMMED_SIGMA_SQUARED:
            return _half_width_of_wide_noise(math.sqrt(self.sigma_squared), miss)
        return first_above(-1, lambda k: self._tail_is_at_most(miss, k))

    def _tail_is_at_most(self, miss: Fraction, k: int) -> bool:
        """Whether P(X > k) <= miss / 2: a ratio of sums of exponentials, so it is no fraction."""
        return is_at_most(lambda bits: gaussian_tails(self.rate, bits).bounds(k + 1), miss / 2)

    @cached_property
    def variance(self) -> float:
        """The variance of the law, in records squared, to within 2^-52 of it.

        By Poisson summation it is sigma^2 (1 - 8 pi^2 sigma^2 exp(-2 pi^2 sigma^2) - ...), which
        no float tells from sigma^2 unless that is small. There the two sums of
        k^2 exp(-rate k^2) and exp(-rate k^2) are taken, in whole numbers.
        """
        if self.sigma_squared >= WIDE_ENOUGH:
            return float(self.sigma_squared)
        bits = _VARIANCE_BITS + 2 * -(-self.rate.numerator // self.rate.denominator)
        low = gaussian_weights(self.rate, bits).low
        squares = sum(k * k * weight for k, weight in enumerate(low))
        return float(Fraction(2 * squares, 2 * sum(low) - low[0]))

    @cached_property
    def block_bits(self) -> int:
        """The binary logarithm of the width of a block; 0 for noise that needs no blocks."""
        blocks = self.sigma_squared // _BLOCKS_PER_SIGMA**2
        return max(0, (blocks.bit_length() - 1) // 2)

    def weight_bounds(self, magnitude: int, bits: int) -> tuple[int, int]:
        """Whole numbers with low <= 2^bits * exp(-rate * magnitude^2) <= high.

        Ensures: high - low is at most 2; for magnitude 0 both are 2^bits.
        Rounding: outwards.
        """
        low, high = exponential_bounds(self.rate * magnitude**2, bits + _EXPONENTIAL_GUARD)
        return low >> _EXPONENTIAL_GUARD, -(-high >> _EXPONENTIAL_GUARD)

    def parts(self) -> tuple[Part, ...]:
        """The noise itself: a Gaussian is no sum of independent digits, wide or narrow."""
        return (Part(1, self),)


def _half_width_of_wide_noise(sigma: float, miss: Fraction) -> int:
    """A k with P(|X| > k) <= miss, hardly above the smallest.

    exp(-x^2 / (2 sigma^2)) falls, so its sum over x > k is at most its integral from k on, and
    the sum over all x is at least that over the real line (Poisson summation): P(|X| > k) is at
    most erfc(k / (sigma sqrt 2)), which is less than the exact value for k - 1. Far out
    P(|X| > k) <= 2 exp(-k^2 / (2 sigma^2)) (Canonne, Kamath, Steinke 2020) is close enough.
    """
    if miss < _LEAST_MISS:
        logarithm = math.log(2) + math.log(miss.denominator) - math.log(miss.numerator)
        return math.ceil(sigma * math.sqrt(2 * logarithm) * _UPWARDS)
    limit = float(miss) / _UPWARDS
    reach = range(math.ceil(40 * sigma))
    return bisect_left(reach, True, key=lambda k: math.erfc(k / (sigma * math.sqrt(2))) <= limit)


@dataclass(frozen=True)
class Weights:
    """Bounds of 2^bits * exp(-rate * k^2) for k = 0 .. len(low) - 1, and of all that follow."""

    bits: int
    low: Sequence[int]
    high: Sequence[int]
    rest: int
    """An upper bound of 2^bits times the sum of the weights beyond the last one."""


def gaussian_weights(rate: Fraction, bits: int) -> Weights:
    """The weights exp(-rate * k^2) until one is at most its own number in units of 2^-bits.

    The weight of k+1 is that of k times f(k) = exp(-rate * (2k+1)), and f(k+1) is f(k) times
    exp(-2 rate). The factors fall, so beyond the last weight w the rest is at most the geometric
    sum w f + w f^2 + ... = w f / (1 - f).

    Requires: rate > 0.
    Rounding: outwards.
    """
    top = bits + _EXPONENTIAL_GUARD
    factor_low, factor_high = exponential_bounds(rate, top)
    step_low, step_high = exponential_bounds(2 * rate, top)
    weight_low = weight_high = 1 << bits
    low, high = [weight_low], [weight_high]
    while weight_high > len(high):  # at 1 or 2 rounding up would keep it for long
        weight_low = weight_low * factor_low >> top
        weight_high = -(-weight_high * factor_high >> top)
        factor_low = factor_low * step_low >> top
        factor_high = -(-factor_high * step_high >> top)
        low.append(weight_low)
        high.append(weight_high)
    rest = -(-weight_high * factor_high // ((1 << top) - factor_high))
    return Weights(bits, low, high, rest)


@dataclass(frozen=True)
class Tails:
    """Bounds of 2^bits * P(X >= k) for k = 0 .. len(low) - 1; beyond, at most `beyond`."""

    low: Sequence[int]
    high: Sequence[int]
    beyond: int

    def bounds(self, k: int) -> tuple[int, int]:
        """Bounds of 2^bits * P(X >= k) for k >= 0."""
        return (self.low[k], self.high[k]) if k < len(self.low) else (0, self.beyond)


@lru_cache(maxsize=3)
def gaussian_tails(rate: Fraction, bits: int) -> Tails:
    """The tail probabilities P(X >= k) of P(k) proportional to exp(-rate * k^2).

    A bound is off by about k^2 units for the weight of k, and the sums by the cube of the number
    of weights that matter; so many further bits are carried.

    Ensures: high - low is at most 2.
    Rounding: outwards.
    """
    reach = math.isqrt(math.ceil(bits / rate)) + 1
    work = bits + 3 * reach.bit_length() + _GUARD
    weights = gaussian_weights(rate, work)
    half_low = sum(weights.low) - weights.low[0]
    half_high = sum(weights.high) - weights.high[0] + weights.rest
    total_low, total_high = (1 << work) + 2 * half_low, (1 << work) + 2 * half_high
    low, high = [], []
    sum_low, sum_high = 0, weights.rest
    for weight_low, weight_high in zip(reversed(weights.low), reversed(weights.high), strict=True):
        sum_low += weight_low
        sum_high += weight_high
        low.append((sum_low << bits) // total_high)
        high.append(-((-sum_high << bits) // total_low))
    low.reverse()
    high.reverse()
    return Tails(low, high, -((-weights.rest << bits) // total_low))
