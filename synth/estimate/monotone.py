"""Counts that never decrease: records added to those of the release before.

A cumulative release is fitted to everything that was measured so far, as any release is. By itself
the fit lies above the release before in some cells and below it in others, as noise has it. So its
counts are not published, but say what the sums should be: the records of the release before are
kept, and as many as are missing are added in cells that have more by the fit, weighted towards
its sums over measured tables, pairs of columns and single columns.

An estimate of the differences alone, from noisy tables less the sums of the release before, would
forget all that the earlier periods tell of the new ones, and treat errors of that release as
records: its sums of two columns are up to half as far again from the truth (docs/benchmarks.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth.domain import Margin, Universe
from synth.domain.counts import Counts, difference, margin_cells
from synth.estimate.rounding import systematic

Floats = NDArray[np.float64]
Columns = tuple[NDArray[Any], ...]

SWEEPS = 4
MOST = 2.0
"""One move makes no weight larger or smaller by more than this factor: sums that rounding has put
too high by a record or two are not to shut out whole groups of cells."""
_MOST_CELLS = 1_000_000
_MOST_WORK = 200_000_000
"""Cells times margins that are moved; bounds the time to a few seconds."""


def with_records_added(
    previous: Counts, fitted: Counts, margins: Iterable[Margin], universe: Universe, *, seed: int
) -> Counts:
    """The records of `previous` and as many more as `fitted` has, near the sums of `fitted`.

    `margins` are those of the measured tables; `seed` is public.

    Privacy: post-processing of two tables of counts that are.
    Ensures: no count is below that of `previous`; the total is that of `fitted`, or that of
    `previous` if it is larger; records are added in possible cells alone, if `fitted` has them in
    no others. Deterministic.
    """
    missing = fitted.total - previous.total
    if missing <= 0:
        return previous
    apart = difference(fitted, previous, universe.shape)
    gains = apart.found > apart.expected
    columns = tuple(column[gains] for column in apart.columns)
    weights = apart.apart[gains].astype(np.float64)
    weights *= missing / float(weights.sum())
    towards = _moved(margins, universe, weights.size)
    weights = _weighed(columns, weights, fitted, previous, towards, universe)
    offset = float(np.random.Generator(np.random.Philox(seed)).random())
    added = systematic(weights, offset, missing)
    kept = np.flatnonzero(added)
    more = Counts(tuple(column[kept] for column in columns), added[kept])
    return previous.plus(more, universe.shape)


def records_taken_back(previous: Counts, counts: Counts, shape: Sequence[int]) -> int:
    """How many records of the release before are in no row of these counts."""
    apart = difference(counts, previous, shape)
    return int(np.maximum(apart.expected - apart.found, 0).sum())


def _moved(margins: Iterable[Margin], universe: Universe, cells: int) -> list[Margin]:
    """The margins towards which weights are moved: the largest first, single columns last."""
    pairs = (Margin(pair, (0, 0)) for pair in combinations(universe.names, 2))
    singles = [Margin((name,), (0,)) for name in universe.names]
    every = dict.fromkeys((*margins, *pairs))
    larger = [m for m in every if len(m.names) > 1 and m.cells(universe) <= _MOST_CELLS]
    larger.sort(key=lambda margin: -len(margin.names))
    room = max(0, _MOST_WORK // max(1, cells * SWEEPS) - len(singles))
    return [*larger[max(0, len(larger) - room) :], *singles]


def _weighed(
    columns: Columns,
    weights: Floats,
    fitted: Counts,
    previous: Counts,
    margins: Sequence[Margin],
    universe: Universe,
) -> Floats:
    """Weights with the same sum, whose margins are nearer to what the fit has more."""
    mass = float(weights.sum())
    aims: list[tuple[NDArray[np.int64], Floats]] = []
    for margin in margins:
        gap = fitted.sums(universe, margin) - previous.sums(universe, margin)
        aim = np.maximum(gap, 0).astype(np.float64)
        aims.append((margin_cells(columns, universe, margin), aim * (mass / float(aim.sum()))))
    for _ in range(SWEEPS):
        for cells, aim in aims:
            now = np.bincount(cells, weights=weights, minlength=aim.size)
            factor = np.divide(aim, now, out=np.ones(aim.size), where=now > 0.0)
            weights = weights * np.clip(factor, 1.0 / MOST, MOST)[cells]
    return np.asarray(weights * (mass / float(weights.sum())))
