"""The two laws that make up discrete Laplace noise of any scale."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from synth.noise.exponential import power_bounds

_GUARD = 8


@dataclass(frozen=True)
class TwoSidedGeometric:
    """P(k) = (1-b)/(1+b) * b^|k| with b = alpha^exponent, on all whole numbers k."""

    alpha: Fraction
    exponent: int

    def cdf_bounds(self, value: int, bits: int) -> tuple[int, int]:
        """Bounds of P(X <= value) = b^-value / (1+b) below 0, else 1 - b^(value+1) / (1+b).

        Rounding: outwards.
        """
        work = bits + _GUARD
        steps = value + 1 if value >= 0 else -value
        low, high = power_bounds(self.alpha, self.exponent * steps, work)
        b_low, b_high = power_bounds(self.alpha, self.exponent, work)
        one = 1 << work
        low = (low << work) // (one + b_high) >> _GUARD
        high = -((-high << work) // (one + b_low) >> _GUARD)
        return (low, high) if value < 0 else ((1 << bits) - high, (1 << bits) - low)


@dataclass(frozen=True)
class DigitDifference:
    """The difference R - R' of two independent digits with P(r) proportional to b^r, 0 <= r < base.

    b = alpha^exponent. P(R - R' = d) = w(|d|) / (w(0) + 2 w(1) + ... + 2 w(base-1)) with
    w(d) = b^d + b^(d+2) + ... + b^(2 base - 2 - d).
    """

    alpha: Fraction
    exponent: int
    base: int

    def cdf_bounds(self, value: int, bits: int) -> tuple[int, int]:
        """Bounds of P(R - R' <= value).

        Rounding: outwards.
        """
        if value <= -self.base:
            return 0, 0
        if value >= self.base - 1:
            return 1 << bits, 1 << bits
        return _digit_cdf(self.alpha, self.exponent, self.base, bits)[value + self.base - 1]


@lru_cache(maxsize=8)
def _digit_cdf(alpha: Fraction, exponent: int, base: int, bits: int) -> list[tuple[int, int]]:
    """Bounds of 2^bits * P(R - R' <= d) for d from -(base-1) to base-1."""
    work = bits + 2 * base.bit_length() + _GUARD
    powers = [power_bounds(alpha, exponent * j, work) for j in range(2 * base - 1)]
    weights = [(0, 0)] * (base + 1)
    for d in range(base - 1, -1, -1):  # w(d) = w(d+2) + the first and the last of its powers
        ends = {d, 2 * base - 2 - d}
        further = weights[d + 2] if d + 2 <= base else (0, 0)
        weights[d] = (
            further[0] + sum(powers[j][0] for j in ends),
            further[1] + sum(powers[j][1] for j in ends),
        )
    differences = [weights[abs(d)] for d in range(1 - base, base)]
    total_low = sum(low for low, _ in differences)
    total_high = sum(high for _, high in differences)
    bounds = []
    low = high = 0
    for weight_low, weight_high in differences:
        low, high = low + weight_low, high + weight_high
        bounds.append(((low << bits) // total_high, -((-high << bits) // total_low)))
    return bounds
