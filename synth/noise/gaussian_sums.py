"""Tail probabilities of the discrete Gaussian between rigorous bounds.

Whole-number arithmetic alone: lower bounds are rounded down, upper bounds up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from synth.noise.exponential import exponential_bounds

_GUARD = 16
_EXPONENTIAL_GUARD = 40
"""`exponential_bounds` loses fewer bits than that, and the products of its result too."""


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
