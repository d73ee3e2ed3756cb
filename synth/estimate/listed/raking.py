"""Raking: weights of the support moved towards the noisy tables that still contradict them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth import progress
from synth.domain import Universe
from synth.estimate.listed.support import Support
from synth.estimate.listed.tables import SumTable, shrunk

Floats = NDArray[np.float64]

MOST_WORK = 60_000_000
"""Cells of the support times moves: bounds the time to about a second."""
_SWEEPS = 4
_CONTRADICTION = 4.0
"""Standard deviations of chi-square above its mean from which a table contradicts the weights."""
_FACTORS = (0.2, 5.0)
"""One move changes no weight by more than these."""
_SAMPLE = 1 << 16
"""Which tables contradict is first asked of a part of the support of about this size."""


def rake_to_tables(
    support: Support, tables: Sequence[SumTable], universe: Universe
) -> tuple[Support, dict[str, Any]]:
    """Scale the weights of the cells that are not listed, table by table, the worst first.

    A table contradicts if the squares of its residuals, in noise variances, exceed what noise
    alone gives by four standard deviations. Its weights are moved to the sums plus what is left of
    the residual when noise is taken off (`low_rank.shrunk`), so noise is not copied into the
    weights. Most tables agree already, because the tree was fitted to them.
    """
    moved, work = 0, 0
    values = support.values.copy()
    waiting = _contradicting(support, tables, universe)
    for _ in range(_SWEEPS):
        still = []
        for number, table in enumerate(waiting):
            progress.advance(number, len(waiting), "tables")
            if work + values.size > MOST_WORK:
                break
            work += values.size
            if _move(values, support, table, universe):
                moved += 1
                still.append(table)
        waiting = still
    report = {"step": "rake towards tables that contradict", "tables": len(tables), "moves": moved}
    return support.with_values(values), report


def _contradicting(
    support: Support, tables: Sequence[SumTable], universe: Universe
) -> list[SumTable]:
    """Tables that contradict by a part of the support, those with the most to gain first."""
    step = max(1, support.values.size // _SAMPLE)
    columns = [column[::step] for column in support.columns]
    values = support.values[::step]
    mass = float(values.sum())
    if mass <= 0.0:
        return []
    scale = float(support.values.sum()) / mass
    found = []
    for number, table in enumerate(tables):
        cells = table.cells(columns, universe)
        sums = np.bincount(cells, weights=values, minlength=table.values.size)
        own = np.zeros(sums.size)
        if step > 1:  # how much the sums of a part vary
            own += scale * scale * np.bincount(cells, weights=values**2, minlength=sums.size)
        residual = table.values.reshape(-1) - sums * scale
        squares = residual * residual / (table.variance + own)
        excess = float(squares.sum()) - squares.size
        if excess > _CONTRADICTION * math.sqrt(2.0 * squares.size):
            found.append((-excess * math.sqrt(table.variance), number, table))
    return [table for *_, table in sorted(found, key=lambda entry: entry[:2])]


def _move(values: Floats, support: Support, table: SumTable, universe: Universe) -> bool:
    """Move the weights in place towards one table; False if it does not contradict them."""
    cells = table.cells(support.columns, universe)
    size = table.values.size
    sums = np.bincount(cells, weights=values, minlength=size)
    residual = table.values.reshape(-1) - sums
    excess = float((residual * residual).sum()) / table.variance - size
    if excess <= _CONTRADICTION * math.sqrt(2.0 * size):
        return False
    kept = shrunk(residual.reshape(table.values.shape), math.sqrt(table.variance)).reshape(-1)
    free = sums - np.bincount(cells, weights=values * support.listed, minlength=size)
    aim = np.maximum(free + kept, 0.0)
    factor = np.clip(np.divide(aim, free, out=np.ones(size), where=free > 0.0), *_FACTORS)
    lost = float(free.sum()) / max(float((free * factor).sum()), 1e-300)
    values *= np.where(support.listed, 1.0, (factor * lost)[cells])
    return True
