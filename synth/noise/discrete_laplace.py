"""Discrete Laplace noise with an exact rational law that never claims too much privacy."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from synth.noise.exponential import exponential_rounded_up, power_bounds
from synth.noise.geometric import DigitDifference, TwoSidedGeometric
from synth.noise.law import Part

SMALLEST_RATE = Fraction(1, 10**12)
"""Below this epsilon per unit of sensitivity the noise would not fit 64 bits with certainty."""
LARGEST_RATE = Fraction(256)
"""Above this the noise of 256 is drawn: P(X != 0) is below 10^-110, the loss below the claim."""
FINEST_TABLE_RATE = Fraction(1, 128)
"""Noise with a smaller rate is drawn digit by digit."""
COARSE_RATE = Fraction(1, 8)
LARGEST_BASE = 128
"""A difference of two digits in this base fits 8 bits."""


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
        too_small, enough = -1, 1
        while not self._tail_is_at_most(miss, enough):
            too_small, enough = enough, 2 * enough
        while enough - too_small > 1:
            middle = (too_small + enough) // 2
            if self._tail_is_at_most(miss, middle):
                enough = middle
            else:
                too_small = middle
        return enough

    def _tail_is_at_most(self, miss: Fraction, k: int) -> bool:
        """Whether 2 alpha^(k+1) <= miss (1+alpha); with enough bits the power is exact."""
        limit = miss * (1 + self.alpha) / 2
        bits = 64
        while True:
            low, high = power_bounds(self.alpha, k + 1, bits)
            if high <= limit * (1 << bits):
                return True
            if low > limit * (1 << bits):
                return False
            bits *= 2

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
