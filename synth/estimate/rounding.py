"""Rounding: from values of cells to the whole numbers of records that are published."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from synth.domain.totals import Atoms
from synth.estimate.raking import atom_sums, whole_totals_near

LAST_DIGITS = 1e-12
"""Relative: how far an estimate may be from another one that differs in last digits alone."""

MOST_MOVED = 8
"""Records that last digits may move in a release."""

_WHOLE = 1e-6
"""An atom total this close to a whole number (relative to its size) counts as whole."""


def round_counts(values: NDArray[np.float64], atoms: Atoms | None, seed: int) -> NDArray[np.int64]:
    """Turn values into whole counts by systematic rounding in cell order.

    Privacy: post-processing; `seed` is public.
    Ensures: every count is the floor or the ceiling of the value; impossible cells are 0; every
    required total holds exactly. The expectation over the seed of every count is the value.
    Rounding: with C the running sum in an atom (all cells, if no totals are required) and u uniform
    in [0, 1), out_i = floor(C_i + u) - floor(C_{i-1} + u).
    """
    counts = np.zeros(values.size, dtype=np.int64)
    for cells, u, total in _parts(values, atoms, seed):
        counts[cells] = systematic(values[cells], u, total)
    return counts


def _parts(
    values: NDArray[np.float64], atoms: Atoms | None, seed: int
) -> Iterator[tuple[NDArray[np.int64] | slice, float, int | None]]:
    """The cells that are rounded together, their offset, and their whole total if one is set."""
    generator = np.random.Generator(np.random.Philox(seed))
    if atoms is None:
        yield slice(None), float(generator.random()), None
        return
    sums = atom_sums(atoms, values)
    whole = np.rint(sums).astype(np.int64)
    reached = np.where(atoms.membership, whole, 0).sum(axis=1)
    off = np.abs(whole - sums) > _WHOLE * np.maximum(1.0, sums)
    if off.any() or np.any(reached != atoms.totals):
        whole = whole_totals_near(atoms, sums)
    offsets = generator.random(atoms.count)
    for atom, cells in enumerate(atoms.cells()):
        yield cells, float(offsets[atom]), int(whole[atom])


def moved_by_last_digits(
    values: NDArray[np.float64], atoms: Atoms | None, seed: int, found: NDArray[np.int64]
) -> int | None:
    """How many records stand one step further in `found` than rounding `values` puts them.

    None if last digits of the values cannot have moved them. Values that differ by one part in
    1 / `LAST_DIGITS` move a running sum by no more than that part of the whole sum; a record
    changes its cell only where this takes the running sum over a whole number. So every running
    count of `found` must lie between the two that this allows; every count is that of the rounding
    or differs by one; a cell of value 0 is empty; sums of atoms are the same; and no more than
    `MOST_MOVED` records moved in all.
    """
    expected = np.zeros(values.size, dtype=np.int64)
    for cells, u, total in _parts(values, atoms, seed):
        part = values[cells]
        expected[cells] = systematic(part, u, total)
        if not part.size:
            continue
        running = np.cumsum(part)
        if total is not None and running[-1] > 0.0:
            running *= total / float(running[-1])
        slack = LAST_DIGITS * max(1.0, float(running[-1]))
        level = np.cumsum(found[cells])
        strays = (level < np.floor(running + u - slack)) | (level > np.floor(running + u + slack))
        strays &= level != np.cumsum(expected[cells])
        if strays.any() or level[-1] != expected[cells].sum():
            return None
    apart = np.abs(found - expected)
    if apart.max(initial=0) > 1 or apart[values == 0.0].any() or apart.sum() > 2 * MOST_MOVED:
        return None
    return int(apart.sum()) // 2


def systematic(
    values: NDArray[np.float64], u: float, total: int | None = None
) -> NDArray[np.int64]:
    """Round in order with one offset; scaled to `total` first, which is then met exactly."""
    if not values.size:
        return np.zeros(0, dtype=np.int64)
    running = np.cumsum(values)
    if total is None:
        reached = np.floor(running + u)
    else:
        mass = float(running[-1])
        if mass <= 0.0:
            running = np.cumsum(np.ones(values.size))
            mass = float(values.size)
        reached = np.minimum(np.floor(running * (total / mass) + u), float(total))
        reached[-1] = total
    return np.diff(reached, prepend=0.0).astype(np.int64)
