"""Associations of all pairs of columns of a list of cells, in few passes over the list."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

from synth.domain.counts import Counts
from synth.release.page.association import association, cramers_v

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

GROUP_CELLS = 1 << 8
"""Neighbouring columns are counted together while their table has at most so many cells."""

BLOCK_CELLS = 1 << 15
"""Cells of the list that are looked at together, if the table is not larger."""

PAIR_TABLE_CELLS = 1 << 22
"""A larger table of two columns is kept as the list of its occupied cells."""

Pair = tuple[int, int]


def listed_associations(
    counts: Counts, shape: tuple[int, ...], compared: int
) -> dict[Pair, float | None]:
    """Cramer's V of all pairs (low, high) of the first `compared` columns."""
    groups = _groups(shape[:compared])
    codes = [_group_codes(counts, shape, group) for group in groups]
    weights = _weights(counts.values)
    sizes = [math.prod(shape[axis] for axis in group) for group in groups]
    found: dict[Pair, float | None] = {}
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
    """How often `listed_associations` looks at every cell."""
    groups = _groups(shape)
    found = len(groups)
    for first, second in combinations(groups, 2):
        both = (*first, *second)
        held = math.prod(shape[axis] for axis in both) <= PAIR_TABLE_CELLS
        found += 1 if held else len(first) * len(second)
    return found


def sums_by_code(codes: NDArray[Any], values: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Records by code; exact, for sums stay far below 2^53."""
    import numpy as np

    return np.bincount(codes, weights=values, minlength=size).astype(np.int64)


def _weights(values: NDArray[np.int64]) -> NDArray[np.float64] | None:
    """The records of every cell as `bincount` wants them; None if every cell has one."""
    import numpy as np

    return None if (values == 1).all() else values.astype(np.float64)


def _sums(
    codes: Sequence[NDArray[np.int64]], sizes: Sequence[int], weights: NDArray[np.float64] | None
) -> NDArray[np.int64]:
    """Records by the code of all groups together; see `sums_by_code`.

    Block by block, so that what is at hand stays in the cache of the processor.
    """
    import numpy as np

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
    import numpy as np

    codes = counts.columns[group[0]].astype(np.int64)
    for axis in group[1:]:
        codes = codes * shape[axis] + counts.columns[axis]
    return codes


def _within(
    table: NDArray[np.int64], axes: tuple[int, ...], shape: tuple[int, ...]
) -> Iterator[tuple[Pair, float | None]]:
    """The pairs of the axes of a table."""
    whole = table.reshape([shape[axis] for axis in axes])
    for second, high in enumerate(axes):
        for first, low in enumerate(axes[:second]):
            rest = tuple(set(range(len(axes))) - {first, second})
            yield (low, high), association(whole.sum(axis=rest))


def _of_cells(counts: Counts, low: int, high: int, width: int) -> float | None:
    """The association of two columns from the occupied cells of their table."""
    import numpy as np

    cells = counts.columns[low].astype(np.int64) * width + counts.columns[high]
    occupied, places = np.unique(cells, return_inverse=True)
    sums = sums_by_code(places, counts.values, len(occupied))
    return cramers_v(occupied // width, occupied % width, sums)
