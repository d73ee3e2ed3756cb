"""Rounding: from values of cells to the whole numbers of records that are published."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from synth.config import Config
from synth.domain import Conjunction, PublicTotal
from synth.domain.totals import Atoms, atoms_of, whole_atom_totals
from synth.errors import BugError

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
    for cells, u, total in rounded_together(values, atoms, seed):
        counts[cells] = systematic(values[cells], u, total)
    return counts


def rounded_together(
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
    for cells, u, total in rounded_together(values, atoms, seed):
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


# Raking: scale a table so that the public totals hold.


Floats = NDArray[np.float64]

_ROUNDS = 500
_SWEEPS = 6
_TOLERANCE = 1e-10


def required_totals(config: Config) -> tuple[PublicTotal, ...]:
    """The public totals, and `output.rows` as a total over all records where it is a number."""
    totals = config.public_totals
    rows = config.output.rows
    if rows is None or any(not total.where.codes for total in totals):
        return totals
    return (PublicTotal(Conjunction({}), rows, "output.rows"), *totals)


def required_atoms(config: Config) -> Atoms | None:
    """The atoms of the required totals, or None if nothing is required."""
    totals = required_totals(config)
    return atoms_of(config.universe, totals) if totals else None


def atom_sums(atoms: Atoms, values: Floats) -> Floats:
    """The sum of the values in every atom."""
    inside = atoms.atom_of >= 0
    return _sums(atoms.atom_of[inside], values[inside], atoms.count)


def _sums(groups: NDArray[np.int64], values: Floats, count: int) -> Floats:
    """Sums by group, as floats also where there is no group."""
    return np.bincount(groups, weights=values, minlength=count).astype(np.float64)


def whole_totals_near(atoms: Atoms, sums: Floats) -> NDArray[np.int64]:
    """Whole atom totals that meet the required totals, near the raked sums.

    The sums are raked first (each total in turn scales its atoms, which keeps the proportions
    inside it), then the nearest whole solution is taken.
    """
    raked = np.maximum(sums, 1e-9)
    for _ in range(_ROUNDS):
        largest = 0.0
        for inside, total in zip(atoms.membership, atoms.totals, strict=True):
            now = float(raked[inside].sum())
            if now > 0.0:
                raked[inside] *= total / now
                largest = max(largest, abs(total - now) / max(1.0, float(total)))
        if largest < _TOLERANCE:
            break
    whole = whole_atom_totals(atoms, raked)
    if whole is None:
        raise BugError(
            "the public totals cannot hold together, although the configuration was accepted"
        )
    return whole


def rake(values: Floats, atoms: Atoms, fallback: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Scale the values inside every atom to a whole total; all required totals then hold.

    Where an atom has no mass but must have some, it is spread like `fallback`, or evenly where
    that has none.
    """
    sums = atom_sums(atoms, values)
    whole = whole_totals_near(atoms, sums)
    inside = np.flatnonzero(atoms.atom_of >= 0)
    atom = atoms.atom_of[inside]
    source = values[inside].copy()
    for weights in (fallback[inside], np.ones(inside.size)):
        empty = (sums <= 0.0) & (whole > 0)
        if not empty.any():
            break
        source = np.where(empty[atom], weights, source)
        sums = _sums(atom, source, atoms.count)
    factor = np.divide(whole, sums, out=np.zeros(atoms.count), where=sums > 0.0)
    raked = np.zeros(values.size)
    raked[inside] = source * factor[atom]
    return raked, whole


def rake_one_way(
    values: Floats, aim: Floats, shape: tuple[int, ...], atoms: Atoms | None = None
) -> Floats:
    """Scale the values so that their one-way tables are nearly those of `aim`.

    With `atoms` the sum of each is that of `aim`, to floating point.
    """
    raked, wanted = values.copy(), aim.reshape(shape)
    table = raked.reshape(shape)
    for _ in range(_SWEEPS):
        for axis in range(len(shape)):
            rest = tuple(other for other in range(len(shape)) if other != axis)
            now = table.sum(axis=rest, keepdims=True)
            sums = wanted.sum(axis=rest, keepdims=True)
            table *= np.divide(sums, now, out=np.ones(now.shape), where=now > 0.0)
        if atoms is not None:
            now, sums = atom_sums(atoms, raked), atom_sums(atoms, aim)
            factor = np.divide(sums, now, out=np.ones(now.shape), where=now > 0.0)
            inside = atoms.atom_of >= 0
            raked[inside] *= factor[atoms.atom_of[inside]]
    return raked
