"""The variance of the noise that an event names, to more digits than a double has."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction

DIGITS = Context(prec=80)
"""1 - a keeps at least 67 digits: far beyond the tolerance."""

LARGEST_SUMMED = 64
"""Up to this sigma^2 the variance is summed; above it sigma^2 is the variance but for one part in
10^500: by Poisson summation they differ by the factor 1 - O(sigma^2 exp(-2 pi^2 sigma^2))."""


def laplace_variance(rate: Fraction) -> Fraction:
    """2 a / (1 - a)^2 with a = exp(-rate): discrete Laplace noise."""
    a = Fraction(_exp(-rate))
    return 2 * a / (1 - a) ** 2


def threshold_suffices(threshold: int, delta: Fraction, sensitivity: int, rate: Fraction) -> bool:
    """Whether one unit fills a listed cell that was empty with probability at most delta.

    With a = exp(-rate), s the sensitivity and t the threshold: the larger of a^(t-s) / (1+a) and
    s a^(t-1) / (1+a) is at most delta.
    """
    a = Fraction(_exp(-rate))
    together = Fraction(_exp(-rate * (threshold - sensitivity))) / (1 + a)
    apart = sensitivity * Fraction(_exp(-rate * (threshold - 1))) / (1 + a)
    return max(together, apart) <= delta


def gaussian_variance(sigma_squared: Fraction) -> Fraction:
    """The variance of discrete Gaussian noise, P(k) proportional to exp(-k^2 / (2 sigma^2)).

    The sum stops where a term is below 10^-80 of the first one.
    """
    if sigma_squared > LARGEST_SUMMED:
        return sigma_squared
    mass, moment, k = Fraction(1, 2), Fraction(0), 0
    first = Fraction(_exp(-1 / (2 * sigma_squared)))
    term = first
    while k * k * term >= first / 10**80 or k == 0:
        k += 1
        term = Fraction(_exp(-(k * k) / (2 * sigma_squared)))
        mass += term
        moment += k * k * term
    return moment / mass


def _exp(exponent: Fraction) -> Decimal:
    return DIGITS.exp(DIGITS.divide(Decimal(exponent.numerator), Decimal(exponent.denominator)))
