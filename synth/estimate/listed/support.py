"""The support: cells drawn from the tree in an even, repeatable way, beside the listed ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth import progress
from synth.config import Config
from synth.domain import PublicTotal, Universe
from synth.domain.cell_words import cell_order, cell_words, code_type, new_cells
from synth.domain.counts import Counts, is_possible
from synth.domain.totals import Atoms, atoms_of, coarsen, code_groups
from synth.estimate.listed.tree import Tree
from synth.estimate.rounding import required_totals

Floats = NDArray[np.float64]

MOST_POINTS = 4_000_000
"""The most points that are drawn; with more records each point stands for several."""
_MOST_DRAWS = 8
"""How often points are drawn anew where impossible cells leave too few."""
_BLOCK = 1 << 16
_THREADS = 2


@dataclass(frozen=True, eq=False)
class Support:
    """The cells that may hold records, in ascending order, and their weights.

    Shapes and units: `columns[j]` is the code of attribute j of every cell, in a narrow unsigned
    type; `values` float64, records. `listed` marks those whose count is known from the universe
    table.
    """

    columns: tuple[NDArray[Any], ...]
    values: Floats
    listed: NDArray[np.bool_]

    @staticmethod
    def of(counts: Counts) -> Support:
        """The cells of whole counts."""
        values = counts.values.astype(np.float64)
        return Support(counts.columns, values, np.zeros(values.size, dtype=bool))

    def with_values(self, values: Floats) -> Support:
        """The same cells with other weights."""
        return replace(self, values=values)


def spread(
    tree: Tree,
    universe: Universe,
    seed: int,
    *,
    listed: Sequence[NDArray[Any]],
    counts: Floats,
) -> Support:
    """The listed cells with these counts, and the records of the tree over other cells.

    Ensures: possible cells only, none twice, and none drawn that is listed; the drawn ones share
    the tree's total by how often they were drawn. Deterministic given the seed.
    """
    kind = code_type(universe.shape)
    points = min(round(tree.total), MOST_POINTS)
    drawn = _possible_points(tree, universe, seed, points)
    columns = [
        np.concatenate([np.asarray(known).astype(kind), fresh])
        for known, fresh in zip(listed, drawn, strict=True)
    ]
    hits = np.ones(len(columns[0]))
    hits[: counts.size] = 0.0
    words = cell_words(columns, universe.shape)
    order = cell_order(words)
    first = np.flatnonzero(new_cells([word[order] for word in words]))
    cells = order[first]  # of equal cells the first, which is the listed one if there is one
    weights = np.add.reduceat(hits[order], first) if first.size else np.zeros(0)
    is_listed = cells < counts.size
    weights[is_listed] = 0.0
    mass = float(weights.sum())
    values = weights * (tree.total / mass) if mass > 0.0 else weights
    values[is_listed] = counts[cells[is_listed]]
    return Support(tuple(column[cells] for column in columns), values, is_listed)


def _possible_points(tree: Tree, universe: Universe, seed: int, points: int) -> list[NDArray[Any]]:
    """About this many points on possible cells, in the order of the sequence."""
    parts: list[list[NDArray[Any]]] = [drawn_points(tree, universe, seed, 0, points)]
    if universe.impossible:
        start, kept = points, 0
        for draw in range(_MOST_DRAWS):
            keep = is_possible(parts[-1], universe)
            parts[-1] = [column[keep] for column in parts[-1]]
            kept += int(keep.sum())
            if kept >= points or draw == _MOST_DRAWS - 1:
                break
            more = min(points, math.ceil((points - kept) * start / max(kept, 1)))
            parts.append(drawn_points(tree, universe, seed, start, more))
            start += more
    return [np.concatenate(column)[:points] for column in zip(*parts, strict=True)]


def drawn_points(
    tree: Tree, universe: Universe, seed: int, start: int, points: int
) -> list[NDArray[Any]]:
    """Points start, ..., start + points - 1 of the sequence, mapped through the laws of the tree.

    In the order of the tree, the number of the point for an attribute (`even_numbers`) chooses the
    code by the law that the parent's code gives (Rosenblatt 1952).
    """
    kind = code_type(universe.shape)
    columns: list[NDArray[Any]] = [np.zeros(points, dtype=kind) for _ in universe.shape]
    shifts = np.random.Philox(key=seed).random_raw(len(columns))
    steps = steady_steps(len(columns))
    laws = [Inverse.of(branch.law) for branch in tree.branches]

    def draw(low: int) -> None:
        block = slice(low, min(low + _BLOCK, points))
        numbers = np.arange(start + block.start, start + block.stop, dtype=np.uint64)
        for branch, law in zip(tree.branches, laws, strict=True):
            words = numbers * np.uint64(steps[branch.axis]) + shifts[branch.axis]
            parent = None if branch.parent is None else columns[branch.parent][block]
            columns[branch.axis][block] = law.codes(words, parent)

    with ThreadPoolExecutor(_THREADS) as pool:  # blocks do not depend on each other
        for number, _ in enumerate(pool.map(draw, range(0, points, _BLOCK)), start=1):
            progress.advance(min(number * _BLOCK, points), points, "cells")
    return columns


# Evenly spread points: a sequence of numbers per attribute, and codes chosen by them.
#
# A Kronecker sequence: point i has for attribute j the number u = frac(i alpha_j + s_j). It fills
# the unit cube more evenly than chance (Kuipers, Niederreiter 1974), unless whole multiples of two
# alphas nearly agree; such alphas are passed over. All of it in whole numbers of 64 bits.
#


BUCKETS = 1 << 12
_SHIFT = np.uint64(64 - 12)
_LAST = np.uint64(2**64 - 1)
_MULTIPLES = 12
"""Multiples of two alphas up to this one are compared."""
_LEAST_APART = 1e-3
"""How far k alpha and l beta must be apart, around the circle, times k l; less for many alphas."""
_APART_FOR_ALL = 0.03


@lru_cache(maxsize=8)
def steady_steps(number: int) -> tuple[int, ...]:
    """The alphas times 2^64: fractional parts of square roots of primes, the first that are fit."""
    least = min(_LEAST_APART, _APART_FOR_ALL / max(1, number)) * 2.0**64
    multiples = np.arange(1, _MULTIPLES + 1, dtype=np.uint64)
    taken = np.zeros((0, _MULTIPLES), dtype=np.uint64)
    steps: list[int] = []
    for prime in _primes():
        if len(steps) == number:
            break
        step = math.isqrt(prime << 128) % (1 << 64)
        own = np.uint64(step) * multiples
        products = multiples[:, None] * multiples
        fit = True
        for difference in (
            taken[:, :, None] - own[None, None, :],
            taken[:, :, None] + own[None, None, :],
        ):
            apart = np.minimum(difference, np.uint64(0) - difference).astype(np.float64)
            fit = fit and bool((apart * products >= least).all())
        if fit:
            steps.append(step)
            taken = np.vstack([taken, own])
    return tuple(steps)


def _primes() -> Iterator[int]:
    return (n for n in count(2) if all(n % d for d in range(2, math.isqrt(n) + 1)))


@dataclass(frozen=True, eq=False)
class Inverse:
    """The inverse of a distribution function, one for every code of a parent.

    `first[row, b]` is the smallest code that a number in bucket b = [b, b + 1) / BUCKETS can get,
    `ends[row, code]` where the part of a code ends, in units of 2^-64. Both flat, row by row.
    """

    first: NDArray[Any]
    ends: NDArray[np.uint64]
    size: int

    @staticmethod
    def of(law: Floats) -> Inverse:
        """Tabulate; every row of `law` sums to about one."""
        running = np.cumsum(law, axis=1)
        share = np.minimum(running / running[:, -1:], 1.0)
        ends = (np.minimum(share, 1.0 - 2.0**-53) * 2.0**64).astype(np.uint64)
        # No number is beyond the last code that has a chance.
        ends[running >= running[:, -1:]] = _LAST
        starts = (np.arange(BUCKETS, dtype=np.uint64)) << _SHIFT
        kind = np.uint8 if law.shape[1] <= 256 else np.uint32
        first = np.stack([np.searchsorted(row, starts, side="right") for row in ends])
        return Inverse(first.astype(kind).reshape(-1), ends.reshape(-1), law.shape[1])

    def codes(self, words: NDArray[np.uint64], parent: NDArray[Any] | None) -> NDArray[np.int64]:
        """The code that every number words / 2^64 chooses: the first whose end is above it."""
        words = np.minimum(words, _LAST - np.uint64(1))
        bucket = (words >> _SHIFT).astype(np.int64)
        if parent is None:
            row = np.zeros(1, dtype=np.int64)
        else:
            row = parent.astype(np.int64)
            bucket += row * BUCKETS
        found = self.first.take(bucket).astype(np.int64) + row * self.size
        open_ones = np.flatnonzero(words >= self.ends.take(found))
        while open_ones.size:
            found[open_ones] += 1
            still = words[open_ones] >= self.ends.take(found[open_ones])
            open_ones = open_ones[still]
        return np.asarray(found - row * self.size)


# Public totals where the universe cannot be held: their atoms, on the cells of the support.


Ints = NDArray[np.int64]

CELLS_FOR_AN_ATOM = 64
"""Where no cell of the support lies in an atom, as many are added, taken from the support."""


def with_atoms(support: Support, config: Config) -> tuple[Support, Atoms | None]:
    """The support and the atoms of its cells; None if no total is required.

    Cells of weight zero are added for atoms in which there is none, since a total may ask for
    records there: cells of the support, spread over it, with the codes that the totals tell apart
    replaced. Where impossible rules forbid all of them, one possible cell is enough.
    """
    totals = required_totals(config)
    if not totals:
        return support, None
    universe = config.universe
    small, wheres = coarsen(universe, [total.where for total in totals])
    moved = [
        PublicTotal(where, total.total, total.source)
        for where, total in zip(wheres, totals, strict=True)
    ]
    atoms = atoms_of(small, moved)
    sets = [total.where for total in totals]
    groups = {name: np.array(group) for name, group in code_groups(universe, sets).items()}
    atom_of = _atom_of(support.columns, universe, small, groups, atoms)
    present = np.bincount(atom_of[atom_of >= 0], minlength=atoms.count) > 0
    missing = np.flatnonzero(~present)
    if missing.size:
        support = _extended(support, universe, small, groups, atoms, missing)
        atom_of = _atom_of(support.columns, universe, small, groups, atoms)
    return support, Atoms(atom_of, atoms.membership, atoms.totals)


def _atom_of(
    columns: Sequence[NDArray[Any]],
    universe: Universe,
    small: Universe,
    groups: dict[str, Ints],
    atoms: Atoms,
) -> Ints:
    """The atom of every given cell."""
    cells = np.zeros(len(columns[0]), dtype=np.int64)
    for attribute, stride in zip(small.attributes, small.strides, strict=False):
        codes = columns[universe.names.index(attribute.name)]
        cells += groups[attribute.name][codes] * stride
    return atoms.atom_of[cells]


def _extended(
    support: Support,
    universe: Universe,
    small: Universe,
    groups: dict[str, Ints],
    atoms: Atoms,
    missing: Ints,
) -> Support:
    """The support with cells of weight zero in the atoms that are missing."""
    have = len(support.columns[0])
    if have:
        pattern = np.unique(np.linspace(0, have - 1, min(have, CELLS_FOR_AN_ATOM)).astype(np.int64))
        base = [column[pattern] for column in support.columns]
    else:
        base = [np.zeros(1, dtype=column.dtype) for column in support.columns]
    parts: list[list[NDArray[Any]]] = []
    for atom in missing:
        small_cell = np.array([int(np.flatnonzero(atoms.atom_of == atom)[0])])
        own = [column.copy() for column in base]
        for attribute, code in zip(small.attributes, small.codes(small_cell), strict=True):
            axis = universe.names.index(attribute.name)
            own[axis][:] = int(np.flatnonzero(groups[attribute.name] == int(code[0]))[0])
        parts.append(own)
    columns = [
        np.concatenate([old, *new])
        for old, new in zip(support.columns, zip(*parts, strict=True), strict=True)
    ]
    values = np.concatenate([support.values, np.zeros(len(columns[0]) - have)])
    listed = np.concatenate([support.listed, np.zeros(len(columns[0]) - have, dtype=bool)])
    words = cell_words(columns, universe.shape)
    order = cell_order(words)
    cells = order[new_cells([word[order] for word in words])]
    return Support(tuple(column[cells] for column in columns), values[cells], listed[cells])
