"""Intervals for counts of the raw table, from the noisy tables and what is public.

A part is never said to be larger than the whole that it lies in. Wholes of a query are the queries
with some of its conditions left out. Its own ends are the count less and plus what the noise
reaches; its interval starts at the smallest lower end among its own and those of its wholes, and
stops at the smallest upper end. So neither end of a part lies above that of a whole, whatever is
drawn. A smaller lower end covers more. An upper end of a whole that is too small makes the part's
too small as well, so all of them share in what the interval may miss (`own_misses`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import comb

import numpy as np
from numpy.typing import NDArray

from synth.config import Config
from synth.domain import Conjunction, Universe
from synth.measurements.measured_counts import (
    Alternatives,
    MeasuredCells,
    MeasuredCount,
    MeasuredCounts,
)
from synth.measurements.measurements import Measurements

UPPER_SHARE = 0.8
"""The part of the allowed miss that the upper ends of a query and of all its wholes get at most."""

MOST_CONDITIONS = 6
"""A query of more has too many wholes: an interval that stays inside all of them says little."""

HELD_ENDS = 1 << 16

Interval = tuple[int, int]
Ends = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class MarginalIntervals:
    """The intervals of every cell of a table of counts.

    Shapes and units: an axis per column, in universe order; `estimates` and `sds` are records, not
    numbers where no table answers.
    """

    estimates: NDArray[np.float64]
    sds: NDArray[np.float64]
    lows: NDArray[np.int64]
    highs: NDArray[np.int64]

    def inside_public_bounds(self, columns: Sequence[str], config: Config) -> MarginalIntervals:
        """The same, cut off at what is public."""
        if not config.public_totals and not config.universe.impossible:
            return self
        lows, highs = self.lows.copy(), self.highs.copy()
        for place in map(tuple, np.argwhere(np.isfinite(self.estimates))):
            where = Conjunction(
                {
                    name: (int(code),)
                    for name, code in zip(columns, place, strict=True)
                    if config.universe.attribute(name).size > 1
                }
            )
            ends = int(lows[place]), int(highs[place])
            lows[place], highs[place] = inside_public_bounds(where, ends, config)
        return MarginalIntervals(self.estimates, self.sds, lows, highs)


class Intervals:
    """The noisy tables of one release, ready to say between which counts a query lies."""

    def __init__(self, measurements: Measurements, config: Config) -> None:
        """Nothing is summed before it is asked for."""
        self._config = config
        self._measured = MeasuredCounts(measurements, config.universe)
        self._most = min(MOST_CONDITIONS, self._measured.most_columns)
        self._known: dict[tuple[object, float], tuple[MeasuredCells, Ends] | None] = {}

    def measured(
        self, where: Conjunction, *, level: float
    ) -> tuple[MeasuredCount, Interval] | None:
        """The count by addition alone and an interval that holds the true one, at this level.

        None if no table answers alone, or if there are more than `MOST_CONDITIONS` conditions.
        The level is kept by whole numbers of records, whatever the data are; public totals and
        impossible cells cut the interval off, too.
        """
        columns = {name: (codes,) for name, codes in where.codes.items()}
        found = self._inside_wholes(columns, level)
        if found is None:
            return None
        cells, (lows, highs) = found
        ends = int(lows.item()), int(highs.item())
        return cells.only, inside_public_bounds(where, ends, self._config)

    def marginal(self, names: Sequence[str], *, level: float) -> MarginalIntervals:
        """What `measured` says of every cell of the table over some columns, all at once."""
        universe = self._config.universe
        columns = {
            name: [(code,) for code in range(universe.attribute(name).size)]
            for name in universe.names
            if name in names
        }
        shape = tuple(map(len, columns.values()))
        shown = [name for name in columns if len(columns[name]) > 1]  # else all codes are taken
        estimates, sds = np.full(shape, np.nan), np.full(shape, np.nan)
        lows, highs = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        for blocks in product(*(self._measured.alike(name, columns[name]) for name in shown)):
            block = dict(zip(shown, blocks, strict=True))
            asked = {name: tuple(columns[name][code] for code in block[name]) for name in shown}
            if (answered := self._inside_wholes(asked, level)) is None:
                continue
            cells, ends = answered
            here = np.ix_(*(block.get(name, [0]) for name in columns))
            divisors = np.array([noise.divisor for noise in cells.noises])[cells.which]
            variances = np.array([noise.variance for noise in cells.noises])[cells.which]
            size = estimates[here].shape
            estimates[here] = (cells.totals / divisors).reshape(size)
            sds[here] = np.sqrt(variances).reshape(size)
            lows[here], highs[here] = (each.reshape(size) for each in ends)
        found = MarginalIntervals(estimates, sds, lows, highs)
        return found.inside_public_bounds(tuple(columns), self._config)

    def of_sets(
        self, name: str, sets: Sequence[tuple[int, ...]], *, level: float
    ) -> list[tuple[float, Interval] | None]:
        """The estimate and the interval of `measured` for several sets of codes of one column.

        Requires: no set holds all codes of the column.
        """
        found: list[tuple[float, Interval] | None] = [None] * len(sets)
        for block in self._measured.alike(name, sets):
            answered = self._inside_wholes({name: [sets[number] for number in block]}, level)
            if answered is None:
                continue
            cells, (lows, highs) = answered
            for place, number in enumerate(block):
                estimate = cells.totals[place] / cells.noises[cells.which[place]].divisor
                ends = int(lows[place]), int(highs[place])
                inside = inside_public_bounds(Conjunction({name: sets[number]}), ends, self._config)
                found[number] = float(estimate), inside
        return found

    def _inside_wholes(
        self, columns: Alternatives, level: float
    ) -> tuple[MeasuredCells, Ends] | None:
        """The counts and, inside of those of their wholes, their ends."""
        if len(columns) > self._most or (found := self._own(columns, level)) is None:
            return None
        lows, highs = found[1]
        for kept in _wholes(tuple(columns)):
            whole = self._own({name: columns[name] for name in kept}, level)
            if whole is not None:
                shape = [len(columns[name]) if name in kept else 1 for name in columns]
                lows = np.minimum(lows, whole[1][0].reshape(shape))
                highs = np.minimum(highs, whole[1][1].reshape(shape))
        return found[0], (lows, highs)

    def _own(self, columns: Alternatives, level: float) -> tuple[MeasuredCells, Ends] | None:
        """The counts and their own ends; None if no table answers alone."""
        key = tuple((name, tuple(sets)) for name, sets in columns.items()), level
        if key not in self._known:
            if len(self._known) > HELD_ENDS:
                self._known.clear()
            counted = self._measured.counts(columns)
            found = None
            if counted is not None:
                misses = own_misses(len(columns), most=self._most, level=level)
                low, high = (np.maximum(each, 0) for each in counted.ends(*misses))
                found = counted, (low, high)
            self._known[key] = found
        return self._known[key]

    def weighted_sum(
        self, where: Conjunction, column: str, weights: Mapping[int, int], *, level: float
    ) -> tuple[MeasuredCount, Interval] | None:
        """A weighted sum of counts from one table, and an interval for it at this level.

        See `MeasuredCounts.weighted_sum`.
        """
        found = self._measured.weighted_sum(where, column, weights)
        miss = (1 - level) / 2
        return None if found is None else (found, found.ends(miss, miss))


def own_misses(conditions: int, *, most: int, level: float) -> tuple[float, float]:
    """The probabilities with which own ends may lie above and below the true count.

    Upper ends of queries of j conditions get the same part of `UPPER_SHARE` for every j from 0 to
    `most`, divided by the number of j conditions among `most`, so that those of a query of `most`
    conditions and of all its wholes have that share together. The lower end gets what is left by
    the upper ends of the query and its wholes (a union bound).
    """
    miss = 1 - level
    of_order = UPPER_SHARE * miss / (most + 1)
    upper = [of_order / comb(most, order) for order in range(conditions + 1)]
    wholes = sum(comb(conditions, order) * upper[order] for order in range(conditions + 1))
    return miss - wholes, upper[conditions]


def _wholes(names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The columns that are left of a query's when some conditions, in the end all, are left out."""
    for order in range(len(names) - 1, -1, -1):
        yield from combinations(names, order)


def inside_public_bounds(where: Conjunction, ends: Interval, config: Config) -> Interval:
    """Whole numbers between the ends, cut off at what is public."""
    low, high = ends
    lowest, highest = public_bounds(where, config)
    top = high if highest is None else max(min(high, highest), lowest)
    return min(max(low, lowest), top), top


def public_bounds(where: Conjunction, config: Config) -> tuple[int, int | None]:
    """The smallest and the largest count that public totals and impossible cells leave.

    A total over cells that hold those of the query bounds it above; one over some of them below.
    None: no upper bound. As true as the totals are, which come from public sources.
    """
    universe = config.universe
    if any(contains(rule, where, universe) for rule in universe.impossible):
        return 0, 0
    totals = config.public_totals
    above = [total.total for total in totals if contains(total.where, where, universe)]
    below = [total.total for total in totals if contains(where, total.where, universe)]
    return max(below, default=0), min(above, default=None)


def contains(outer: Conjunction, inner: Conjunction, universe: Universe) -> bool:
    """Whether every cell of the inner set is in the outer one."""
    for name, codes in outer.codes.items():
        every = range(universe.attribute(name).size)
        if not set(inner.codes.get(name, every)) <= set(codes):
            return False
    return True
