"""Geometric numbers of any size, digit by digit: gaps between survivors, and their excess.

A geometric G has P(G = g) = (1-q) q^g, g = 0, 1, ... Write g = r_0 + m r_1 + m^2 r_2 + ... in base
m. Then P(G = g) is proportional to the product of (q^(m^j))^(r_j), so the digits are independent,
digit j with P(r) proportional to b^r for b = q^(m^j). Every digit fits a `QuantileTable`, whose
values are decided by bounds and as many random bits as they need. So G is drawn exactly, also
where it has a hundred bits and q is nearer to 1 than any floating-point number.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

from synth.noise.law import Part, power_between, power_bounds

BASE = 256
"""The base of the digits: 2^16 buckets leave at most 255 of them undecided."""
FINEST_TABLE_RATE = Fraction(1, 32)
"""A number with a smaller rate ln(1/q) is drawn digit by digit."""
_GUARD = 8


class Ratio(Protocol):
    """A number q with 0 < q < 1 whose powers can be bounded; equal ratios compare equal."""

    def __hash__(self) -> int:
        """The same for equal ratios: digits are tabulated once."""
        ...

    def power_bounds(self, exponent: int, bits: int) -> tuple[int, int]:
        """Whole numbers with low <= 2^bits q^exponent <= high, at most 2 apart."""
        ...


@dataclass(frozen=True)
class ExactRatio:
    """An exact fraction as a ratio."""

    value: Fraction

    def power_bounds(self, exponent: int, bits: int) -> tuple[int, int]:
        """Bounds of 2^bits value^exponent.

        Rounding: outwards.
        """
        return power_bounds(self.value, exponent, bits)


@dataclass(frozen=True)
class BelowThreshold:
    """The ratio q = 1 - p, p = P(X >= threshold) = alpha^threshold / (1 + alpha).

    X is discrete Laplace noise with this alpha: q is the probability that an empty cell is not
    listed.
    Requires: 0 < alpha < 1, threshold >= 1.
    """

    alpha: Fraction
    threshold: int

    def survival_bounds(self, bits: int) -> tuple[int, int]:
        """Whole numbers with low <= 2^bits p <= high.

        Rounding: outwards; at most 2 apart.
        """
        low, high = power_bounds(self.alpha, self.threshold, bits + _GUARD)
        one, both = self.alpha.denominator, self.alpha.denominator + self.alpha.numerator
        high = -(-high * one // both)
        return low * one // both >> _GUARD, -(-high >> _GUARD)

    def power_bounds(self, exponent: int, bits: int) -> tuple[int, int]:
        """Bounds of 2^bits q^exponent, by squaring between bounds of p.

        Rounding: outwards. An error of q grows at most `exponent` times, which the guard bits
        take up.
        """
        guard = 2 * exponent.bit_length() + _GUARD
        work = bits + guard
        survival_low, survival_high = self.survival_bounds(work)
        factor_low, factor_high = (1 << work) - survival_high, (1 << work) - survival_low
        low, high = power_between(factor_low, factor_high, exponent, work)
        return low >> guard, -(-high >> guard)


@dataclass(frozen=True)
class Digit:
    """The digit of `step` in base `base`: P(r) proportional to q^(step r), 0 <= r < base."""

    ratio: Ratio
    step: int
    base: int

    def cdf_bounds(self, value: int, bits: int) -> tuple[int, int]:
        """Bounds of P(r <= value) = (1 + b + ... + b^value) / (1 + b + ... + b^(base-1)).

        b = q^step.
        Rounding: outwards.
        """
        if value < 0:
            return 0, 0
        if value >= self.base - 1:
            return 1 << bits, 1 << bits
        return _digit_cdf(self.ratio, self.step, self.base, bits)[value]


@lru_cache(maxsize=64)
def _digit_cdf(ratio: Ratio, step: int, base: int, bits: int) -> list[tuple[int, int]]:
    """Bounds of 2^bits P(r <= d) for d from 0 to base-1; sums, so nothing cancels."""
    work = bits + 2 * base.bit_length() + _GUARD
    factor_low, factor_high = ratio.power_bounds(step, work)
    low = high = 1 << work
    sums = [(low, high)]
    for _ in range(base - 1):
        low = low * factor_low >> work
        high = -(-high * factor_high >> work)
        sums.append((sums[-1][0] + low, sums[-1][1] + high))
    all_low, all_high = sums[-1]
    return [((low << bits) // all_high, -((-high << bits) // all_low)) for low, high in sums]


@dataclass(frozen=True)
class Rest:
    """What is left above all digits: P(x) = (1-b) b^x with b = q^step."""

    ratio: Ratio
    step: int

    def cdf_bounds(self, value: int, bits: int) -> tuple[int, int]:
        """Bounds of P(X <= value) = 1 - b^(value+1).

        Rounding: outwards.
        """
        if value < 0:
            return 0, 0
        low, high = self.ratio.power_bounds(self.step * (value + 1), bits)
        return (1 << bits) - high, (1 << bits) - low


@dataclass(frozen=True)
class Beyond:
    """1 if the geometric number is `step` or more, else 0: P(0) = 1 - q^step."""

    ratio: Ratio
    step: int

    def cdf_bounds(self, value: int, bits: int) -> tuple[int, int]:
        """Bounds of P(X <= value).

        Rounding: outwards.
        """
        if value >= 1:
            return 1 << bits, 1 << bits
        return Rest(self.ratio, self.step).cdf_bounds(value, bits)

    def parts(self) -> tuple[Part, ...]:
        """Itself."""
        return (Part(1, self),)


@dataclass(frozen=True)
class Digits:
    """Consecutive digits of a geometric number, from that of `first` = BASE^j on, as one number."""

    ratio: Ratio
    first: int
    count: int

    def parts(self) -> tuple[Part, ...]:
        """One part per digit."""
        return tuple(
            Part(BASE**place, Digit(self.ratio, self.first * BASE**place, BASE))
            for place in range(self.count)
        )


@dataclass(frozen=True)
class Geometric:
    """P(G = g) = (1-alpha) alpha^g: by how much a survivor exceeds the threshold."""

    alpha: Fraction

    def parts(self) -> tuple[Part, ...]:
        """Digits until the rest fits a table; none for a rate ln(1/alpha) of 1/32 or more."""
        ratio, step, digits = ExactRatio(self.alpha), 1, []
        rate = 1 - self.alpha  # at most ln(1/alpha), so the rest is never too wide
        while rate * step < FINEST_TABLE_RATE:
            digits.append(Part(step, Digit(ratio, step, BASE)))
            step *= BASE
        return (*digits, Part(step, Rest(ratio, step)))
