"""The one place where sensitivity is decided."""

from __future__ import annotations

from synth.config.types import PersonUnit, PrivacyConfig


def sensitivity_l1(privacy: PrivacyConfig) -> int:
    """The L1 sensitivity, in records, of one table of counts.

    Privacy: every record falls into exactly one cell, so a record that is added or removed
    changes one cell by 1. A person with a bounded number of records changes the counts by at
    most `max_records` in total. Replacing a unit is removing one and adding another: twice
    the amount.

    Requires: contributions were bounded as `privacy.unit` says before counting, by a rule that
    looks at that person's records only.
    """
    unit = privacy.unit
    records_per_unit = unit.max_records if isinstance(unit, PersonUnit) else 1
    return records_per_unit * (2 if privacy.neighbours == "replace-one" else 1)
