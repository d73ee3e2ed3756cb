"""Selection: which records count, and how often, by the date that each of them holds.

The date is read as one of the domain is (`moments`), by one expression for every engine, and what
was read decides in whole numbers, so that the same records count everywhere. A record whose date is
none, or lies elsewhere, does not count; no value stops anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import ibis
import ibis.expr.types as ir

from synth.config import PersonUnit
from synth.config.series import PeriodSelection
from synth.curator.counting.encode import bound_contributions
from synth.domain import Attribute
from synth.errors import BugError

MOST_WEIGHT = (1 << 31) - 1


def first_looked_at(selection: PeriodSelection) -> int:
    """The number of the first period whose records decide which records count.

    Raises: BugError for a selection that cannot be meant.
    """
    if selection.bounded_from is not None and selection.max_periods is not None:
        raise BugError("records that are bounded over a horizon are not of the first periods only")
    if selection.bounded_from is not None:
        return selection.bounded_from
    if selection.max_periods is not None:
        return selection.series_first
    return selection.weights[0][0]


def period_attribute(selection: PeriodSelection) -> Attribute:
    """The column of dates as an attribute: code i is period `first_looked_at` + i.

    With `earlier_count`, code 0 is every period up to the first one of the series, if that is the
    first which is looked at. The code behind the last period, or a larger one, is that of every
    other value: another period, a text that is no date, nothing.
    Raises: BugError for a selection that cannot be meant.
    """
    if not selection.weights or max(weight for _, weight in selection.weights) > MOST_WEIGHT:
        raise BugError("no record of a selection counts, or one counts too often")
    first, last = first_looked_at(selection), selection.weights[-1][0]
    if first > selection.weights[0][0]:
        raise BugError("persons are bounded from a period on that is after the first one")
    takes_earlier = selection.earlier_count and first == selection.series_first
    if takes_earlier:  # `clamp` takes what is too late, too: to a period that does not count
        last += 1
    return Attribute(
        selection.column,
        "date",
        edges=(*map(Fraction, range(first, last + 1)), Fraction(last)),
        missing=("",),
        out_of_domain="clamp" if takes_earlier else "missing",
        calendar=replace(selection.calendar, resolution=selection.resolution),
    )


def select_records(
    records: ibis.Table, selection: PeriodSelection, unit: PersonUnit | None
) -> ibis.Table:
    """The records that count; as `weight`, how often, unless all of them count once.

    Privacy: without persons, whether and how often a record counts depends on that record's own
    date alone. With persons it depends on that person's records alone. Of these, those count that
    are in the first `max_periods` periods in which there are any, and of those the first
    `max_records`: of the selection, or, with `bounded_from`, of all periods from there on,
    earlier periods first, and within a period by the hash of `bound_contributions`. How many of a
    period count does not depend on later periods. So over all selections of one `bounded_from`,
    a table in which a person's records keep their periods has `max_records` of them at most that
    ever count; and over all periods of a series, records in at most `max_periods` periods. A
    record that was counted and is deleted or moved afterwards would make room for another one.
    Requires: columns `word_0`, ..., `period` (a code of `period_attribute`) and, with a unit,
    `person`.
    """
    first, last = first_looked_at(selection), selection.weights[-1][0]
    table = records.filter(records.period <= last - first)
    if unit is not None and selection.max_periods is not None:
        within = ibis.window(group_by=table.person, order_by=table.period)
        ranked = table.mutate(period_rank=ibis.dense_rank().over(within))
        table = ranked.filter(ranked.period_rank < selection.max_periods)
    if selection.bounded_from is None:
        table = _weighted(table, selection)
    if unit is not None:
        table = bound_contributions(table, unit)
    return table if selection.bounded_from is None else _weighted(table, selection)


def _weighted(table: ibis.Table, selection: PeriodSelection) -> ibis.Table:
    """The records of periods that have a weight, with it if any is not 1."""
    runs = _runs(selection)
    weighted = table.mutate(weight=_weight(table.period, runs))
    chosen = weighted.filter(weighted.weight > 0)
    return chosen if any(weight > 1 for _, weight in runs) else chosen.drop("weight")


def _runs(selection: PeriodSelection) -> list[tuple[int, int]]:
    """From which code on a record has which weight; 0 between the periods that have one."""
    first, weights = first_looked_at(selection), dict(selection.weights)
    runs: list[tuple[int, int]] = []
    for number in range(first, selection.weights[-1][0] + 1):
        weight = weights.get(number, 0)
        if not runs or runs[-1][1] != weight:
            runs.append((number - first, weight))
    return runs


def _weight(period: ir.IntegerValue, runs: Sequence[tuple[int, int]]) -> ir.IntegerValue:
    """The weight of a period, by a balanced tree of comparisons."""
    if len(runs) == 1:
        return ibis.literal(runs[0][1], "int32")
    middle = len(runs) // 2
    is_later = period >= ibis.literal(runs[middle][0], "int32")
    return is_later.ifelse(_weight(period, runs[middle:]), _weight(period, runs[:middle]))
