"""Raking: scale a table so that the public totals hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from synth.config import Config
from synth.domain import Conjunction, PublicTotal
from synth.domain.totals import Atoms, atoms_of, whole_atom_totals
from synth.errors import BugError

Floats = NDArray[np.float64]

_ROUNDS = 500
_SWEEPS = 3
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


def rake_one_way(values: Floats, aim: Floats, shape: tuple[int, ...]) -> Floats:
    """Scale the values so that their one-way tables are nearly those of `aim`."""
    table, wanted = values.reshape(shape).copy(), aim.reshape(shape)
    for _ in range(_SWEEPS):
        for axis in range(len(shape)):
            rest = tuple(other for other in range(len(shape)) if other != axis)
            now = table.sum(axis=rest, keepdims=True)
            sums = wanted.sum(axis=rest, keepdims=True)
            table *= np.divide(sums, now, out=np.ones(now.shape), where=now > 0.0)
    return table.reshape(-1)
