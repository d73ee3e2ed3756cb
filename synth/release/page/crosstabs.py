"""Tables of two columns with intervals: what the rows say, and what the raw table may hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synth.config import Config
from synth.domain import Margin, Universe
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
