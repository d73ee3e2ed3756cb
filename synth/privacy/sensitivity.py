"""The one place where sensitivity is decided."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from synth.config import PersonUnit, PrivacyConfig
from synth.config.guarantee import UNITS_CHANGED


def sensitivity_l1(privacy: PrivacyConfig) -> int:
    """The L1 sensitivity, in records, of one table of counts.

    Privacy: every record falls into exactly one cell, so a record that is added or removed
    changes one cell by 1. A person with a bounded number of records changes the counts by at
    most `max_records` in total. Replacing a unit is removing one and adding another: twice
    the amount.

    Requires: contributions were bounded as `privacy.unit` says before counting, by a rule that
    looks at that person's records only.
    Raises: ValueError for a neighbouring relation or a unit that it does not know.
    """
    if privacy.neighbours not in UNITS_CHANGED:
        raise ValueError(f"no sensitivity is known for neighbours {privacy.neighbours!r}")
    return UNITS_CHANGED[privacy.neighbours] * _records_per_unit(privacy.unit)


def sensitivity_l2_squared(privacy: PrivacyConfig) -> int:
    """The squared L2 sensitivity, in records squared, of one table of counts.

    Privacy: let a unit with at most m records add v to the table; every entry of v is a whole
    number >= 0 and they add up to at most m. Adding or removing it changes the counts by v or -v,
    and |v|^2 <= (sum of v)^2 <= m^2, met if all its records fall into one cell. Replacing it
    changes them by v - w with |v - w|^2 = |v|^2 + |w|^2 - 2 v.w <= 2 m^2, since v.w >= 0; met if
    the two units fill one cell each. So the bound is m^2 times the number of units that change.

    Requires: contributions were bounded as for `sensitivity_l1`.
    Raises: ValueError for a neighbouring relation or a unit that it does not know.
    """
    if privacy.neighbours not in UNITS_CHANGED:
        raise ValueError(f"no sensitivity is known for neighbours {privacy.neighbours!r}")
    return UNITS_CHANGED[privacy.neighbours] * _records_per_unit(privacy.unit) ** 2


def look_sensitivity(privacy: PrivacyConfig, pairs: Sequence[tuple[str, str]]) -> int:
    """The L1 sensitivity, in records, of all counts of a look together.

    Privacy: a record changes the profile of a look by 1, and the count of how far pairs depend on
    each other, if there is one, by at most 1 (`synth.curator.counting.look`); so whatever a unit
    changes a table by, in whole records, it changes each of the two by no more.

    Requires: contributions were bounded as for `sensitivity_l1`.
    Raises: ValueError for a neighbouring relation or a unit that it does not know.
    """
    return (2 if pairs else 1) * sensitivity_l1(privacy)


def _records_per_unit(unit: Literal["record"] | PersonUnit) -> int:
    if unit == "record":
        return 1
    if isinstance(unit, PersonUnit) and type(unit.max_records) is int and unit.max_records >= 1:
        return unit.max_records
    raise ValueError(f"no sensitivity is known for the unit {unit!r}")
