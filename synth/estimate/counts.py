"""Counts: the whole numbers of records that are published."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synth.config.types import Config
from synth.domain.sparse_counts import SparseCounts
from synth.domain.totals import Atoms
from synth.estimate.estimate import Estimate
from synth.estimate.raking import atom_sums, required_atoms, whole_totals_near
from synth.estimate.sparse import SparseEstimate

_WHOLE = 1e-6
"""An atom total this close to a whole number (relative to its size) counts as whole."""


@dataclass(frozen=True, eq=False)
class Counts:
    """Whole counts: `values` is int64, flat in cell order, records, >= 0."""

    values: NDArray[np.int64]


def round_counts(estimate: Estimate, config: Config, seed: int) -> Counts:
    """Turn the estimate into whole counts by systematic rounding in cell order.

    Privacy: post-processing; `seed` is public.
    Ensures: every count is the floor or the ceiling of the estimate; impossible cells are 0; every
    public total, and `output.rows` where it is a number, holds exactly. The expectation over
    the seed of every count is the estimate.
    Rounding: with C the running sum in an atom (all cells, if no totals are required) and u uniform
    in [0, 1), out_i = floor(C_i + u) - floor(C_{i-1} + u).
    """
    return Counts(_whole(estimate.values, required_atoms(config), seed))


def round_sparse(estimate: SparseEstimate, seed: int) -> SparseCounts:
    """The same for the cells of a sparse estimate; cells that get no record are left out.

    Privacy, Ensures, Rounding: as `round_counts`.
    """
    counts = _whole(estimate.values, estimate.atoms, seed)
    kept = np.flatnonzero(counts)
    return SparseCounts(tuple(column[kept] for column in estimate.columns), counts[kept])


def _whole(values: NDArray[np.float64], atoms: Atoms | None, seed: int) -> NDArray[np.int64]:
    generator = np.random.Generator(np.random.Philox(seed))
    if atoms is None:
        return systematic(values, float(generator.random()))
    sums = atom_sums(atoms, values)
    whole = np.rint(sums).astype(np.int64)
    reached = np.where(atoms.membership, whole, 0).sum(axis=1)
    off = np.abs(whole - sums) > _WHOLE * np.maximum(1.0, sums)
    if off.any() or np.any(reached != atoms.totals):
        whole = whole_totals_near(atoms, sums)
    offsets = generator.random(atoms.count)
    counts = np.zeros(values.size, dtype=np.int64)
    for atom, cells in enumerate(atoms.cells()):
        counts[cells] = systematic(values[cells], float(offsets[atom]), int(whole[atom]))
    return counts


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
