"""Counts: the whole numbers of records of a universe, as the cells that are not empty.

Cells of a universe of any size have their numbers as columns of 64-bit words that compare like
the numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth.domain.universe import Conjunction, Margin, Universe

LARGEST_WORD = 2**63
"""The product of the sizes of the attributes in one word is at most this."""


def word_axes(shape: Sequence[int]) -> list[tuple[int, int]]:
    """The attributes of every word as (first, end): runs of neighbours, the first most significant.

    Ensures: a universe of at most 2^63 cells has one word, the cell number itself.
    """
    runs: list[tuple[int, int]] = []
    first, product = 0, 1
    for axis, size in enumerate(shape):
        if product * size > LARGEST_WORD:
            runs.append((first, axis))
            first, product = axis, 1
        product *= size
    runs.append((first, len(shape)))
    return runs


def cell_words(columns: Sequence[NDArray[Any]], shape: Sequence[int]) -> list[NDArray[np.int64]]:
    """The words of every cell, most significant first; `columns` holds one array per attribute."""
    words = []
    for first, end in word_axes(shape):
        word = np.zeros(len(columns[0]) if columns else 0, dtype=np.int64)
        for axis in range(first, end):
            word *= shape[axis]
            word += columns[axis]
        words.append(word)
    return words


def cell_order(words: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """The order that sorts cells by their number; equal cells stay in their order."""
    order = np.argsort(words[0])
    first = words[0][order]
    tied = np.zeros(len(order), dtype=bool)
    same = first[1:] == first[:-1]
    tied[1:] |= same
    tied[:-1] |= same
    places = np.flatnonzero(tied)
    if places.size:  # the sort above is not stable, so ties are put in order again
        rows = order[places]
        keys = [rows, *(word[rows] for word in reversed(words))]
        order[places] = rows[np.lexsort(tuple(keys))]
    return order


def new_cells(words: Sequence[NDArray[np.int64]]) -> NDArray[np.bool_]:
    """For cells in order: whether each one differs from the one before."""
    changed = np.zeros(len(words[0]), dtype=bool)
    changed[:1] = True
    for word in words:
        changed[1:] |= word[1:] != word[:-1]
    return changed


def goes_back(words: Sequence[NDArray[np.int64]]) -> NDArray[np.bool_]:
    """For every cell but the first: whether its number is smaller than that of the one before."""
    back = np.zeros(len(words[0]) - 1, dtype=bool)
    equal = np.ones(len(words[0]) - 1, dtype=bool)
    for word in words:
        back |= equal & (word[1:] < word[:-1])
        equal &= word[1:] == word[:-1]
    return back


def code_type(shape: Sequence[int]) -> type[np.unsignedinteger[Any]]:
    """The narrowest unsigned type that holds every code."""
    largest = max(shape, default=1) - 1
    for kind in (np.uint8, np.uint16):
        if largest <= np.iinfo(kind).max:
            return kind
    return np.uint32


def find_cells(
    words: Sequence[NDArray[np.int64]], wanted: Sequence[NDArray[np.int64]]
) -> NDArray[np.int64]:
    """The place of every wanted cell among cells in order, each there once; -1 if it is not there.

    Binary search for all of them at once, word by word.
    """
    size, number = len(words[0]), len(wanted[0])
    low, high = np.zeros(number, dtype=np.int64), np.full(number, size, dtype=np.int64)
    for _ in range(size.bit_length()):
        searching = low < high
        middle = np.minimum((low + high) // 2, max(size - 1, 0))
        below = np.zeros(number, dtype=bool)
        equal = np.ones(number, dtype=bool)
        for word, want in zip(words, wanted, strict=True):
            here = word[middle] if size else np.zeros(number, dtype=np.int64)
            below |= equal & (here < want)
            equal &= here == want
        low = np.where(searching & below, middle + 1, low)
        high = np.where(searching & ~below, middle, high)
    place = np.minimum(low, max(size - 1, 0))
    found = low < size
    for word, want in zip(words, wanted, strict=True):
        if size:
            found &= word[place] == want
    return np.where(found, place, -1)


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
        sums = np.zeros(margin.cells(universe), dtype=np.int64)
        np.add.at(sums, margin_cells(self.columns, universe, margin), self.values)
        return sums

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
