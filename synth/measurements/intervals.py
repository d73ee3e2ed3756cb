"""Intervals for counts of the raw table, from the noisy tables and what is public.

A part is never said to be larger than the whole that it lies in. Wholes of a query are the queries
with some of its conditions left out. Its own ends are the count less and plus what the noise
reaches; its interval starts at the smallest lower end among its own and those of its wholes, and
stops at the smallest upper end. So neither end of a part lies above that of a whole, whatever is
drawn. A smaller lower end covers more. An upper end of a whole that is too small makes the part's
too small as well, so all of them share in what the interval may miss (`own_misses`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from math import comb

from synth.config import Config
from synth.domain import Conjunction, Universe
from synth.measurements.measured_counts import MeasuredCount, MeasuredCounts
from synth.measurements.measurements import Measurements

UPPER_SHARE = 0.8
"""The part of the allowed miss that the upper ends of a query and of all its wholes get at most."""

MOST_CONDITIONS = 6
"""A query of more has too many wholes: an interval that stays inside all of them says little."""

HELD_ENDS = 1 << 16

Interval = tuple[int, int]


class Intervals:
    """The noisy tables of one release, ready to say between which counts a query lies."""

    def __init__(self, measurements: Measurements, config: Config) -> None:
        """Nothing is summed before it is asked for."""
        self._config = config
        self._measured = MeasuredCounts(measurements, config.universe)
        self._most = min(MOST_CONDITIONS, self._measured.most_columns)
        self._known: dict[tuple[object, float], tuple[MeasuredCount, Interval] | None] = {}

    def measured(
        self, where: Conjunction, *, level: float
    ) -> tuple[MeasuredCount, Interval] | None:
        """The count by addition alone and an interval that holds the true one, at this level.

        None if no table answers alone, or if there are more than `MOST_CONDITIONS` conditions.
        The level is kept by whole numbers of records, whatever the data are; public totals and
        impossible cells cut the interval off, too.
        """
        if len(where.codes) > self._most or (found := self._own(where, level)) is None:
            return None
        ends = inside_wholes(where, lambda whole: self._own_ends(whole, level))
        return found[0], inside_public_bounds(where, ends, self._config)

    def _own_ends(self, where: Conjunction, level: float) -> Interval | None:
        found = self._own(where, level)
        return None if found is None else found[1]

    def _own(self, where: Conjunction, level: float) -> tuple[MeasuredCount, Interval] | None:
        """The count and its own ends; None if no table answers alone."""
        key = tuple(where.codes.items()), level
        if key not in self._known:
            if len(self._known) > HELD_ENDS:
                self._known.clear()
            counted = self._measured.count(where)
            found = None
            if counted is not None:
                misses = own_misses(len(where.codes), most=self._most, level=level)
                low, high = counted.ends(*misses)
                found = counted, (max(low, 0), max(high, 0))
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


def inside_wholes(
    where: Conjunction, own_ends: Callable[[Conjunction], Interval | None]
) -> Interval:
    """The smallest of the lower ends and of the upper ends of a query and all its wholes.

    Requires: own ends of the query itself; wholes without are left out.
    """
    every = [ends for whole in _wholes(where) if (ends := own_ends(whole)) is not None]
    lows, highs = zip(*every, strict=True)
    return min(lows), min(highs)


def _wholes(where: Conjunction) -> Iterator[Conjunction]:
    """The query with each set of its conditions left out: itself, and at last all records."""
    codes = where.codes
    for order in range(len(codes), -1, -1):
        for names in combinations(codes, order):
            yield Conjunction({name: codes[name] for name in names})


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
