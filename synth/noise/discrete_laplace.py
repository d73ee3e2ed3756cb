"""Discrete Laplace noise with an exact rational law that never claims too much privacy.

Noise of any scale is made up of two further laws: a two-sided geometric one, and digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

from synth.noise.law import Part, exponential_rounded_up, first_above, is_at_most, power_bounds

SMALLEST_RATE = Fraction(1, 10**12)
"""Below this epsilon per unit of sensitivity the noise would not fit 64 bits with certainty."""
LARGEST_RATE = Fraction(256)
"""Above this the noise of 256 is drawn: P(X != 0) is below 10^-110, the loss below the claim."""
FINEST_TABLE_RATE = Fraction(1, 128)
"""Noise with a smaller rate is drawn digit by digit."""
COARSE_RATE = Fraction(1, 8)
LARGEST_BASE = 128
"""A difference of two digits in this base fits 8 bits."""
_GUARD = 8


@dataclass(frozen=True)
class DiscreteLaplace:
    """Noise on whole numbers with P(X = k) = (1-alpha)/(1+alpha) * alpha^|k|.

    Privacy: for counts whose neighbours differ by at most `sensitivity_l1` in total, adding
    independent noise of this law to every count is pure `epsilon`-DP (Ghosh, Roughgarden,
    Sundararajan 2009): an output's probability changes by at most alpha^-sensitivity_l1, and
    alpha >= exp(-epsilon / sensitivity_l1).
    Requires: epsilon is a positive Fraction, sensitivity_l1 a whole number of at least 1.
    Rounding: alpha up, so that sensitivity_l1 * ln(1/alpha) <= epsilon.
    Raises: TypeError, ValueError for any other parameter; ValueError for
    epsilon / sensitivity_l1 < 10^-12.
    """

    epsilon: Fraction
    sensitivity_l1: int

    def __post_init__(self) -> None:
        if type(self.epsilon) is not Fraction:
            raise TypeError("epsilon must be a Fraction")
        if type(self.sensitivity_l1) is not int:
            raise TypeError("the sensitivity must be a whole number")
        if self.epsilon <= 0:
            raise ValueError("epsilon must be positive")
        if self.sensitivity_l1 < 1:
            raise ValueError("the sensitivity must be at least 1")
        if self.rate < SMALLEST_RATE:
            raise ValueError("epsilon per unit of sensitivity must be at least 1e-12")

    @property
    def rate(self) -> Fraction:
        """The loss epsilon / sensitivity_l1 claimed for a change of one record in one cell."""
        return self.epsilon / self.sensitivity_l1

    @cached_property
    def alpha(self) -> Fraction:
        """exp(-rate), rounded up to a dyadic fraction; strictly between 0 and 1.

        Rounding: up, by less than 2^-62 of the rate. A rate above 256 counts as 256.
        """
        return exponential_rounded_up(min(self.rate, LARGEST_RATE))

    def pmf(self, k: int) -> Fraction:
        """P(X = k) = (1-alpha)/(1+alpha) * alpha^|k|, exactly.

        The fraction has about 64 |k| bits: meant for proofs, not for drawing.
        """
        return (1 - self.alpha) / (1 + self.alpha) * self.alpha ** abs(k)

    def cdf(self, k: int) -> Fraction:
        """P(X <= k) = 1 - alpha^(k+1)/(1+alpha) for k >= 0, alpha^-k/(1+alpha) for k < 0, exactly.

        The fraction has about 64 |k| bits: meant for proofs, not for drawing.
        """
        if k < 0:
            return self.alpha**-k / (1 + self.alpha)
        return 1 - self.alpha ** (k + 1) / (1 + self.alpha)

    def tail(self, k: int) -> Fraction:
        """P(|X| > k) = 2 alpha^(k+1)/(1+alpha) for k >= 0, exactly; 1 for k < 0."""
        return 2 * self.alpha ** (k + 1) / (1 + self.alpha) if k >= 0 else Fraction(1)

    def half_width(self, confidence: Fraction | float) -> int:
        """The smallest k >= 0 with P(|X| > k) <= 1 - confidence, decided exactly.

        Shapes and units: records. A float is taken at its exact binary value.
        Raises: ValueError unless 0 < confidence < 1.
        """
        if not 0 < confidence < 1:
            raise ValueError("a confidence lies strictly between 0 and 1")
        miss = 1 - Fraction(confidence)
        return first_above(-1, lambda k: self._tail_is_at_most(miss, k))

    def _tail_is_at_most(self, miss: Fraction, k: int) -> bool:
        """Whether 2 alpha^(k+1) <= miss (1+alpha); with enough bits the power is exact."""
        limit = miss * (1 + self.alpha) / 2
        return is_at_most(lambda bits: power_bounds(self.alpha, k + 1, bits), limit)

    @cached_property
    def variance(self) -> float:
        """2 alpha / (1-alpha)^2, in records squared: exact, then rounded to the nearest float."""
        return float(2 * self.alpha / (1 - self.alpha) ** 2)

    def cdf_bounds(self, value: int, bits: int) -> tuple[int, int]:
        """Whole numbers with low <= 2^bits * cdf(value) <= high, quick for any value.

        Rounding: outwards.
        """
        return TwoSidedGeometric(self.alpha, 1).cdf_bounds(value, bits)

    def parts(self) -> tuple[Part, ...]:
        """X as a sum of independent parts; one part unless the rate is below 1/128.

        X = G - G' with independent geometric G, G' (P(g) = (1-alpha) alpha^g). Write
        g = r + base * q with 0 <= r < base: then P(g) = [c alpha^r] * [(1-alpha^base)
        (alpha^base)^q] with c = (1-alpha)/(1-alpha^base), a product, so digit and quotient are
        independent, the quotient is geometric with alpha^base, and
        X = (R - R') + base * (Q - Q') where Q - Q' is discrete Laplace with alpha^base.
        Repeating this gives one digit after the other.
        """
        digits = []
        step = 1
        while self.rate * step < FINEST_TABLE_RATE:
            wanted = COARSE_RATE / (self.rate * step)
            base = min(LARGEST_BASE, 1 << (wanted.__ceil__() - 1).bit_length())
            digits.append(Part(step, DigitDifference(self.alpha, step, base)))
            step *= base
        return (*digits, Part(step, TwoSidedGeometric(self.alpha, step)))


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
