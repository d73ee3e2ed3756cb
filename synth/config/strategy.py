"""The strategy: a word, or the tables that are measured, each column at a declared level."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from synth.config.columns import MAX_COLUMNS
from synth.config.labels import refuse_column
from synth.config.schema.problems import Place, Report, quoted
from synth.config.schema.scalars import Choice, label, name
from synth.config.schema.shapes import Either, ListOf, record
from synth.domain import DENSE_LIMIT_CELLS, Attribute, Margin, Universe
from synth.domain.attribute import shorten

MAX_TABLES = 10_000

MOST_TABLE_CELLS = 10**8
"""No table that is measured in every cell beside a list is larger."""

StrategyWord = Literal["auto", "identity", "adaptive", "sparse"]
Strategy = StrategyWord | tuple[Margin, ...]
"""A word, or the tables that are to be measured."""


@dataclass(frozen=True)
class ColumnAtLevel:
    """A column at a level of its hierarchy."""

    column: Annotated[str, name("The column")]
    level: Annotated[str, label("A level by its name")]


@dataclass(frozen=True)
class MeasuredTables:
    """The tables that are measured, and no others."""

    tables: Annotated[
        tuple[tuple[str | ColumnAtLevel, ...], ...],
        ListOf(
            "Every table that is measured",
            ListOf(
                "The columns of one table; all columns make the universe",
                Either(
                    "A column as it is, or at a level of its hierarchy",
                    "a column, or {column: ..., level: ...}",
                    single=name("A column of the domain"),
                    record=record(ColumnAtLevel),
                ),
                minimum=1,
                maximum=MAX_COLUMNS,
                noun="columns",
            ),
            minimum=1,
            maximum=MAX_TABLES,
            noun="tables",
        ),
    ]


STRATEGY = Either(
    "Which tables are measured: auto lets the planner choose, identity measures every cell of the "
    "universe, adaptive chooses step by step from what it measured, sparse lists the heavy cells "
    "beside small tables, tables lists them",
    "one of: auto, identity, adaptive, sparse; or {tables: [...]}",
    single=Choice("A word for the choice", get_args(StrategyWord)),
    record=record(MeasuredTables),
)


def build_strategy(
    written: StrategyWord | MeasuredTables, attributes: Mapping[str, Attribute], report: Report
) -> Strategy:
    """The word, or the tables; columns in the order of the domain."""
    if not isinstance(written, MeasuredTables):
        return written
    tables: list[Margin] = []
    first: dict[Margin, int] = {}
    for index, columns in enumerate(written.tables):
        here: Place = ("strategy", "tables", index)
        before = report.count
        table = _table(columns, attributes, here, report)
        earlier = first.setdefault(table, index) if report.count == before else index
        if earlier != index:
            report.add(
                here,
                expected="every table once",
                why=f"strategy.tables[{earlier}] is the same table",
                fix="remove one of the two",
            )
        tables.append(table)
    return tuple(tables)


def _table(
    columns: tuple[str | ColumnAtLevel, ...],
    attributes: Mapping[str, Attribute],
    path: Place,
    report: Report,
) -> Margin:
    chosen: dict[str, int] = {}
    for position, item in enumerate(columns):
        here = (*path, position)
        column = item.column if isinstance(item, ColumnAtLevel) else item
        if column not in attributes:
            at = (*here, "column") if isinstance(item, ColumnAtLevel) else here
            refuse_column(column, attributes, at, report)
        elif column in chosen:
            report.add(here, expected="every column once")
        elif isinstance(item, ColumnAtLevel):
            chosen[column] = _coarsening(attributes[column], item.level, here, report) or 0
        else:
            chosen[column] = 0
    names = tuple(name for name in attributes if name in chosen)
    return Margin(names, tuple(chosen[name] for name in names))


def _coarsening(attribute: Attribute, level: str, path: Place, report: Report) -> int | None:
    step = attribute.coarsening_of(level)
    if step is not None:
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


def plain_strategy(
    strategy: Strategy, attributes: Mapping[str, Attribute]
) -> StrategyWord | MeasuredTables:
    """The strategy as its section writes it in the normal form."""
    if not isinstance(strategy, tuple):
        return strategy
    return MeasuredTables(
        tuple(
            tuple(
                ColumnAtLevel(name, attributes[name].hierarchy[-step].name) if step else name
                for name, step in zip(table.names, table.coarsening, strict=True)
            )
            for table in strategy
        )
    )


def check_strategy_size(universe: Universe, strategy: Strategy, report: Report) -> None:
    """Refuse what needs a noisy count, or a guess, in every cell of a universe that is too large.

    Above `DENSE_LIMIT_CELLS` the planner measures small tables instead (`auto`, `sparse`).
    """
    if universe.size <= DENSE_LIMIT_CELLS:
        return
    largest = sorted(universe.attributes, key=lambda attribute: -attribute.size)[:3]
    shown = ", ".join(f"{attribute.name} ({attribute.size:,})" for attribute in largest)
    if strategy in ("identity", "adaptive"):
        every = "a noisy count" if strategy == "identity" else "a guess"
        report.add(
            ("strategy",),
            found=f"{strategy} for {cells_in_words(universe)}",
            expected=f"auto, sparse or tables, or at most {DENSE_LIMIT_CELLS:,} cells, the product "
            "of all levels and bins",
            why=f"{strategy} needs {every} in every cell",
            fix="write strategy: auto, which measures small tables of such a universe; or "
            f"leave columns out or merge levels and bins; the largest: {shown}",
        )
    if isinstance(strategy, tuple):
        for index, table in enumerate(strategy):
            whole = table.names == universe.names and not any(table.coarsening)
            if not whole and table.cells(universe) > MOST_TABLE_CELLS:
                report.add(
                    ("strategy", "tables", index),
                    found=f"a table of {number_of_cells(table.cells(universe))} cells",
                    expected=f"at most {MOST_TABLE_CELLS:,} cells, or all columns",
                    why="every cell of it gets a noisy count; only the universe can be listed",
                    fix="leave columns out of the table, or name coarser levels",
                )


def cells_in_words(universe: Universe) -> str:
    """The size of a universe as messages say it."""
    return f"a universe of {number_of_cells(universe.size)} cells"


def number_of_cells(cells: int) -> str:
    """A number of cells, rounded to a power of ten where nobody would read it."""
    return f"{cells:,}" if cells < 10**15 else f"about 10^{len(str(cells)) - 1}"
