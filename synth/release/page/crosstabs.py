"""Tables of two columns with intervals: what the rows say, and what the raw table may hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from synth.config import Config
from synth.domain import Conjunction, Margin, Universe
from synth.domain.counts import Counts
from synth.measurements import Measurements
from synth.measurements.intervals import Intervals
from synth.release.manifest.figures import Figures
from synth.release.page.pairs import compared_pairs, most_informative
from synth.release.page.summary import Pair, Summary

MOST_CROSSTABS = 2
MOST_LINES, MOST_ACROSS = 16, 9
"""A table that is larger is not shown: nobody could read it on a page."""

LEVEL = 0.95
SHADES = 10
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
        return min(SHADES - 1, int(SHADES * self.share_of_line))


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
    rows = counts.sums(universe, Margin(names, (0, 0)))
    table = rows.reshape([universe.shape[column] for column in columns])
    if columns[0] != down:
        table = table.T
    lines = []
    for line, of_line in enumerate(table.tolist()):
        cells = []
        for place, number in enumerate(of_line):
            codes = {down: (line,), across: (place,)}
            where = Conjunction({universe.names[column]: codes[column] for column in columns})
            known = intervals.measured(where, level=LEVEL)
            if known is None:
                return None
            low, high = known[1]
            cells.append(CountWithInterval(number, low, high, number / max(1, sum(of_line))))
        lines.append(tuple(cells))
    return Crosstab(down, across, tuple(lines))
