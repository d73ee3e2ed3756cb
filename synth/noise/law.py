"""What the sampler asks of a law of noise, and the bounds that laws are made of.

Powers and exponentials are taken between whole numbers; no floating point takes part. Every
division that is not exact is rounded in the direction that keeps the bound true: lower bounds down,
upper bounds up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol


class IntegerLaw(Protocol):
    """A law of a whole number X whose cumulative probabilities can be bounded closely."""

    def cdf_bounds(self, value: int, bits: int) -> tuple[int, int]:
        """Whole numbers with low <= 2^bits * P(X <= value) <= high.

        Ensures: high - low is at most 4, whatever `bits`.
        Rounding: low down, high up.
        """
        ...


@dataclass(frozen=True)
class Part:
    """One independent summand `step * X` of a noise, X following `law`."""

    step: int
    law: IntegerLaw


class Distribution(Protocol):
    """A law of noise as a sum of independent parts, each narrow enough for one table."""

    def parts(self) -> Sequence[Part]:
        """The summands; a narrow law has one, with step 1."""
        ...


def first_above(floor: int, holds: Callable[[int], bool]) -> int:
    """The smallest whole number above `floor` for which something holds.

    Requires: what holds for a number holds for all larger ones, and for some.
    """
    too_small, step = floor, 1
    while not holds(floor + step):
        too_small, step = floor + step, 2 * step
    enough = floor + step
    while enough - too_small > 1:
        middle = (too_small + enough) // 2
        if holds(middle):
            enough = middle
        else:
            too_small = middle
    return enough


def is_at_most(
    bounds: Callable[[int], tuple[int, int]], limit: Fraction, *, bits: int = 64
) -> bool:
    """Whether a number is at most a limit, decided by bounds of 2^bits times the number.

    Requires: bounds that close in as `bits` grow, and are exact, or part from the limit, at some.
    """
    while True:
        low, high = bounds(bits)
        if high <= limit * (1 << bits):
            return True
        if low > limit * (1 << bits):
            return False
        bits *= 2


SIGNIFICANT_BITS = 64
"""Bits of `exponential_rounded_up`, on top of those that keep it below 1."""


def power_bounds(base: Fraction, exponent: int, bits: int) -> tuple[int, int]:
    """Whole numbers with low <= 2^bits * base^exponent <= high.

    Requires: 0 <= base <= 1, exponent >= 0.
    Ensures: high - low is at most 2 for every `bits`, so the bounds close in as `bits` grows.
    Rounding: low down, high up.
    """
    guard = 2 * exponent.bit_length() + 4
    work = bits + guard
    factor_low = (base.numerator << work) // base.denominator
    factor_high = -((-base.numerator << work) // base.denominator)
    low, high = power_between(factor_low, factor_high, exponent, work)
    return low >> guard, -(-high >> guard)


def power_between(factor_low: int, factor_high: int, exponent: int, bits: int) -> tuple[int, int]:
    """Bounds of 2^bits * base^exponent, by squaring between those of 2^bits * base.

    Rounding: low down, high up.
    """
    low = high = 1 << bits
    while exponent:
        if exponent & 1:
            low = low * factor_low >> bits
            high = -(-high * factor_high >> bits)
        exponent >>= 1
        if exponent:
            factor_low = factor_low * factor_low >> bits
            factor_high = -(-factor_high * factor_high >> bits)
    return low, high


def exponential_bounds(rate: Fraction, bits: int) -> tuple[int, int]:
    """Whole numbers with low <= 2^bits * exp(-rate) <= high.

    The rate is halved h times until it is y <= 1/2. There the series
    exp(-y) = 1 - y + y^2/2 - y^3/6 + ... alternates with falling terms, so what is left out is at
    most the first term left out. Then the result is squared h times.

    Requires: rate >= 0.
    Rounding: low down, high up.
    """
    halvings = (rate.numerator // rate.denominator + 1).bit_length() + 1
    scaled = (rate.numerator << bits, rate.denominator << halvings)
    low, high = _alternating_series(scaled[0] // scaled[1], -(-scaled[0] // scaled[1]), bits)
    for _ in range(halvings):
        low = low * low >> bits
        high = -(-high * high >> bits)
    return low, high


def _alternating_series(y_low: int, y_high: int, bits: int) -> tuple[int, int]:
    """Bounds of 2^bits * exp(-y) for y between y_low / 2^bits and y_high / 2^bits <= 1/2."""
    low = high = term_low = term_high = 1 << bits
    number = 0
    while term_high > 1:
        number += 1
        term_low = term_low * y_low // (number << bits)
        term_high = -(-term_high * y_high // (number << bits))
        if number % 2:
            low, high = low - term_high, high - term_low
        else:
            low, high = low + term_low, high + term_high
    rest = term_high  # the next term is smaller than the last one
    return max(0, low - rest), high + rest


def exponential_rounded_up(rate: Fraction) -> Fraction:
    """The smallest number of a fixed number of significant bits that is >= exp(-rate).

    Significant bits: 64, plus as many as 1/rate has, so that the result stays below 1 and its
    loss against the exact exponential stays below 2^-62 of the rate.

    Privacy: ln(1 / result) <= rate. Rounding down would claim more privacy than there is.
    Requires: rate > 0.
    Rounding: up.
    """
    significant = SIGNIFICANT_BITS + (rate.denominator // rate.numerator).bit_length()
    bits = 2 * significant + 2 * (rate.numerator // rate.denominator)
    while True:
        low, high = exponential_bounds(rate, bits)
        rounded = _rounded_up(high, bits, significant)
        if low > 0 and _rounded_up(low, bits, significant) == rounded:
            return rounded
        bits *= 2  # exp of a positive fraction is irrational, so the bounds part from any grid


def _rounded_up(value: int, bits: int, significant: int) -> Fraction:
    """The smallest Fraction >= value / 2^bits with at most `significant` significant bits."""
    dropped = max(0, value.bit_length() - significant)
    return Fraction(-(-value >> dropped) << dropped, 1 << bits)
