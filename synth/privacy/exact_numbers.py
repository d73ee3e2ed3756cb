"""Exact numbers in the manifest: fractions, decimals, and bounds rounded to the safe side."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

from synth.domain import format_number
from synth.privacy import Budget

DECIMALS = 15
PRECISION = Context(prec=60)


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


def decimal(value: Fraction) -> Decimal:
    """The value in 60 digits."""
    return PRECISION.divide(Decimal(value.numerator), Decimal(value.denominator))


def rounded_up(value: Decimal, digits: int = 6) -> float:
    """The smallest number with that many decimals that is not below `value`."""
    return float(value.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_CEILING))


def rounded_down(value: Decimal, digits: int = 6) -> float:
    """The largest number with that many decimals that is not above `value`."""
    return float(value.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_FLOOR))


def significant_up(value: Decimal, digits: int = 6) -> float:
    """The smallest number with that many significant digits that is not below `value`."""
    return float(Context(prec=digits, rounding=ROUND_CEILING).plus(value))
