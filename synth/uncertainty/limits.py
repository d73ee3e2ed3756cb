"""Limits of a count that other counts set: a part is no larger than the whole that it lies in."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from synth.domain import Conjunction, Universe
from synth.uncertainty.measured_counts import MOST_COLUMNS, MeasuredCounts
from synth.uncertainty.query import Query

LIMITS_SHARE = 0.1
"""The part of the allowed miss of an interval that its limits get; its own ends get the rest."""

Interval = tuple[int, int]


class Limits:
    """What the measured wholes of a query, and the rest of these wholes, say of it."""

    def __init__(self, measured: MeasuredCounts, universe: Universe) -> None:
        """Nothing is summed before it is asked for."""
        self._measured, self._universe = measured, universe
        self._known: dict[tuple[object, float], Interval | None] = {}

    def of(self, query: Query, *, miss: float) -> tuple[int, int | None]:
        """A smallest and a largest count that hold with all but this probability together.

        For each proper subset of the columns, the query over these columns alone is a whole: it
        has at least as many records. Where one column is left out, what the whole has outside of
        the query's codes is the rest of it: whole less rest is the query. The intervals of all
        share the miss evenly, whatever the noisy counts say (a union bound).
        """
        wholes = list(self._wholes(query))
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

    def _wholes(self, query: Query) -> Iterator[tuple[Query, Query | None]]:
        codes = query.where.codes
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
                        where = {n: others if n == left else c for n, c in codes.items()}
                        rest = Query(query.text, Conjunction(where))
                yield Query(query.text, Conjunction(kept)), rest

    def _interval(self, query: Query, miss: float) -> Interval | None:
        key = tuple(query.where.codes.items()), miss
        if key not in self._known:
            if len(self._known) > 4096:
                self._known.clear()
            counted = self._measured.count(query)
            self._known[key] = None if counted is None else counted.interval(1 - miss)
        return self._known[key]
