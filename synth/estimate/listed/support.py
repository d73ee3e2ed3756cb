"""The support: cells drawn from the model beside the listed ones, and the atoms of totals on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth import progress
from synth.config import Config
from synth.domain import PublicTotal, Universe
from synth.domain.counts import Counts, cell_order, cell_words, code_type, is_possible, new_cells
from synth.domain.totals import Atoms, atoms_of, coarsen, code_groups
from synth.estimate.listed.chosen import chosen_points
from synth.estimate.listed.classes import Classes
from synth.estimate.listed.points import drawn_points
from synth.estimate.rounding import required_totals
from synth.planning.costs import TRIED, Axes

Floats = NDArray[np.float64]

MOST_POINTS = 4_000_000
"""The most points that are drawn; with more records each point stands for several."""


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


def number_of_points(model: Classes) -> int:
    """How many points stand for the records of a model."""
    return min(round(model.total), MOST_POINTS)


def spread(
    model: Classes,
    universe: Universe,
    seed: int,
    *,
    listed: Sequence[NDArray[Any]],
    counts: Floats,
    chosen_by: Sequence[Axes] = (),
) -> Support:
    """The listed cells with these counts, and the records of the model over other cells.

    `chosen_by`: the tables that rows are chosen by (`tables_to_choose_by`); if there are none, all
    points that are drawn are taken.

    Ensures: possible cells only, none twice, and none drawn that is listed; the others share
    the model's total by how often they were taken. Deterministic given the seed.
    """
    kind = code_type(universe.shape)
    points = number_of_points(model) * (TRIED if chosen_by else 1)
    with progress.stage(progress.Stage.ESTIMATION, part=2, parts=3):
        drawn = _possible_points(model, universe, seed, points)
    if chosen_by:
        with progress.stage(progress.Stage.ESTIMATION, part=3, parts=3):
            drawn = chosen_points(drawn, universe.shape, chosen_by)
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
    values = weights * (model.total / mass) if mass > 0.0 else weights
    values[is_listed] = counts[cells[is_listed]]
    return Support(tuple(column[cells] for column in columns), values, is_listed)


def _possible_points(
    model: Classes, universe: Universe, seed: int, points: int
) -> list[NDArray[Any]]:
    """About so many points on possible cells."""
    columns = drawn_points(model, universe, seed, points)
    if not universe.impossible:
        return columns
    keep = is_possible(columns, universe)
    return [column[keep] for column in columns]


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
