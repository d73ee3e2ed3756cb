"""Rounding of a large universe: whole counts of the cells that are not empty."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from synth.domain.counts import Counts
from synth.domain.totals import Atoms
from synth.estimate.blockwise_pass import Cells
from synth.estimate.blockwise_terms import Term
from synth.estimate.raking import whole_totals_near

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BITS = 30
"""Values are whole numbers of 2^-30 records before they are added up, so sums are exact."""
ONE = 1 << BITS


def round_blockwise(cells: Cells, term: Term, seed: int) -> Counts:
    """Systematic rounding in cell order, as in `rounding.round_counts`, one block after another.

    Ensures: counts of impossible cells are 0 and required totals hold exactly. Running sums are
    those of whole numbers, so the result is the same for any size of the blocks and any number
    of threads, given the values.
    """
    generator = np.random.Generator(np.random.Philox(seed))
    if cells.rules.atoms is None:
        found = _without_totals(cells, term, float(generator.random()))
    else:
        masses = np.zeros(cells.rules.atoms.count, dtype=np.int64)
        for first, values in cells.blocks([term]):
            atom_of = cells.atoms_of(first, values.size)
            units, inside = _units(values, atom_of)
            np.add.at(masses, atom_of[inside], units[inside])
        whole = _whole_totals(cells.rules.atoms, masses)
        offsets = generator.random(masses.size)
        found = _with_totals(cells, term, masses, whole, offsets)
    parts = list(found)
    universe = cells.groups.universe
    numbers = np.concatenate([np.zeros(0, dtype=np.int64), *(part[0] for part in parts)])
    counts = np.concatenate([np.zeros(0, dtype=np.int64), *(part[1] for part in parts)])
    return Counts.of_cells(numbers, counts, universe.shape)


def _without_totals(cells: Cells, term: Term, u: float) -> Iterator[tuple[Ints, Ints]]:
    """out_i = floor(C_i + u) - floor(C_{i-1} + u), C the running sum over all cells."""
    carry = int(u * ONE)
    for first, values in cells.blocks([term]):
        values *= ONE
        running = np.rint(values, out=values).astype(np.int64)
        np.cumsum(running, out=running)
        running += carry
        before, carry = carry >> BITS, int(running[-1])
        running >>= BITS
        places = np.flatnonzero(np.diff(running, prepend=before))
        reached = running[places]
        yield places + first, np.diff(reached, prepend=before)


def _whole_totals(atoms: Atoms, masses: Ints) -> Ints:
    """Whole totals of the atoms that meet the required totals, nearest to these masses."""
    return whole_totals_near(atoms, masses / ONE)


def _units(values: Floats, atom_of: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """The values in units, at least one in every possible cell, so that no atom has no mass."""
    inside = atom_of >= 0
    units = np.where(inside, np.rint(values * ONE).astype(np.int64) + 1, 0)
    return units, inside


def _with_totals(
    cells: Cells, term: Term, masses: Ints, whole: Ints, offsets: Floats
) -> Iterator[tuple[Ints, Ints]]:
    """The same inside every atom, scaled to its whole total, which is then met exactly."""
    carry = np.zeros(masses.size, dtype=np.int64)
    scale = whole / np.maximum(masses, 1)
    for first, values in cells.blocks([term]):
        atom_of = cells.atoms_of(first, values.size)
        units, inside = _units(values, atom_of)
        order = np.flatnonzero(inside)
        if masses.size > 1:
            order = order[np.argsort(atom_of[order], kind="stable")]
        atom, units = atom_of[order], units[order]
        if not order.size:
            continue
        running = np.cumsum(units)
        starts = np.flatnonzero(np.diff(atom, prepend=-1))
        present = atom[starts]
        begun = running[starts] - units[starts]
        sizes = np.diff(starts, append=order.size)
        running += np.repeat(carry[present] - begun, sizes)

        def reached(mass: Ints, of: Ints) -> Ints:
            exact = np.minimum(np.floor(mass * scale[of] + offsets[of]), whole[of])
            return np.where(mass >= masses[of], whole[of], exact.astype(np.int64))

        level = reached(running, atom)
        counts = np.diff(level, prepend=0)
        counts[starts] = level[starts] - reached(carry[present], present)
        carry[present] = running[np.append(starts[1:], order.size) - 1]
        kept = np.flatnonzero(counts)
        kept = kept[np.argsort(order[kept], kind="stable")]
        yield order[kept] + first, counts[kept]
