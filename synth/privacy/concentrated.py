"""From zero-concentrated DP to (epsilon, delta) and back, never in our favour.

A rho-zCDP mechanism is (epsilon, delta)-DP for every alpha > 1 with

    delta = exp((alpha - 1) (alpha rho - epsilon)) / (alpha - 1) * (1 - 1/alpha)^alpha

(Canonne, Kamath, Steinke 2020, proposition 12 and corollary 13). Solved for epsilon:

    epsilon = alpha rho + ln(1 - 1/alpha) + (ln(1/delta) - ln(alpha)) / (alpha - 1)

Any alpha gives a true statement, so the search for the best one needs no proof; the value at the
alpha that was found is rounded the safe way.

All numbers are decimals of 60 digits: `Decimal` rounds every operation and every logarithm
correctly, so the same budget gives the same fraction on every machine. Every operation names its
context; an operator would round in whatever context the caller has set.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

PRECISION = Context(prec=60)
UP = Context(prec=15, rounding=ROUND_CEILING)
DOWN = Context(prec=15, rounding=ROUND_FLOOR)
"""Results have 15 significant digits."""
MARGIN = Fraction(1, 10**40)
"""Relative to the largest term: ten operations of 60 digits, each off by at most 10^-59 of a term
no larger than that, are off by less."""
SMALLEST_DELTA = Fraction(1, 10**300)
SMALLEST, LARGEST = Fraction(1, 10**30), Fraction(10**9)
"""The epsilons and rhos that are converted; beyond them 60 digits might not be enough."""
_COARSE_STEPS = 80
_FINE_STEPS = 50
_LOWEST_EXPONENT = -32
"""The search covers alpha - 1 from exp(-32) to exp(70) / delta."""
_HIGHEST_EXPONENT = 70
_GOLDEN = Decimal("0.6180339887")


@lru_cache(maxsize=4096)
def rho_to_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """An epsilon for which every rho-zCDP mechanism is (epsilon, delta)-DP.

    Ensures: the smallest that the formula above gives, to about 15 digits; positive.
    Rounding: up.
    Raises: TypeError, ValueError unless both are exact fractions within the limits of this module.
    """
    _check(rho, "rho")
    _check_delta(delta)
    terms = _Terms(delta)
    exact_rho = decimal(rho)
    alpha_minus_1 = _minimum(
        lambda x: PRECISION.add(PRECISION.multiply(_plus_1(x), exact_rho), terms.at(x)), terms
    )
    parts = [PRECISION.multiply(_plus_1(alpha_minus_1), exact_rho), *terms.parts(alpha_minus_1)]
    epsilon = sum(map(Fraction, parts)) + MARGIN * max(abs(Fraction(part)) for part in parts)
    return _rounded(max(epsilon, SMALLEST), UP)


@lru_cache(maxsize=1024)
def largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """A rho, as large as possible, with rho_to_epsilon(rho, delta) <= epsilon.

    Ensures: that inequality, checked; within about 10^-13 of the largest such rho.
    Rounding: down.
    Raises: TypeError, ValueError unless both are exact fractions within the limits of this module.
    """
    _check(epsilon, "epsilon")
    _check_delta(delta)
    terms = _Terms(delta)
    exact_epsilon = decimal(epsilon)

    def minus_rho(x: Decimal) -> Decimal:
        return PRECISION.divide(PRECISION.subtract(terms.at(x), exact_epsilon), _plus_1(x))

    rho = -Fraction(minus_rho(_minimum(minus_rho, terms)))
    step = Fraction(1, 10**14)
    while rho > SMALLEST:
        rho = _rounded(rho, DOWN)
        if rho_to_epsilon(rho, delta) <= epsilon:
            return rho
        rho, step = rho * (1 - step), 2 * step
    raise ValueError("no rho is small enough for this epsilon and delta")


class _Terms:
    """ln(1 - 1/alpha) and (ln(1/delta) - ln(alpha)) / (alpha - 1), as functions of alpha - 1."""

    def __init__(self, delta: Fraction) -> None:
        self.log_delta = decimal(delta).ln(PRECISION)

    def parts(self, x: Decimal) -> tuple[Decimal, ...]:
        """Four summands whose sum is the two terms, each rounded correctly."""
        log_x, log_alpha = _logarithms(x)
        return (
            log_x,
            log_alpha.copy_negate(),
            PRECISION.divide(self.log_delta, x).copy_negate(),
            PRECISION.divide(log_alpha, x).copy_negate(),
        )

    def at(self, x: Decimal) -> Decimal:
        """The sum of the two terms, for the search."""
        total = Decimal(0)
        for part in self.parts(x):
            total = PRECISION.add(total, part)
        return total


@lru_cache(maxsize=4096)
def _logarithms(x: Decimal) -> tuple[Decimal, Decimal]:
    """ln(x) and ln(x + 1); every search begins on the same grid."""
    return x.ln(PRECISION), _plus_1(x).ln(PRECISION)


@lru_cache(maxsize=4096)
def _exponential(x: Decimal) -> Decimal:
    return UP.plus(x.exp(PRECISION))


def _minimum(of: Callable[[Decimal], Decimal], terms: _Terms) -> Decimal:
    """An x > 0, of 15 digits, at which `of` is about smallest.

    The best point of a grid of ln(x), then golden section around it.
    """
    low = Decimal(_LOWEST_EXPONENT)
    high = PRECISION.subtract(Decimal(_HIGHEST_EXPONENT), terms.log_delta)

    def point(share: Decimal) -> Decimal:
        span = PRECISION.multiply(PRECISION.subtract(high, low), share)
        return _exponential(PRECISION.add(low, span))

    def value(share: Decimal) -> Decimal:
        return of(point(share))

    coarse = range(_COARSE_STEPS + 1)
    best = min(coarse, key=lambda i: value(_share(i)))
    left, right = _share(max(0, best - 1)), _share(min(_COARSE_STEPS, best + 1))
    for _ in range(_FINE_STEPS):
        width = PRECISION.multiply(_GOLDEN, PRECISION.subtract(right, left))
        inner_left, inner_right = PRECISION.subtract(right, width), PRECISION.add(left, width)
        if value(inner_left) < value(inner_right):
            right = inner_right
        else:
            left = inner_left
    return point(left)


def _share(step: int) -> Decimal:
    return PRECISION.divide(Decimal(step), Decimal(_COARSE_STEPS))


def _plus_1(x: Decimal) -> Decimal:
    """alpha, exactly enough: x has 15 digits."""
    return PRECISION.add(x, Decimal(1))


def decimal(value: Fraction) -> Decimal:
    """The value in 60 digits."""
    return PRECISION.divide(Decimal(value.numerator), Decimal(value.denominator))


def _rounded(value: Fraction, direction: Context) -> Fraction:
    """`value` with 15 significant digits, rounded once, in the direction of the context."""
    return Fraction(direction.divide(Decimal(value.numerator), Decimal(value.denominator)))


def _check(value: Fraction, name: str) -> None:
    if type(value) is not Fraction:
        raise TypeError(f"{name} must be a Fraction")
    if not SMALLEST <= value <= LARGEST:
        raise ValueError(f"{name} is too small or too large to be converted")


def _check_delta(delta: Fraction) -> None:
    if type(delta) is not Fraction:
        raise TypeError("delta must be a Fraction")
    if not SMALLEST_DELTA <= delta < 1:
        raise ValueError("Gaussian noise needs a delta above 0 and below 1")
