"""Main effects: where they are all that is fitted, and what a fit of them starts from."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from synth.domain import Margin, Universe
from synth.estimate.number import mean_if_positive
from synth.estimate.sums import OneWay
from synth.measurements import MeasuredTable

Floats = NDArray[np.float64]


def suffice(universe: Universe, others: Sequence[MeasuredTable]) -> bool:
    """Whether main effects alone are fitted to measured cells, and tables `others` beside them.

    So it is for two attributes without groups, and tables of single ones at most. Each of their
    cells has an interaction of its own. To fit them all takes ten times as long and is no better
    than to learn how far counts vary around what the two attributes say: a cell that noise does not
    hide then goes its own way.
    """
    varied = [attribute for attribute in universe.attributes if attribute.size > 1]
    is_plain = len(varied) == 2 and not any(attribute.hierarchy for attribute in varied)
    names = {attribute.name for attribute in varied}
    return is_plain and all(len(names & set(table.event.table)) < 2 for table in others)


def main_effects(
    universe: Universe,
    tables: Sequence[MeasuredTable],
    total: float,
    possible: OneWay,
    cells: OneWay | None = None,
) -> dict[int, Floats]:
    """The log of every attribute's table over an even one, from the least noisy sums.

    `cells` has the sums of the first of `tables`, if that is of all cells; `possible` those of
    the possible cells, `total` is about the number of records. A sum y with noise of standard
    deviation s is taken as the mean of a normal law around y that is known to be positive, so that
    no code is ruled out. Attributes of one code, or that no table holds, are left out.
    """
    effects: dict[int, Floats] = {}
    for axis, attribute in enumerate(universe.attributes):
        best: tuple[float, Floats] | None = None
        for number, table in enumerate(tables):
            place = _place(universe, table, axis)
            if place is None:
                continue
            variance = table.variance * table.event.cells / attribute.size
            if best is not None and best[0] <= variance:
                continue
            if number == 0 and cells is not None:
                best = variance, cells(axis)
            else:
                shape = Margin(table.event.table, table.event.coarsening).shape(universe)
                rest = tuple(i for i in range(len(shape)) if i != place)
                cube = table.noisy_counts.reshape(shape)
                best = variance, cube.sum(axis=rest, dtype=np.int64).astype(np.float64)
        if best is None or attribute.size < 2:
            continue
        room = np.maximum(possible(axis), 1e-9)
        positive = _with_total(best[1], math.sqrt(best[0]), total)
        density = positive / room
        effects[axis] = np.log(density / (positive.sum() / room.sum()))
    return effects


def _place(universe: Universe, table: MeasuredTable, axis: int) -> int | None:
    """Where an attribute stands in a table that holds it at its codes."""
    name = universe.names[axis]
    if name not in table.event.table:
        return None
    place = table.event.table.index(name)
    return None if table.event.coarsening[place] else place


def _with_total(sums: Floats, deviation: float, total: float) -> Floats:
    """The mean of every sum under a law of entropy as large as possible with about this total.

    That is an exponential prior: it moves the normal law of the noise down by the same number for
    all sums. Without it thousands of empty codes would take most records from the others.
    """
    low, high = 0.0, deviation
    if mean_if_positive(sums, deviation).sum() <= total or deviation <= 0.0:
        return mean_if_positive(sums, deviation)
    while mean_if_positive(sums - high, deviation).sum() > total and high < _FARTHEST * deviation:
        high *= 2.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if mean_if_positive(sums - middle, deviation).sum() > total:
            low = middle
        else:
            high = middle
    return mean_if_positive(sums - high, deviation)


_FARTHEST, _HALVINGS = 1e4, 40
