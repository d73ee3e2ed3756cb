"""The tables under `strategy`: margins of the universe, each column at a declared level."""

from __future__ import annotations

from typing import Any

from synth.config.attributes import Declared
from synth.config.labels import refuse_column
from synth.config.problems import Path, Report, quoted
from synth.config.scalars import Invalid
from synth.config.types import Strategy
from synth.domain import Attribute, Margin
from synth.domain.listing import shorten


def build_strategy(value: Any, declared: Declared, report: Report) -> Strategy:
    """The word, or the tables without a problem; columns in the order of the domain."""
    if isinstance(value, Invalid) or not isinstance(value, dict):
        return "auto" if isinstance(value, Invalid) else value
    tables: list[Margin] = []
    first: dict[Margin, int] = {}
    items = value["tables"]
    for index, item in enumerate(() if isinstance(items, Invalid) else items):
        here: Path = ("strategy", "tables", index)
        table = None if isinstance(item, Invalid) else _table(item, declared, here, report)
        if table is None:
            continue
        earlier = first.setdefault(table, index)
        if earlier != index:
            report.add(
                here,
                expected="every table once",
                why=f"strategy.tables[{earlier}] is the same table",
                fix="remove one of the two",
            )
        tables.append(table)
    return tuple(tables)


def _table(items: list[Any], declared: Declared, path: Path, report: Report) -> Margin | None:
    chosen: dict[str, int] = {}
    fine = True
    for position, item in enumerate(items):
        here = (*path, position)
        column, level = (item["column"], item["level"]) if isinstance(item, dict) else (item, None)
        if isinstance(column, Invalid) or isinstance(level, Invalid):
            fine = False
        elif column not in declared:
            at = (*here, "column") if isinstance(item, dict) else here
            refuse_column(column, declared, at, report)
            fine = False
        elif column in chosen:
            report.add(here, expected="every column once")
            fine = False
        else:
            attribute = declared[column]
            step = None if attribute is None else _coarsening(attribute, level, here, report)
            fine &= step is not None
            chosen[column] = step or 0
    if not fine:
        return None
    names = tuple(name for name in declared if name in chosen)
    return Margin(names, tuple(chosen[name] for name in names))


def _coarsening(attribute: Attribute, level: str | None, path: Path, report: Report) -> int | None:
    step = 0 if level is None else attribute.coarsening_of(level)
    if level is None or step is not None:
        return step
    names = [coarser.name for coarser in attribute.hierarchy]
    report.add(
        (*path, "level"),
        expected=f"one of: {', '.join(shorten(names, 8))}"
        if names
        else f"a level of the hierarchy of {quoted(attribute.name)}",
        why="" if names else "the column has no `hierarchy`",
        fix=report.suggest(level, names),
    )
    return None


def plain_strategy(strategy: Strategy, attributes: tuple[Attribute, ...]) -> Any:
    """The strategy in the normal form of its section."""
    if isinstance(strategy, str):
        return strategy
    by_name = {attribute.name: attribute for attribute in attributes}
    return {
        "tables": [
            [
                {"column": name, "level": by_name[name].hierarchy[-step].name} if step else name
                for name, step in zip(table.names, table.coarsening, strict=True)
            ]
            for table in strategy
        ]
    }
