"""How large and how small the budget may be, for what it protects: the one place of that rule."""

from __future__ import annotations

from fractions import Fraction

from synth.domain import format_number
from synth.errors import Problem

MAX_EPSILON_PER_RECORD = Fraction(50)
"""Above it a count is off by 1 with probability below 1e-21: practically no noise."""

MIN_EPSILON_PER_RECORD = Fraction(1, 10_000)
"""Below it the noise of a single count has a scale of more than 10,000 records."""

MAX_DELTA = Fraction(1, 1_000)
"""Above it, publishing the records of one unit in a thousand as they are would be allowed."""

DELTA_MEANS = "with the probability delta the release may reveal a unit altogether"

NOISE_ALONE = "a smaller epsilon publishes nothing but noise"
NO_PROMISE = "the noise is practically nothing there: a larger epsilon promises nothing"

_UNITS_CHANGED = {"add-remove": 1, "replace-one": 2}


def records_changed(neighbours: str, max_records: int) -> int:
    """How many records of a table may differ between neighbours, for the limits only.

    The guarantee itself rests on `synth.privacy.sensitivity_l1`, which comes later in the order
    of imports and counts for itself; a test holds the two together.
    """
    return _UNITS_CHANGED[neighbours] * max_records


def epsilon_problem(epsilon: Fraction, *, neighbours: str, max_records: int) -> Problem | None:
    """What is wrong with a budget for this relation and unit, or None."""
    records = records_changed(neighbours, max_records)
    shared = "" if records == 1 else f": {records:,} records may differ between neighbours"
    low, high = MIN_EPSILON_PER_RECORD * records, MAX_EPSILON_PER_RECORD * records
    expected, why, fix = "", "", ""
    if epsilon > high:
        expected, why = f"at most {format_number(high)}{shared}", NO_PROMISE
        fix = "choose an epsilon that is meant as a promise, such as 1"
    elif epsilon < low:
        expected, why = f"at least {format_number(low)}{shared}", NOISE_ALONE
        fix = "raise the epsilon" + (", or lower max_records" if max_records > 1 else "")
    if not expected:
        return None
    return Problem(None, "epsilon", format_number(epsilon), expected, why, fix)
