"""What the page shows of the rows: counts of every column, and how columns go together.

Of two columns that is Cramer's V, and the typical count of their table: half of all rows have a
combination of values that at least so many rows have. Empty combinations do not count in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth.domain.counts import Counts

MOST_COMPARED = 30
"""Associations are shown of the first so many columns."""

MOST_VISITS = 10**9
"""Cells looked at for all pairs of columns; where it would be more, fewer columns are compared."""

GROUP_CELLS = 1 << 8
"""Neighbouring columns are counted together while their table has at most so many cells."""

BLOCK_CELLS = 1 << 15
"""Cells of the list that are looked at together, if the table is not larger."""

PAIR_TABLE_CELLS = 1 << 22
"""A larger table of two columns is kept as the list of its occupied cells."""

Pair = tuple[int, int]


@dataclass(frozen=True)
class PairSummary:
    """Two columns: Cramer's V, from 0 to 1 or None if undefined, and a typical count in records."""

    association: float | None
    typical_count: int


@dataclass(frozen=True)
class Summary:
    """Counts by column, and the pairs of the first columns.

    Shapes and units: `singles[i]` has one count per code of column i, in records;
    `pairs[i][j]`, j < i, is about the columns j and i.
    """

    singles: tuple[tuple[int, ...], ...]
    pairs: tuple[tuple[PairSummary, ...], ...]

    @property
    def compared(self) -> int:
        """How many columns, from the first, were compared with one another."""
        return len(self.pairs)


def summarise(counts: Counts, shape: tuple[int, ...]) -> Summary:
    """Count the rows by every column, and compare the first columns pair by pair.

    Privacy: post-processing of the published counts.
    Shapes and units: `counts` in records; `shape` is the universe's.
    Ensures: the same numbers, to the last digit, wherever arithmetic is that of IEEE 754.
    """
    compared = min(len(shape), MOST_COMPARED)
    while passes(shape[:compared]) * len(counts.values) > MOST_VISITS and compared > 1:
        compared -= 1
    pairs = listed_pairs(counts, shape, compared)
    return Summary(
        tuple(
            tuple(sums_by_code(column, counts.values, size).tolist())
            for column, size in zip(counts.columns, shape, strict=True)
        ),
        tuple(tuple(pairs[low, high] for low in range(high)) for high in range(compared)),
    )


def cramers_v(rows: NDArray[Any], columns: NDArray[Any], counts: NDArray[np.int64]) -> float | None:
    """Cramer's V of a table given by its occupied cells, corrected for bias; None if undefined.

    Formula (Bergsma 2013): with r rows and c columns that are not empty and n records,
    phi^2 = sum of n_ij^2 / (n_i n_j) - 1 - (r - 1)(c - 1)/(n - 1), at least 0, and
    V = sqrt(phi^2 / min(r' - 1, c' - 1)) with r' = r - (r - 1)^2/(n - 1), likewise c'.
    Requires: every count is positive.
    Ensures: the same digits on every machine: quotients are rounded one by one, their sum once.
    """
    n = int(counts.sum())
    if n < 2:
        return None
    row_sums = np.bincount(rows, weights=counts)
    column_sums = np.bincount(columns, weights=counts)
    r, c = np.count_nonzero(row_sums), np.count_nonzero(column_sums)
    smaller = min(size - (size - 1) ** 2 / (n - 1) for size in (r, c)) - 1
    if smaller <= 0:
        return None
    parts = (counts / row_sums[rows]) * (counts / column_sums[columns])
    phi_squared = math.fsum([*parts.tolist(), -1.0, -(r - 1) * (c - 1) / (n - 1)])
    return min(1.0, math.sqrt(max(0.0, phi_squared) / smaller))


def typical_count(counts: NDArray[np.int64]) -> int:
    """The largest count such that half of all records are in cells of at least that count.

    0 where there are none. An average cell would be nearly empty where levels are rare.
    """
    descending = np.sort(counts)[::-1]
    sums = np.cumsum(descending)
    if not len(sums) or not sums[-1]:
        return 0
    return int(descending[np.searchsorted(sums, (sums[-1] + 1) // 2)])


def pair_summary(table: NDArray[np.int64]) -> PairSummary:
    """Of a whole table of two columns."""
    rows, columns = np.nonzero(table)
    counts = table[rows, columns]
    return PairSummary(cramers_v(rows, columns, counts), typical_count(counts))


def listed_pairs(counts: Counts, shape: tuple[int, ...], compared: int) -> dict[Pair, PairSummary]:
    """All pairs (low, high) of the first `compared` columns."""
    groups = _groups(shape[:compared])
    codes = [_group_codes(counts, shape, group) for group in groups]
    weights = _weights(counts.values)
    sizes = [math.prod(shape[axis] for axis in group) for group in groups]
    found: dict[Pair, PairSummary] = {}
    for second, columns in enumerate(groups):
        table = _sums(codes[second : second + 1], sizes[second : second + 1], weights)
        found.update(_within(table, columns, shape))
        for first, others in enumerate(groups[:second]):
            size = sizes[first] * sizes[second]
            if size > PAIR_TABLE_CELLS:
                found.update(
                    ((low, high), _of_cells(counts, low, high, shape[high]))
                    for low, high in product(others, columns)
                )
            else:
                both = first, second
                table = _sums([codes[i] for i in both], [sizes[i] for i in both], weights)
                found.update(_within(table, (*others, *columns), shape))
    return found


def passes(shape: Sequence[int]) -> int:
    """How often `listed_pairs` looks at every cell."""
    groups = _groups(shape)
    found = len(groups)
    for first, second in combinations(groups, 2):
        both = (*first, *second)
        held = math.prod(shape[axis] for axis in both) <= PAIR_TABLE_CELLS
        found += 1 if held else len(first) * len(second)
    return found


def sums_by_code(codes: NDArray[Any], values: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Records by code; exact, for sums stay far below 2^53."""
    return np.bincount(codes, weights=values, minlength=size).astype(np.int64)


def _weights(values: NDArray[np.int64]) -> NDArray[np.float64] | None:
    """The records of every cell as `bincount` wants them; None if every cell has one."""
    return None if (values == 1).all() else values.astype(np.float64)


def _sums(
    codes: Sequence[NDArray[np.int64]], sizes: Sequence[int], weights: NDArray[np.float64] | None
) -> NDArray[np.int64]:
    """Records by the code of all groups together; see `sums_by_code`.

    Block by block, so that what is at hand stays in the cache of the processor.
    """
    size, number = math.prod(sizes), len(codes[0])
    block = max(BLOCK_CELLS, 4 * size)
    room = np.empty(min(block, number), dtype=np.int64)
    sums = np.zeros(size, dtype=np.int64)
    for start in range(0, number, block):
        part = slice(start, min(start + block, number))
        cells = codes[0][part]
        for further, width in zip(codes[1:], sizes[1:], strict=True):
            cells = np.multiply(cells, width, out=room[: len(cells)])
            cells += further[part]
        counted = np.bincount(cells, None if weights is None else weights[part], size)
        sums += counted.astype(np.int64, copy=False)
    return sums


def _groups(shape: Sequence[int]) -> list[tuple[int, ...]]:
    groups: list[tuple[int, ...]] = []
    for axis, size in enumerate(shape):
        if groups and math.prod(shape[each] for each in groups[-1]) * size <= GROUP_CELLS:
            groups[-1] = (*groups[-1], axis)
        else:
            groups.append((axis,))
    return groups


def _group_codes(
    counts: Counts, shape: tuple[int, ...], group: tuple[int, ...]
) -> NDArray[np.int64]:
    codes = counts.columns[group[0]].astype(np.int64)
    for axis in group[1:]:
        codes = codes * shape[axis] + counts.columns[axis]
    return codes


def _within(
    table: NDArray[np.int64], axes: tuple[int, ...], shape: tuple[int, ...]
) -> Iterator[tuple[Pair, PairSummary]]:
    """The pairs of the axes of a table."""
    whole = table.reshape([shape[axis] for axis in axes])
    for second, high in enumerate(axes):
        for first, low in enumerate(axes[:second]):
            rest = tuple(set(range(len(axes))) - {first, second})
            yield (low, high), pair_summary(whole.sum(axis=rest))


def _of_cells(counts: Counts, low: int, high: int, width: int) -> PairSummary:
    """Two columns, from the occupied cells of their table."""
    cells = counts.columns[low].astype(np.int64) * width + counts.columns[high]
    occupied, places = np.unique(cells, return_inverse=True)
    sums = sums_by_code(places, counts.values, len(occupied))
    association = cramers_v(occupied // width, occupied % width, sums)
    return PairSummary(association, typical_count(sums))
