"""The workload: marginals, range queries, and what is publicly expected of the size."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

from synth.config.attributes import Declared
from synth.config.labels import refuse_column
from synth.config.problems import Path, Report
from synth.config.scalars import Invalid
from synth.config.types import RangeQueries, WeightedMarginal
from synth.config.workload_keys import MAX_MARGINALS
from synth.domain import PublicTotal


def build_marginals(value: Any, names: list[str], report: Report) -> tuple[WeightedMarginal, ...]:
    """The tables of the workload: all up to a number of columns, or those listed."""
    path: Path = ("workload", "marginals")
    if isinstance(value, Invalid):
        return ()
    if isinstance(value, int):
        orders = range(1, min(value, len(names)) + 1)
        count = sum(math.comb(len(names), order) for order in orders)
        if count > MAX_MARGINALS:
            report.add(
                path,
                found=f"{value}, that is {count:,} tables",
                expected=f"at most {MAX_MARGINALS:,} tables",
                fix="choose a smaller number, or list the tables that matter",
            )
            return ()
        return tuple(
            WeightedMarginal(columns, Fraction(1))
            for order in orders
            for columns in itertools.combinations(names, order)
        )
    return _listed_marginals(value, names, path, report)


def _listed_marginals(
    value: list[Any], names: list[str], path: Path, report: Report
) -> tuple[WeightedMarginal, ...]:
    known = set(names)
    marginals = []
    seen: set[frozenset[str]] = set()
    for index, item in enumerate(value):
        has_weight = isinstance(item, dict)
        here = (*path, index, "columns") if has_weight else (*path, index)
        columns = item["columns"] if has_weight else item
        weight = item["weight"] if has_weight else Fraction(1)
        if isinstance(columns, Invalid) or any(isinstance(c, Invalid) for c in columns):
            continue
        unknown = [position for position, name in enumerate(columns) if name not in known]
        for position in unknown:
            refuse_column(columns[position], names, (*here, position), report)
        chosen = frozenset(columns)
        if len(chosen) < len(columns):
            report.add(here, expected="every column once")
        elif chosen in seen:
            report.add(here, expected="every table once", fix="add the weights up")
        elif not unknown and not isinstance(weight, Invalid):
            ordered = tuple(name for name in names if name in chosen)
            marginals.append(WeightedMarginal(ordered, weight))
        seen.add(chosen)
    return tuple(marginals)


def build_ranges(value: Any, declared: Declared, report: Report) -> tuple[RangeQueries, ...]:
    """The range queries of the workload, columns in the order of the domain."""
    if value is None or isinstance(value, Invalid):
        return ()
    ranges = []
    seen: set[tuple[frozenset[str], str]] = set()
    for index, item in enumerate(value):
        if isinstance(item, Invalid):
            continue
        here: Path = ("workload", "ranges", index)
        columns, kind, weight = item["columns"], item["kind"], item["weight"]
        if isinstance(columns, Invalid) or any(isinstance(c, Invalid) for c in columns):
            continue
        fine = _refuse_unordered(columns, declared, (*here, "columns"), report)
        if isinstance(kind, Invalid):
            continue
        chosen = frozenset(columns)
        if len(chosen) < len(columns):
            report.add((*here, "columns"), expected="every column once")
        elif (chosen, kind) in seen:
            report.add(here, expected="every set of range queries once", fix="add the weights up")
        elif fine and not isinstance(weight, Invalid):
            ordered = tuple(name for name in declared if name in chosen)
            ranges.append(RangeQueries(ordered, kind, weight))
        seen.add((chosen, kind))
    return tuple(ranges)


def _refuse_unordered(columns: list[str], declared: Declared, path: Path, report: Report) -> bool:
    """Report every column that has no intervals; True if there is none."""
    fine = True
    for position, name in enumerate(columns):
        attribute = declared.get(name)
        if name not in declared:
            refuse_column(name, declared, (*path, position), report)
        elif attribute is not None and not attribute.is_ordered:
            report.add(
                (*path, position),
                expected="a column of type integer or number",
                why="levels have no order, so there are no intervals of them",
            )
        elif attribute is not None:
            continue
        fine = False
    return fine


def check_expected_records(value: Any, totals: tuple[PublicTotal, ...], report: Report) -> None:
    """A guess of the number of records agrees with what is publicly known of it."""
    if not isinstance(value, int):
        return
    for total in totals:
        if not total.where.codes and total.total != value:
            report.add(
                ("workload", "expected_records"),
                expected=f"{total.total}, the public total of all records, or nothing",
                why="what is known needs no guess",
                fix="remove `expected_records`",
            )
            return


def plain_workload(
    values: dict[str, Any],
    marginals: tuple[WeightedMarginal, ...],
    ranges: tuple[RangeQueries, ...],
    columns: int,
) -> dict[str, Any]:
    """The workload section in its normal form, from its values as they were read."""
    chosen = values["marginals"]
    return {
        **values,
        "marginals": min(chosen, columns)
        if isinstance(chosen, int)
        else [{"columns": list(m.attributes), "weight": m.weight} for m in marginals],
        "ranges": [
            {"columns": list(r.attributes), "kind": r.kind, "weight": r.weight} for r in ranges
        ]
        or None,
    }
