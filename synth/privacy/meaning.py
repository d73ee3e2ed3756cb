"""What a budget means for beliefs, on tests, and for groups, in numbers that understate nothing.

Numbers are written as exact fractions, or as decimals and bounds rounded to the safe side.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

from synth.domain import format_number
from synth.privacy.accounting import Budget
from synth.privacy.concentrated import PRECISION, decimal

DECIMALS = 15
PRIORS = (Fraction(1, 100), Fraction(1, 10), Fraction(1, 2))
"""What an attacker may believe before the release, in the examples that are told."""


def exact_number(value: Fraction) -> dict[str, str]:
    """Write `value` as an exact fraction and in decimals.

    Rounding: a value with more than 15 decimals is rounded up in its decimal form, so a budget
    is never understated; the fraction stays exact.
    """
    scaled = Fraction(math.ceil(value * 10**DECIMALS), 10**DECIMALS)
    return {
        "fraction": f"{value.numerator}/{value.denominator}",
        "decimal": format_number(scaled),
    }


def exact_budget(budget: Budget) -> dict[str, Any]:
    """Write both parameters of a budget."""
    return {"epsilon": exact_number(budget.epsilon), "delta": exact_number(budget.delta)}


def rounded_up(value: Decimal, digits: int = 6) -> float:
    """The smallest number with that many decimals that is not below `value`."""
    return float(value.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_CEILING))


def rounded_down(value: Decimal, digits: int = 6) -> float:
    """The largest number with that many decimals that is not above `value`."""
    return float(value.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_FLOOR))


def significant_up(value: Decimal, digits: int = 6) -> float:
    """The smallest number with that many significant digits that is not below `value`."""
    return float(Context(prec=digits, rounding=ROUND_CEILING).plus(value))


def posterior_bounds(prior: Fraction, epsilon: Fraction) -> tuple[float, float]:
    """The smallest and largest posterior p' with |log odds(p') - log odds(p)| <= epsilon.

    Formula: largest = p e^eps / (1 - p + p e^eps); smallest = p / (p + (1 - p) e^eps).
    Rounding: outwards, to six decimals.
    """
    growth = PRECISION.exp(decimal(epsilon))
    before, other = decimal(prior), decimal(1 - prior)
    raised = PRECISION.multiply(before, growth)
    lowered = PRECISION.add(before, PRECISION.multiply(other, growth))
    largest = PRECISION.divide(raised, PRECISION.add(other, raised))
    return rounded_down(PRECISION.divide(before, lowered)), rounded_up(largest)


def smallest_false_negative_rate(
    false_positive_rate: Fraction, epsilon: Fraction, delta: Fraction = Fraction(0)
) -> float:
    """The q that no membership test beats.

    Formula: max(0, 1 - delta - e^eps p, (1 - delta - p) e^-eps).
    Rounding: down, to six decimals.
    """
    p, growth = decimal(false_positive_rate), PRECISION.exp(decimal(epsilon))
    sure = decimal(1 - delta)
    first = PRECISION.subtract(sure, PRECISION.multiply(growth, p))
    second = PRECISION.divide(PRECISION.subtract(sure, p), growth)
    return rounded_down(max(Decimal(0), first, second))


def largest_odds_factor(epsilon: Fraction) -> float:
    """The factor e^eps by which the odds of any belief about one unit change at most.

    Rounding: up, to six significant digits.
    """
    return significant_up(PRECISION.exp(decimal(epsilon)))


def largest_advantage(budget: Budget) -> float:
    """The largest true positive rate less false positive rate of any test for membership.

    Formula: (e^eps - 1 + 2 delta) / (e^eps + 1), reached where both error rates are equal
    (Kairouz, Oh, Viswanath 2015). With a prior of 1/2 a guess is right with probability
    1/2 + advantage / 2 at most.
    Rounding: up, to six decimals.
    """
    growth = PRECISION.exp(decimal(budget.epsilon))
    gained = PRECISION.add(PRECISION.subtract(growth, Decimal(1)), decimal(2 * budget.delta))
    share = PRECISION.divide(gained, PRECISION.add(growth, Decimal(1)))
    return rounded_up(min(Decimal(1), share))


def group_delta(units: int, budget: Budget) -> float:
    """The delta of a group of units, whose epsilon is `units` times that of one.

    Formula: delta (1 + e^eps + ... + e^((units - 1) eps)), at most 1: neighbours are changed one
    unit after the other.
    Rounding: up, to six significant digits.
    """
    growth = PRECISION.exp(decimal(budget.epsilon))
    total, power = Decimal(0), Decimal(1)
    for _ in range(units):
        total, power = PRECISION.add(total, power), PRECISION.multiply(power, growth)
    return significant_up(min(Decimal(1), PRECISION.multiply(decimal(budget.delta), total)))


def posteriors(epsilon: Fraction) -> list[dict[str, float]]:
    """For each of PRIORS, as JSON values: the prior, and the bounds of `posterior_bounds`."""
    listed = []
    for prior in PRIORS:
        smallest, largest = posterior_bounds(prior, epsilon)
        listed.append({"prior": float(prior), "largest": largest, "smallest": smallest})
    return listed


def at_most(share: float) -> str:
    """A probability in per cent, with about three digits, rounded up; only 1 is written as 100."""
    return _in_percent(share, ROUND_CEILING)


def at_least(share: float) -> str:
    """A probability in per cent, with about three digits, rounded down; only 0 is written as 0."""
    return _in_percent(share, ROUND_FLOOR)


def _in_percent(share: float, direction: str) -> str:
    """Three digits of the probability or, above one half, of what is missing to certainty."""
    percent = 100 * Decimal(repr(share))
    shown = min(percent, 100 - percent)
    digits = max(0, 2 - shown.adjusted()) if shown else 0
    return f"{percent.quantize(Decimal(1).scaleb(-digits), rounding=direction):f} %"
