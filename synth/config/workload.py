"""The workload: marginals, range queries, and what is publicly expected of the size."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Annotated, Literal, get_args

from synth.config.columns import MAX_COLUMNS
from synth.config.labels import refuse_column
from synth.config.schema.problems import Place, Report
from synth.config.schema.scalars import Choice, Exact, Flag, Whole, name
from synth.config.schema.shapes import Either, Key, ListOf, record
from synth.domain import Attribute, PublicTotal

MAX_MARGINALS = 10_000
MAX_RANGES = 1_000

DEFAULT_ORDER = 3
"""The workload is every table of up to so many columns, where nothing else is written."""

RangeKind = Literal["prefix", "range"]


def _columns(description: str, item: str) -> ListOf:
    return ListOf(description, name(item), minimum=1, maximum=MAX_COLUMNS, noun="columns")


TABLE_COLUMNS = _columns("The columns of one table", "A column of the domain")
WEIGHT = Exact("How much its errors count (1)", Fraction(1, 10**9), Fraction(10**9))


@dataclass(frozen=True)
class WeightedMarginal:
    """One table with its weight."""

    attributes: Annotated[tuple[str, ...], Key(TABLE_COLUMNS, name="columns")]
    """Names, in universe order."""
    weight: Annotated[Fraction, WEIGHT] = Fraction(1)


@dataclass(frozen=True)
class RangeQueries:
    """Queries with one interval for each column, all of which hold together.

    `prefix`: every interval that starts at the first bin; `range`: every interval. Missing values
    are in no interval.
    """

    attributes: Annotated[
        tuple[str, ...],
        Key(
            _columns(
                "The columns, each with an interval of its own",
                "A column of numbers, dates or times",
            ),
            name="columns",
        ),
    ]
    kind: Annotated[
        RangeKind,
        Choice(
            "prefix asks for every interval from the first bin on, range for every interval",
            get_args(RangeKind),
        ),
    ]
    weight: Annotated[Fraction, WEIGHT] = Fraction(1)


@dataclass(frozen=True)
class WorkloadConfig:
    """What the release should answer well."""

    marginals: tuple[WeightedMarginal, ...] = ()
    """Expanded: `marginals: 3` becomes every 1-, 2- and 3-way table, weight 1."""
    written: Annotated[
        int | tuple[WeightedMarginal | tuple[str, ...], ...],
        Key(
            Either(
                "A number k for every table of up to k columns, or a list of tables",
                "a whole number, or a list of tables",
                single=Whole("All tables of up to so many columns", 1, MAX_COLUMNS),
                several=ListOf(
                    "Tables",
                    Either(
                        "One table: its columns, with or without a weight",
                        "a list of columns, or {columns: [...], weight: ...}",
                        several=TABLE_COLUMNS,
                        record=record(WeightedMarginal),
                    ),
                    minimum=1,
                    maximum=MAX_MARGINALS,
                    noun="tables",
                ),
            ),
            name="marginals",
        ),
    ] = field(default=DEFAULT_ORDER, kw_only=True, compare=False)
    """The marginals as written: a number may be above that of the columns."""
    cells: Annotated[bool, Flag("Whether single cells of the universe matter")] = True
    ranges: Annotated[
        tuple[RangeQueries, ...],
        ListOf(
            "Counts over intervals of columns of numbers, dates or times",
            record(RangeQueries),
            maximum=MAX_RANGES,
            noun="sets of queries",
            empty_is_absent=True,
        ),
    ] = ()
    expected_records: Annotated[
        int | None,
        Whole("A public guess of the number of records, never from the data", 1, 10**12),
    ] = None
    """For the planner."""

    @property
    def normal(self) -> WorkloadConfig:
        """The same with the marginals written in their normal form."""
        if not isinstance(self.written, int):
            return replace(self, written=self.marginals)
        columns = len({name for marginal in self.marginals for name in marginal.attributes})
        return replace(self, written=min(self.written, columns))


DEFAULT_WORKLOAD = WorkloadConfig()


def build_workload(
    workload: WorkloadConfig, attributes: Mapping[str, Attribute], report: Report
) -> WorkloadConfig:
    """The workload with all its tables, columns in the order of the domain."""
    if isinstance(workload.written, int):
        marginals = _all_marginals(workload.written, list(attributes), report)
    else:
        marginals = _listed_marginals(workload.written, list(attributes), report)
    ranges = _ranges(workload.ranges, attributes, report)
    return replace(workload, marginals=marginals, ranges=ranges)


def _all_marginals(order: int, names: list[str], report: Report) -> tuple[WeightedMarginal, ...]:
    orders = range(1, min(order, len(names)) + 1)
    count = sum(math.comb(len(names), size) for size in orders)
    if count > MAX_MARGINALS:
        report.add(
            ("workload", "marginals"),
            found=f"{order}, that is {count:,} tables",
            expected=f"at most {MAX_MARGINALS:,} tables",
            fix="choose a smaller number, or list the tables that matter",
        )
        return ()
    return tuple(
        WeightedMarginal(columns)
        for size in orders
        for columns in itertools.combinations(names, size)
    )


def _listed_marginals(
    tables: tuple[WeightedMarginal | tuple[str, ...], ...], names: list[str], report: Report
) -> tuple[WeightedMarginal, ...]:
    known = set(names)
    marginals = []
    seen: set[frozenset[str]] = set()
    for index, table in enumerate(tables):
        here: Place = ("workload", "marginals", index)
        if isinstance(table, WeightedMarginal):
            here = (*here, "columns")
        else:
            table = WeightedMarginal(table)
        for position, column in enumerate(table.attributes):
            if column not in known:
                refuse_column(column, names, (*here, position), report)
        chosen = frozenset(table.attributes)
        if len(chosen) < len(table.attributes):
            report.add(here, expected="every column once")
        elif chosen in seen:
            report.add(here, expected="every table once", fix="add the weights up")
        seen.add(chosen)
        ordered = tuple(name for name in names if name in chosen)
        marginals.append(replace(table, attributes=ordered))
    return tuple(marginals)


def _ranges(
    queries: tuple[RangeQueries, ...], attributes: Mapping[str, Attribute], report: Report
) -> tuple[RangeQueries, ...]:
    ranges = []
    seen: set[tuple[frozenset[str], str]] = set()
    for index, query in enumerate(queries):
        here: Place = ("workload", "ranges", index)
        _refuse_unordered(query.attributes, attributes, (*here, "columns"), report)
        chosen = frozenset(query.attributes)
        if len(chosen) < len(query.attributes):
            report.add((*here, "columns"), expected="every column once")
        elif (chosen, query.kind) in seen:
            report.add(here, expected="every set of range queries once", fix="add the weights up")
        seen.add((chosen, query.kind))
        ordered = tuple(name for name in attributes if name in chosen)
        ranges.append(replace(query, attributes=ordered))
    return tuple(ranges)


def _refuse_unordered(
    columns: tuple[str, ...], attributes: Mapping[str, Attribute], path: Place, report: Report
) -> None:
    """Report every column that has no intervals."""
    for position, column in enumerate(columns):
        here = (*path, position)
        if column not in attributes:
            refuse_column(column, attributes, here, report)
        elif not attributes[column].is_ordered:
            report.add(
                here,
                expected="a column of type integer, number, date or datetime",
                why="levels have no order, so there are no intervals of them",
            )


def check_expected_records(
    value: int | None, totals: tuple[PublicTotal, ...], report: Report
) -> None:
    """A guess of the number of records agrees with what is publicly known of it."""
    for total in totals:
        if value is not None and not total.where.codes and total.total != value:
            report.add(
                ("workload", "expected_records"),
                expected=f"{total.total}, the public total of all records, or nothing",
                why="what is known needs no guess",
                fix="remove `expected_records`",
            )
            return
