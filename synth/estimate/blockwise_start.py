"""Where the fit of a large universe starts: one-way tables, as far as noise lets them be seen."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from synth.domain import Margin, Universe
from synth.estimate.blockwise_anchor import one_way, one_way_function
from synth.estimate.blockwise_groups import Groups
from synth.estimate.blockwise_pairs import PairTables
from synth.measurements import MeasuredTable

Floats = NDArray[np.float64]


def main_effects(
    groups: Groups, tables: Sequence[MeasuredTable], noisy: PairTables | None, possible: PairTables
) -> PairTables:
    """The log of every attribute's table over an even one, from the least noisy sums.

    `noisy` holds the sums of the noisy counts of the first of `tables`, if that is of all cells. A
    sum y with noise of standard deviation s is taken as the mean of a normal law around y that
    is known to be positive, so that no code is ruled out.
    """
    effects: dict[int, Floats] = {}
    for axis, attribute in enumerate(groups.universe.attributes):
        best: tuple[float, Floats] | None = None
        for number, table in enumerate(tables):
            place = _place(groups.universe, table, axis)
            if place is None:
                continue
            variance = table.variance * table.event.cells / attribute.size
            if best is not None and best[0] <= variance:
                continue
            if number == 0 and noisy is not None:
                best = variance, one_way(groups, noisy, axis)
            else:
                shape = Margin(table.event.table, table.event.coarsening).shape(groups.universe)
                rest = tuple(i for i in range(len(shape)) if i != place)
                cube = table.noisy_counts.reshape(shape)
                best = variance, cube.sum(axis=rest, dtype=np.int64).astype(np.float64)
        if best is None or attribute.size < 2:
            continue
        cells = np.maximum(one_way(groups, possible, axis), 1e-9)
        positive = _positive(best[1], math.sqrt(best[0]))
        density = positive / cells
        effects[axis] = np.log(density / (positive.sum() / cells.sum()))
    return one_way_function(groups, effects)


def _place(universe: Universe, table: MeasuredTable, axis: int) -> int | None:
    """Where an attribute stands in a table that holds it at its codes."""
    name = universe.names[axis]
    if name not in table.event.table:
        return None
    place = table.event.table.index(name)
    return None if table.event.coarsening[place] else place


def _positive(sums: Floats, deviation: float) -> Floats:
    """The mean of a normal law around each sum, cut off at 0."""
    from scipy.special import log_ndtr

    if deviation <= 0.0:
        return np.maximum(sums, 1e-9)
    place = sums / deviation
    log_density = -0.5 * place * place - 0.5 * math.log(2.0 * math.pi)
    mean = sums + deviation * np.exp(log_density - log_ndtr(place))
    return np.asarray(np.maximum(mean, 1e-3 * deviation), dtype=np.float64)
