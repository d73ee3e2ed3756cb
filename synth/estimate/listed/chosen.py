"""Of every few points that are drawn, the one is chosen that makes small tables right.

Points that are drawn from a model have its tables but for chance, and where records are few that is
as much as noise: 1,500 rows of six columns of about ten levels, drawn evenly, have 7 % of the
records of a pair in wrong cells, and less than 5 % if they are chosen. `TRIED` times as many points
are drawn, and of each `TRIED` that follow one another, most of one class, one is chosen: whichever
brings the given tables of all that are chosen nearest to those of all that were drawn, in squares.
Groups are gone through several times; each time a group decides anew, with the others as they are.

All of it in whole numbers far below 2^53, so it is the same everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth import progress
from synth.planning.costs import SWEEPS, TRIED, Axes

Ints = NDArray[np.int64]

_WEIGHTS = (30.0, 6.0, 1.0, 20.0)
"""What a gap counts in a table of one, of two, of three, and of more columns, which are few; whole,
so that sums are exact."""
_PLACES_AT_ONCE = 1 << 20


def chosen_points(
    columns: Sequence[NDArray[Any]], shape: Sequence[int], tables: Sequence[Axes]
) -> list[NDArray[Any]]:
    """One of every `TRIED` points.

    Privacy: post-processing; a function of the points alone.
    Shapes: `columns[j]` holds the code of attribute j of every point; those that are left over at
    the end, fewer than `TRIED`, are dropped.
    """
    groups = len(columns[0]) // TRIED
    drawn = np.stack([column[: groups * TRIED] for column in columns], axis=1)
    placed = _Placed(shape, tables)
    weights = np.array([_WEIGHTS[min(len(table), len(_WEIGHTS)) - 1] for table in tables])
    chosen = np.zeros(groups, dtype=np.int64)
    gaps = np.zeros(placed.cells, dtype=np.float32)  # whole numbers below 2^24
    for _, places in placed.of(drawn):
        np.add.at(gaps, places, np.float32(1))
        np.subtract.at(gaps, places[:, 0], np.float32(TRIED))
    for sweep in range(SWEEPS):
        for first, places in placed.of(drawn):
            for group, inside in enumerate(places, first):
                gaps[inside[chosen[group]]] += TRIED
                chosen[group] = best = int((gaps[inside].astype(np.float64) @ weights).argmax())
                gaps[inside[best]] -= TRIED
            done = sweep * groups + first + len(places)
            progress.advance(done, SWEEPS * groups, "cells")
    rows = drawn[np.arange(groups) * TRIED + chosen]
    return [np.ascontiguousarray(rows[:, axis]) for axis in range(len(columns))]


class _Placed:
    """The cells of all tables in a row, and where points lie in them."""

    def __init__(self, shape: Sequence[int], tables: Sequence[Axes]) -> None:
        """Lay the tables out one after another."""
        self._shape, self._tables = shape, tables
        ends = np.cumsum([prod(shape[axis] for axis in table) for table in tables])
        self._starts = [0, *ends[:-1].tolist()]
        self.cells = int(ends[-1])

    def of(self, points: NDArray[Any]) -> Iterator[tuple[int, Ints]]:
        """By groups of `TRIED` points, some at a time: the first one, and the places of all.

        Shapes: groups x `TRIED` x tables.
        """
        tables = len(self._tables)
        step = max(1, _PLACES_AT_ONCE // (TRIED * tables))
        for first in range(0, len(points) // TRIED, step):
            some = points[first * TRIED : (first + step) * TRIED].T.astype(np.int64)
            places = np.empty((tables, some.shape[1]), dtype=np.int64)
            for number, (start, table) in enumerate(zip(self._starts, self._tables, strict=True)):
                place = some[table[0]]
                for axis in table[1:]:
                    place = place * self._shape[axis] + some[axis]
                np.add(place, start, out=places[number])
            yield first, np.ascontiguousarray(places.T).reshape(-1, TRIED, tables)
