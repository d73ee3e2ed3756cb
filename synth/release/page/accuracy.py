"""How accurate the counts are: by table as it was predicted, by pair of columns, and cell by cell.

Pairs: which can be used, what a typical count is against the noise in it. Tables of two columns
with intervals: what the rows say, and what the raw table may hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

import numpy as np

from synth.config import Config
from synth.domain import Margin, Universe
from synth.domain.counts import Counts
from synth.measurements import Measurements
from synth.measurements.intervals import Intervals
from synth.release.manifest.figures import MARGINAL, Figures
from synth.release.page.summary import Pair, PairSummary, Summary

MOST_TABLES = 150


@dataclass(frozen=True)
class TableError:
    """The predicted error of one table or set of ranges; widths in records."""

    attributes: tuple[str, ...]
    what: str
    number: int
    half_width: int
    simultaneous: int
    below_noise: bool


@dataclass(frozen=True)
class OrderError:
    """All tables of one number of columns together: from the best to the worst, in records."""

    columns: int
    tables: int
    least: int
    most: int
    simultaneous: int


def table_errors(figures: Sequence[Figures], rows: int) -> tuple[TableError, ...]:
    """One entry per table and set of ranges of the workload that was predicted, in order.

    `below_noise`: an average cell of the table has fewer rows than its half width.
    """
    return tuple(
        TableError(
            query.attributes,
            KINDS[query.kind],
            query.cells,
            query.half_width_95_records,
            query.simultaneous_95_records,
            query.kind == MARGINAL and rows < query.half_width_95_records * query.cells,
        )
        for query in figures
        if query.kind in KINDS
        and query.cells is not None
        and query.half_width_95_records is not None
        and query.simultaneous_95_records is not None
    )


KINDS = {
    MARGINAL: "counts",
    "prefix": "sums from the lowest value",
    "range": "sums over ranges",
}


def errors_by_order(errors: tuple[TableError, ...]) -> tuple[OrderError, ...]:
    """The tables of counts, gathered by their number of columns, ascending."""
    counts = sorted(
        (error for error in errors if error.what == KINDS[MARGINAL]),
        key=lambda error: len(error.attributes),
    )
    found = []
    for columns, group in groupby(counts, key=lambda error: len(error.attributes)):
        members = list(group)
        widths = [error.half_width for error in members]
        bound = max(error.simultaneous for error in members)
        found.append(OrderError(columns, len(members), min(widths), max(widths), bound))
    return tuple(found)


def single_half_widths(errors: Sequence[TableError]) -> dict[str, int]:
    """By column: the half width of the 95 % interval of one of its counts, where it is known."""
    return {
        error.attributes[0]: error.half_width
        for error in errors
        if len(error.attributes) == 1 and error.what == KINDS[MARGINAL]
    }


State = Literal["clear", "blurred", "drowned", "unknown"]
MARKS: dict[State, str] = {"clear": "●", "blurred": "◐", "drowned": "○", "unknown": "?"}
"""What stands beside a colour, for those who do not see it."""

CLEAR = 5
"""So many times its noise (95 %) a typical count of a clear pair is at least."""

MOST_TIMES = 99
SHADES = 10


@dataclass(frozen=True)
class ComparedPair:
    """Two columns, by their numbers, low < high.

    Shapes and units: `half_width` is that of the 95 % interval of one count, in records; None where
    no sum of the noisy tables answers, or nobody asked.
    """

    columns: Pair
    summary: PairSummary
    half_width: int | None

    @property
    def state(self) -> State:
        """How a typical count stands out of the noise."""
        if self.half_width is None:
            return "unknown"
        if self.summary.typical_count < self.half_width:
            return "drowned"
        return "clear" if self._is_clear else "blurred"

    @property
    def _is_clear(self) -> bool:
        return self.summary.typical_count >= CLEAR * (self.half_width or 0)

    @property
    def mark(self) -> str:
        """The sign of its state."""
        return MARKS[self.state]

    @property
    def times(self) -> str:
        """How many times its noise a typical count is; empty where that is not known."""
        if self.half_width is None:
            return ""
        tenths = 10 * self.summary.typical_count // max(1, self.half_width)
        if tenths > 10 * MOST_TIMES:
            return f">{MOST_TIMES}"
        return str(tenths // 10) if tenths >= 100 else f"{tenths // 10}.{tenths % 10}"

    @property
    def shade(self) -> int | None:
        """The colour of its association; None where noise or nobody speaks."""
        association = self.summary.association
        if association is None or self.state in ("drowned", "unknown"):
            return None
        return min(SHADES - 1, int(SHADES * association))

    @property
    def association(self) -> str:
        """Cramer's V with two decimals, or a dash; marked where it has no colour."""
        if self.summary.association is None:
            return "–"
        shown = f"{self.summary.association:.2f}"
        return shown if self.shade is not None else f"{self.mark} {shown}"


Lines = tuple[tuple[ComparedPair, ...], ...]


def compared_pairs(summary: Summary, names: Sequence[str], figures: Sequence[Figures]) -> Lines:
    """The lines of a triangle: `lines[i][j]`, j < i, is about the columns j and i.

    Requires: `names` are those of all columns; figures that are not of two columns are passed over.
    """
    widths = {
        frozenset(each.attributes): each.half_width_95_records
        for each in figures
        if each.kind == MARGINAL and len(each.attributes) == 2
    }
    return tuple(
        tuple(
            ComparedPair((low, high), pair, widths.get(frozenset((names[low], names[high]))))
            for low, pair in enumerate(line)
        )
        for high, line in enumerate(summary.pairs)
    )


def states(lines: Lines) -> list[tuple[str, str, int]]:
    """Mark, state and number of pairs, of the states that there are."""
    found = Counter(pair.state for pair in each_pair(lines))
    return [(mark, state, found[state]) for state, mark in MARKS.items() if found[state]]


def each_pair(lines: Lines) -> Iterator[ComparedPair]:
    """All pairs, line by line."""
    return (pair for line in lines for pair in line)


def most_informative(lines: Lines) -> list[ComparedPair]:
    """Pairs that noise does not drown: clear ones first, then by falling association.

    Of equal ones, as far as digits are sure, the first.
    """
    usable = [pair for pair in each_pair(lines) if pair.shade is not None]
    return sorted(
        usable,
        key=lambda pair: (pair.state != "clear", -round(pair.summary.association or 0, 9)),
    )


MOST_CROSSTABS = 2
MOST_LINES, MOST_ACROSS = 16, 9
"""A table that is larger is not shown: nobody could read it on a page."""

LEVEL = 0.95
SHADES_OF_LINES = 10
TRIED = 12
"""Of so many pairs tables are asked for, until there are enough."""


@dataclass(frozen=True)
class CountWithInterval:
    """One combination: the rows that have it, and an interval for the records of the raw table."""

    rows: int
    low: int
    high: int
    share_of_line: float

    @property
    def is_outside(self) -> bool:
        """Whether the rows lie outside of the interval."""
        return not self.low <= self.rows <= self.high

    @property
    def is_noise(self) -> bool:
        """Whether 0 and more are both possible."""
        return self.low == 0 < self.high

    @property
    def shade(self) -> int:
        """The colour: what part of its line it is."""
        return min(SHADES_OF_LINES - 1, int(SHADES_OF_LINES * self.share_of_line))


@dataclass(frozen=True)
class Crosstab:
    """The table of two columns, given by their numbers: `down` has a line for each of its codes."""

    down: int
    across: int
    lines: tuple[tuple[CountWithInterval, ...], ...]


def crosstabs(
    config: Config,
    measurements: Measurements,
    counts: Counts,
    *,
    summary: Summary,
    figures: Sequence[Figures],
) -> tuple[Crosstab, ...]:
    """The most informative pairs that noise does not drown, and that one noisy table answers.

    Privacy: post-processing of the measurements and of the published counts.
    Requires: `summary` is that of the counts.
    Ensures: intervals are those of `synth errors` with method `measured`.
    """
    universe = config.universe
    lines = compared_pairs(summary, universe.names, figures)
    intervals = Intervals(measurements, config)
    found: list[Crosstab] = []
    fitting = [
        pair.columns
        for pair in most_informative(lines)
        if max(sizes := [universe.shape[column] for column in pair.columns]) <= MOST_LINES
        and min(sizes) <= MOST_ACROSS
    ]
    for columns in fitting[:TRIED]:
        made = _crosstab(columns, universe, counts, intervals)
        if made is not None:
            found.append(made)
        if len(found) == MOST_CROSSTABS:
            break
    return tuple(found)


def _crosstab(
    columns: Pair, universe: Universe, counts: Counts, intervals: Intervals
) -> Crosstab | None:
    """None if no noisy table answers it alone."""
    across, down = sorted(columns, key=lambda column: (universe.shape[column], -column))
    names = tuple(universe.names[column] for column in columns)
    measured = intervals.marginal(names, level=LEVEL)
    if np.isnan(measured.estimates).any():
        return None
    rows = counts.sums(universe, Margin(names, (0, 0))).reshape(measured.lows.shape)
    tables = [rows, measured.lows, measured.highs]
    if columns[0] != down:
        tables = [table.T for table in tables]
    lines = []
    for of_line in zip(*(table.tolist() for table in tables), strict=True):
        total = max(1, sum(of_line[0]))
        cells = zip(*of_line, strict=True)
        lines.append(
            tuple(
                CountWithInterval(number, low, high, number / total) for number, low, high in cells
            )
        )
    return Crosstab(down, across, tuple(lines))
