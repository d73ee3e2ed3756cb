"""A quick model of noisy tables: what an adaptive choice goes by between two measurements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from math import prod, sqrt

import numpy as np
from numpy.typing import NDArray

from synth.domain import Margin, Universe
from synth.estimate.listed.class_fit import fit_classes
from synth.estimate.listed.tables import SumTable, one_way
from synth.estimate.number import noisy_number
from synth.measurements import Measurements
from synth.planning.costs import HELD_CELLS
from synth.privacy import TableEvent

Floats = NDArray[np.float64]

SWEEPS = 30
"""The most passes over all tables; fewer if they agree earlier."""
SLACK = 0.05
"""How far the model stays from the noisiest table where its logarithm is off by 1, in standard
deviations of that table's noise: the entropy decides only what the tables leave open."""
SETTLED = 0.02
"""No cell of any table still moves by more than this many standard deviations of its noise."""
_NEWTON_STEPS = 25
_LARGEST_STEP = 30.0


def quick_guess(measurements: Measurements, universe: Universe) -> Callable[[Margin], Floats]:
    """The counts of any table, at the resolution of the codes, as far as noisy tables tell.

    Where these are all of single columns it is the product of what is known of each. Otherwise it
    is `maximum_entropy`, which passes over every cell of the universe up to `HELD_CELLS`; beyond
    them it would take minutes to hours, and latent classes say as much.

    Privacy: post-processing of the measurements.
    Shapes and units: float64, flat in C order over the table, records.
    """
    several = any(len(table.event.table) > 1 for table in measurements.tables)
    if several and universe.size <= HELD_CELLS:
        cells = maximum_entropy(measurements, universe)
        return lambda margin: margin.sums(universe, cells)
    tables = [SumTable.of(table, universe) for table in measurements.tables]
    noisy = noisy_number(measurements)
    records = 0.0 if noisy is None else max(noisy[0], 0.0)
    if several:
        classes = fit_classes(tables, universe, records, quick=True)
        return lambda margin: records * classes.table(universe.axes(margin.names))
    shares = [each.shares for each in one_way(tables, universe, records)]

    def product(margin: Margin) -> Floats:
        cells = np.array([records])
        for axis in universe.axes(margin.names):
            cells = np.kron(cells, shares[axis])
        return cells

    return product


def maximum_entropy(measurements: Measurements, universe: Universe) -> Floats:
    """Positive counts close to all tables, as even as they can be.

    Minimises sum_B |A_B z - y_B|^2 / (2 v_B) + t KL(z, uniform) over z >= 0 by block coordinate
    ascent in the dual: z = exp(sum_B A_B' u_B), and the best u_B for one table, all others fixed,
    is found cell by cell by Newton's method. Without noise this is iterative proportional fitting
    (Deming, Stephan 1940; Csiszar 1975).

    The passes are few. Where tables contradict each other by their noise, that is not enough to
    average them: the later ones are followed closer, which in an adaptive run are the better ones.

    Privacy: post-processing of the measurements.
    Requires: at least one table; every table at the resolution of the codes.
    Shapes and units: float64, flat in cell order, records; 0 on impossible cells.
    Raises: ValueError for a coarser table.
    """
    tables = [_Table.of(universe, each.event) for each in measurements.tables]
    noisy = [np.asarray(each.noisy_counts, dtype=np.float64) for each in measurements.tables]
    deviations = [sqrt(max(each.variance, 1e-6)) for each in measurements.tables]
    entropy = SLACK / max(deviations)
    possible = universe.possible()
    start = max(1.0, max(float(counts.sum()) for counts in noisy)) / max(1, int(possible.sum()))
    values = np.where(possible, start, 0.0)
    duals = [np.zeros(counts.size) for counts in noisy]
    for _ in range(SWEEPS):
        moved = 0.0
        for number, table in enumerate(tables):
            fitted = table.sums(values)
            step = _best_step(
                fitted, noisy[number], duals[number], deviations[number] ** 2 * entropy
            )
            duals[number] += step
            factor = np.exp(step)
            table.multiply(values, factor)
            change = float(np.abs(fitted * (factor - 1)).max())
            moved = max(moved, change / deviations[number])
        if moved < SETTLED:
            break
    return values


def _best_step(fitted: Floats, noisy: Floats, dual: Floats, slack: float) -> Floats:
    """The step s with (dual + s) slack + fitted exp(s) = noisy, in every cell.

    The left side is convex and grows with s. Newton's method starts where it is too large, and so
    comes down to the root and never passes it.
    Rounding: a step of more than `_LARGEST_STEP` is cut.
    """
    room = noisy - dual * slack
    above = np.maximum(room / slack, 0.0)
    by_ratio = np.log(np.maximum(room, 1e-9) / np.maximum(fitted, 1e-300))
    step = np.minimum(above, np.maximum(by_ratio, 0.0))
    for _ in range(_NEWTON_STEPS):
        grown = fitted * np.exp(step)
        step = np.clip(
            step - (step * slack + grown - room) / (slack + grown), -_LARGEST_STEP, _LARGEST_STEP
        )
    return step


@dataclass(frozen=True)
class _Table:
    """A table as axes of the universe, neighbours that are alike taken together.

    `shape` has alternately axes that are kept and axes that are summed out.
    """

    shape: tuple[int, ...]
    summed: tuple[int, ...]
    kept: tuple[int, ...]

    @staticmethod
    def of(universe: Universe, event: TableEvent) -> _Table:
        if any(event.coarsening):
            raise ValueError("the quick model has tables at the resolution of the codes only")
        runs = [
            (is_kept, prod(universe.attribute(name).size for name in run))
            for is_kept, run in groupby(universe.names, key=lambda name: name in event.table)
        ]
        return _Table(
            tuple(size for _, size in runs),
            tuple(axis for axis, (is_kept, _) in enumerate(runs) if not is_kept),
            tuple(size if is_kept else 1 for is_kept, size in runs),
        )

    def sums(self, values: Floats) -> Floats:
        """The sums of the cells of the universe, flat over the table."""
        table: Floats = values.reshape(self.shape).sum(axis=self.summed)
        return table.reshape(-1)

    def multiply(self, values: Floats, factors: Floats) -> None:
        """Multiply every cell of the universe by the factor of its cell of the table, in place."""
        view = values.reshape(self.shape)
        view *= factors.reshape(self.kept)
