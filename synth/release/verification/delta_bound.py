"""From rho to delta, by code that shares nothing with the writer of a release."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

DIGITS = Context(prec=60)

SMALLEST, LARGEST = Fraction(1, 10**12), Fraction(10**6)
"""A smaller rho, or a larger epsilon, is taken for this one, which needs a larger delta; a larger
rho has the bound 1."""

LEAST = Decimal("1e-1000")
"""No smaller bound is given."""

SAFETY = Decimal("1e-30")
"""Relative. Above `LEAST` the exponent is below 2,400 in size. It is the product of alpha - 1, at
most 10^19 at the best alpha, and a sum of terms below 10^7, each known to 10^-53. So it is known
to 10^-33, and the bound to as much of itself: raised by this, it is above the true one."""

RAISED = DIGITS.add(Decimal(1), SAFETY)
"""1 + SAFETY in 60 digits; the 28 of the default context would round it to 1."""

STEPS = 200
"""Halvings of an interval of logarithms of length 1,400: more than a double can tell apart."""


def delta_bound(rho: Fraction, epsilon: Fraction) -> Decimal:
    """A delta such that every rho-zCDP mechanism is (epsilon, delta)-DP.

    Formula: exp((alpha - 1) (alpha rho - epsilon + log(1 - 1 / alpha))) / alpha, which holds for
    every alpha > 1 (Canonne, Kamath, Steinke 2020, corollary 13). The best alpha is where
    (2 alpha - 1) rho - epsilon + log(1 - 1 / alpha), which grows with alpha, is zero; it is found
    in floating point, because another alpha only makes the bound larger.
    Rounding: up, by one part in 10^30.
    Requires: rho > 0.
    """
    if epsilon <= 0 or rho > LARGEST:
        return Decimal(1)
    rho, epsilon = max(rho, SMALLEST), min(epsilon, LARGEST)
    x = Decimal(_best_order(float(rho), float(epsilon)))
    alpha = DIGITS.add(x, Decimal(1))
    inner = DIGITS.subtract(DIGITS.multiply(alpha, _decimal(rho)), _decimal(epsilon))
    inner = DIGITS.add(inner, DIGITS.ln(DIGITS.divide(x, alpha)))
    if inner >= 0:
        return Decimal(1)
    bound = DIGITS.divide(DIGITS.exp(DIGITS.multiply(x, inner)), alpha)
    return min(Decimal(1), max(LEAST, DIGITS.multiply(bound, RAISED)))


def _best_order(rho: float, epsilon: float) -> float:
    """The order alpha, less one, at the smallest bound, by bisection of its logarithm."""
    low, high = -700.0, 700.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        x = math.exp(middle)
        slope = (2 * x + 1) * rho - epsilon + middle - math.log1p(x)
        low, high = (middle, high) if slope < 0 else (low, middle)
    return math.exp(high)


def _decimal(value: Fraction) -> Decimal:
    """The value in 60 digits."""
    return DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))


def rounded_up(value: Decimal | Fraction) -> str:
    """The value for people: six significant digits, rounded up."""
    exact = _decimal(value) if isinstance(value, Fraction) else value
    return f"{Context(prec=6, rounding=ROUND_CEILING).plus(exact):g}"
