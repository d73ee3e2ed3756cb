"""Intervals for counts of the raw table, from the noisy tables and what is public.

Other counts set limits to one: a part is no larger than the whole that it lies in.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from synth.config import Config
from synth.domain import Conjunction, Universe
from synth.measurements.measured_counts import MOST_COLUMNS, MeasuredCount, MeasuredCounts
from synth.measurements.measurements import Measurements

LIMITS_SHARE = 0.1
"""The part of the allowed miss of an interval that its limits get; its own ends get the rest."""

Interval = tuple[int, int]


class Intervals:
    """The noisy tables of one release, ready to say between which counts a query lies."""

    def __init__(self, measurements: Measurements, config: Config) -> None:
        """Nothing is summed before it is asked for."""
        self._config = config
        self._measured = MeasuredCounts(measurements, config.universe)
        self._limits = Limits(self._measured, config.universe)

    def measured(
        self, where: Conjunction, *, level: float
    ) -> tuple[MeasuredCount, Interval] | None:
        """The count by addition alone and an interval that holds the true one, at this level.

        None if no table answers alone. The level is kept by whole numbers of records, whatever the
        data are; public totals and impossible cells cut the interval off, too.
        """
        counted = self._measured.count(where)
        if counted is None:
            return None
        return counted, self.cut(where, counted.interval(own_level(where, level)), level=level)

    def cut(self, where: Conjunction, interval: Interval, *, level: float) -> Interval:
        """An interval of `own_level` that limits, public totals and impossible cells cut off."""
        low, high = interval
        least, most = self._limits.of(where, miss=LIMITS_SHARE * (1 - level))
        if max(low, least) <= (high if most is None else min(high, most)):
            low, high = max(low, least), high if most is None else min(high, most)
        lowest, highest = public_bounds(where, self._config)
        top = high if highest is None else max(min(high, highest), lowest)
        return min(max(low, lowest), top), top


def own_level(where: Conjunction, level: float) -> float:
    """The level that the ends of an interval get by themselves; its limits get the rest."""
    return 1 - (1 - LIMITS_SHARE) * (1 - level) if where.codes else level


class Limits:
    """What the measured wholes of a query, and the rest of these wholes, say of it."""

    def __init__(self, measured: MeasuredCounts, universe: Universe) -> None:
        """Nothing is summed before it is asked for."""
        self._measured, self._universe = measured, universe
        self._known: dict[tuple[object, float], Interval | None] = {}

    def of(self, where: Conjunction, *, miss: float) -> tuple[int, int | None]:
        """A smallest and a largest count that hold with all but this probability together.

        For each proper subset of the columns, the query over these columns alone is a whole: it
        has at least as many records. Where one column is left out, what the whole has outside of
        the query's codes is the rest of it: whole less rest is the query. The intervals of all
        share the miss evenly, whatever the noisy counts say (a union bound).
        """
        wholes = list(self._wholes(where))
        asked = len(wholes) + sum(rest is not None for _, rest in wholes)
        if not asked:
            return 0, None
        each = miss / asked
        least, most = 0, None
        for whole, rest in wholes:
            outer = self._interval(whole, each)
            if outer is None:
                continue
            low, high = outer
            inner = None if rest is None else self._interval(rest, each)
            if inner is not None:
                least = max(least, low - inner[1])
                high = max(0, high - inner[0])
            most = high if most is None else min(most, high)
        return least, most

    def _wholes(self, where: Conjunction) -> Iterator[tuple[Conjunction, Conjunction | None]]:
        codes = where.codes
        if len(codes) > MOST_COLUMNS:
            return
        for order in range(len(codes)):
            for names in combinations(codes, order):
                kept = {name: codes[name] for name in names}
                rest = None
                if order == len(codes) - 1:
                    (left,) = set(codes) - set(names)
                    others = tuple(
                        code
                        for code in range(self._universe.attribute(left).size)
                        if code not in codes[left]
                    )
                    if others:
                        rest = Conjunction(
                            {n: others if n == left else c for n, c in codes.items()}
                        )
                yield Conjunction(kept), rest

    def _interval(self, where: Conjunction, miss: float) -> Interval | None:
        key = tuple(where.codes.items()), miss
        if key not in self._known:
            if len(self._known) > 4096:
                self._known.clear()
            counted = self._measured.count(where)
            self._known[key] = None if counted is None else counted.interval(1 - miss)
        return self._known[key]


def public_bounds(where: Conjunction, config: Config) -> tuple[int, int | None]:
    """The smallest and the largest count that public totals and impossible cells leave.

    A total over cells that hold those of the query bounds it above; one over some of them below.
    None: no upper bound. As true as the totals are, which come from public sources.
    """
    universe = config.universe
    if any(_contains(rule, where, universe) for rule in universe.impossible):
        return 0, 0
    totals = config.public_totals
    above = [total.total for total in totals if _contains(total.where, where, universe)]
    below = [total.total for total in totals if _contains(where, total.where, universe)]
    return max(below, default=0), min(above, default=None)


def _contains(outer: Conjunction, inner: Conjunction, universe: Universe) -> bool:
    """Whether every cell of the inner set is in the outer one."""
    for name, codes in outer.codes.items():
        every = range(universe.attribute(name).size)
        if not set(inner.codes.get(name, every)) <= set(codes):
            return False
    return True
