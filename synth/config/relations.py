"""What relates columns: impossible cells, known totals, and the workload."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

from synth.config.attributes import Declared
from synth.config.keys import MAX_MARGINALS
from synth.config.labels import listed, meant
from synth.config.problems import Path, Report, quoted
from synth.config.scalars import Invalid
from synth.config.tree import printable
from synth.config.types import WeightedMarginal
from synth.domain import Attribute, Conjunction, PublicTotal


def build_conjunction(
    values: dict[str, Any], declared: Declared, path: Path, report: Report
) -> Conjunction | None:
    """The cells that a map from column to levels describes, in the order of the domain."""
    codes: dict[str, tuple[int, ...]] = {}
    fine = True
    for name, labels in values.items():
        here = (*path, name)
        attribute = declared.get(name)
        if name not in declared:
            _refuse_column(name, list(declared), here, report)
            fine = False
        elif (
            attribute is None
            or isinstance(labels, Invalid)
            or any(isinstance(item, Invalid) for item in labels)
        ):
            fine = False
        else:
            found = [attribute.code_of(label) for label in labels]
            for label, code in zip(labels, found, strict=True):
                if code is None:
                    _refuse_label(label, attribute, here, report)
                    fine = False
            codes[name] = tuple(sorted({code for code in found if code is not None}))
    if not fine:
        return None
    return Conjunction({name: codes[name] for name in declared if name in codes})


def _refuse_column(name: str, known: list[str], path: Path, report: Report) -> None:
    report.add(
        path,
        found=f"the column {quoted(name)}",
        expected="a column of the domain",
        fix=report.suggest(name, known),
    )


def _refuse_label(label: str, attribute: Attribute, path: Path, report: Report) -> None:
    report.add(
        path,
        found=printable(label[:80]),
        expected=f"one of: {listed(attribute, 8)}",
        fix=meant(label, attribute, report),
    )


def plain_conjunction(
    conjunction: Conjunction, attributes: tuple[Attribute, ...]
) -> dict[str, list[str]]:
    """The conjunction as a map from column to labels, in its normal form."""
    by_name = {attribute.name: attribute for attribute in attributes}
    return {
        name: [by_name[name].label(code) for code in codes]
        for name, codes in conjunction.codes.items()
    }


def build_impossible(
    items: list[Any], declared: Declared, report: Report
) -> tuple[Conjunction, ...]:
    """The rules without a problem."""
    rules = [
        build_conjunction(item, declared, ("impossible", index), report)
        for index, item in enumerate(items)
        if not isinstance(item, Invalid)
    ]
    return tuple(rule for rule in rules if rule is not None)


def build_totals(items: list[Any], declared: Declared, report: Report) -> tuple[PublicTotal, ...]:
    """The totals without a problem."""
    totals = []
    for index, item in enumerate(items):
        if isinstance(item, Invalid) or isinstance(item["where"], Invalid):
            continue
        path: Path = ("public_totals", index, "where")
        where = build_conjunction(item["where"], declared, path, report)
        total, source = item["total"], item["source"]
        if where is None or isinstance(total, Invalid) or isinstance(source, Invalid):
            continue
        totals.append(PublicTotal(where, total, source))
    return tuple(totals)


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
            _refuse_column(columns[position], names, (*here, position), report)
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
