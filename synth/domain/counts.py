"""Counts: the whole numbers of records of a universe, as the cells that are not empty."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth.domain.cell_words import cell_order, cell_words, code_type, find_cells, new_cells
from synth.domain.margin import Margin
from synth.domain.universe import Conjunction, Universe


@dataclass(frozen=True, eq=False)
class Counts:
    """Whole counts of the cells that are not empty; small for a universe of any size.

    Shapes and units: `columns[j]` holds the code of attribute j for every cell, in an unsigned
    type; cells ascend by number, each once; `values` is int64, records, > 0.
    """

    columns: tuple[NDArray[Any], ...]
    values: NDArray[np.int64]

    @classmethod
    def of_cells(
        cls, cells: NDArray[np.int64], values: NDArray[np.int64], shape: Sequence[int]
    ) -> Counts:
        """The counts of cells given by their numbers, ascending.

        Requires: a universe of less than 2^63 cells.
        """
        kind = code_type(shape)
        columns = []
        for axis, size in enumerate(shape):
            code = cells // math.prod(shape[axis + 1 :])
            code %= size
            columns.append(code.astype(kind))
        return cls(tuple(columns), values)

    @classmethod
    def of_all(cls, values: NDArray[np.int64], shape: Sequence[int]) -> Counts:
        """The counts of all cells of a universe, given one after another."""
        cells = np.flatnonzero(values)
        return cls.of_cells(cells, values.reshape(-1)[cells], shape)

    def of_every_cell(self, shape: Sequence[int]) -> NDArray[np.int64]:
        """The counts of all cells, flat in cell order. Requires: a universe that can be held."""
        every = np.zeros(math.prod(shape), dtype=np.int64)
        every[cell_words(self.columns, shape)[0]] = self.values
        return every

    def sums(self, universe: Universe, margin: Margin) -> NDArray[np.int64]:
        """The records in every cell of the margin, flat in C order."""
        return margin_sums(self.columns, self.values, universe, margin).astype(np.int64)

    def inside(self, universe: Universe, conjunction: Conjunction) -> int:
        """The records in the cells of the conjunction."""
        return int(self.values[inside(self.columns, universe, conjunction)].sum())

    @property
    def total(self) -> int:
        """The number of records."""
        return int(self.values.sum())

    def at(self, columns: Sequence[NDArray[Any]], shape: Sequence[int]) -> NDArray[np.int64]:
        """The counts of the given cells; 0 for those that are empty."""
        places = find_cells(cell_words(self.columns, shape), cell_words(columns, shape))
        if not len(self.values):
            return np.zeros(len(places), dtype=np.int64)
        return np.where(places >= 0, self.values[places], 0)

    def plus(self, other: Counts, shape: Sequence[int]) -> Counts:
        """The records of both."""
        columns, own, others = _side_by_side(self, other, shape)
        return Counts(columns, own + others)


@dataclass(frozen=True, eq=False)
class Difference:
    """The cells in which two tables differ, ascending, and what each table has there."""

    columns: tuple[NDArray[Any], ...]
    found: NDArray[np.int64]
    expected: NDArray[np.int64]

    @property
    def apart(self) -> NDArray[np.int64]:
        """How far the counts are apart in every such cell."""
        return abs(self.found - self.expected)


def difference(found: Counts, expected: Counts, shape: Sequence[int]) -> Difference:
    """Compare two tables of one universe."""
    if np.array_equal(found.values, expected.values) and all(
        map(np.array_equal, found.columns, expected.columns)
    ):
        none = np.zeros(0, dtype=np.int64)
        return Difference((none,) * len(shape), none, none)
    columns, left, right = _side_by_side(found, expected, shape)
    differ = left != right
    return Difference(tuple(column[differ] for column in columns), left[differ], right[differ])


def _side_by_side(
    one: Counts, other: Counts, shape: Sequence[int]
) -> tuple[tuple[NDArray[Any], ...], NDArray[np.int64], NDArray[np.int64]]:
    """The cells that are not empty in one of two tables, ascending, with the counts of each."""
    columns = [np.concatenate(pair) for pair in zip(one.columns, other.columns, strict=True)]
    left = np.concatenate([one.values, np.zeros_like(other.values)])
    right = np.concatenate([np.zeros_like(one.values), other.values])
    words = cell_words(columns, shape)
    order = cell_order(words)
    starts = np.flatnonzero(new_cells([word[order] for word in words]))
    if starts.size:
        left, right = (np.add.reduceat(values[order], starts) for values in (left, right))
    cells = order[starts]
    return tuple(column[cells] for column in columns), left, right


def inside(
    columns: Sequence[NDArray[Any]], universe: Universe, conjunction: Conjunction
) -> NDArray[np.bool_]:
    """For cells given by their codes: whether each one belongs to the conjunction."""
    found = np.ones(len(columns[0]), dtype=bool)
    for name, codes in conjunction.codes.items():
        axis = universe.names.index(name)
        member = np.zeros(universe.shape[axis], dtype=bool)
        member[list(codes)] = True
        found &= member[columns[axis]]
    return found


def is_possible(columns: Sequence[NDArray[Any]], universe: Universe) -> NDArray[np.bool_]:
    """For cells given by their codes: whether no impossible rule applies."""
    found = np.ones(len(columns[0]), dtype=bool)
    for rule in universe.impossible:
        found &= ~inside(columns, universe, rule)
    return found


def margin_cells(
    columns: Sequence[NDArray[Any]], universe: Universe, margin: Margin
) -> NDArray[np.int64]:
    """The number of the margin's cell into which every cell falls."""
    found = np.zeros(len(columns[0]), dtype=np.int64)
    for name, step, size in zip(
        margin.names, margin.coarsening, margin.shape(universe), strict=True
    ):
        axis = universe.names.index(name)
        found *= size
        codes = columns[axis]
        if step:
            codes = np.asarray(universe.attributes[axis].hierarchy[-step].group_of)[codes]
        found += codes
    return found


def margin_sums(
    columns: Sequence[NDArray[Any]],
    values: NDArray[Any],
    universe: Universe,
    margin: Margin,
) -> NDArray[np.float64]:
    """The sums of the values over the cells of the margin, flat in C order.

    Rounding: exact for whole numbers with sums below 2^53.
    """
    cells = margin_cells(columns, universe, margin)
    sums = np.bincount(cells, weights=values, minlength=margin.cells(universe))
    return np.asarray(sums, dtype=np.float64)
