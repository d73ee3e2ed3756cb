"""What the page shows of the rows: counts of every column, and how columns go together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from synth.domain.sparse_counts import SparseCounts
from synth.release.manifest.residuals import nested_sums
from synth.release.page.association import cramers_v
from synth.release.rows import RowCounts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_COMPARED = 30
"""Associations are shown of the first so many columns."""

MOST_VISITS = 10**9
"""Cells looked at for all pairs of columns; where it would be more, fewer columns are compared."""

PAIR_TABLE_CELLS = 1 << 22
"""A larger table of two columns is kept as the list of its occupied cells."""


@dataclass(frozen=True)
class Summary:
    """Counts by column, and associations of the first columns.

    Shapes and units: `singles[i]` has one count per code of column i, in records;
    `associations[i][j]`, j < i, is Cramer's V, from 0 to 1, or None where it is not defined.
    """

    singles: tuple[tuple[int, ...], ...]
    associations: tuple[tuple[float | None, ...], ...]

    @property
    def compared(self) -> int:
        """How many columns, from the first, were compared with one another."""
        return len(self.associations)


def summarise(counts: RowCounts, shape: tuple[int, ...]) -> Summary:
    """Count the rows by every column, and compare the first columns pair by pair.

    Privacy: post-processing of the published counts.
    Shapes and units: `counts` in records, as `row_blocks` takes them; `shape` is the universe's.
    Ensures: the same numbers, to the last digit, wherever arithmetic is that of IEEE 754.
    """
    if isinstance(counts, SparseCounts):
        return _of_listed(counts, shape)
    return _of_all(counts, shape)


def _of_all(counts: NDArray[np.int64], shape: tuple[int, ...]) -> Summary:
    compared = min(len(shape), MOST_COMPARED)
    pairs = [(low, high) for high in range(compared) for low in range(high)]
    sums = nested_sums(counts.reshape(shape), [*((axis,) for axis in range(len(shape))), *pairs])
    return Summary(
        tuple(tuple(sums[axis,].tolist()) for axis in range(len(shape))),
        tuple(
            tuple(_of_table(sums[low, high].reshape(-1), shape[high]) for low in range(high))
            for high in range(compared)
        ),
    )


def _of_listed(counts: SparseCounts, shape: tuple[int, ...]) -> Summary:
    compared = min(len(shape), MOST_COMPARED)
    while math.comb(compared, 2) * len(counts.values) > MOST_VISITS and compared > 1:
        compared -= 1
    return Summary(
        tuple(
            tuple(_sums(column, counts.values, size).tolist())
            for column, size in zip(counts.columns, shape, strict=True)
        ),
        tuple(
            tuple(_of_pair(counts, low, high, shape) for low in range(high))
            for high in range(compared)
        ),
    )


def _of_pair(counts: SparseCounts, low: int, high: int, shape: tuple[int, ...]) -> float | None:
    import numpy as np

    width = shape[high]
    cells = counts.columns[low].astype(np.int64) * width + counts.columns[high]
    if shape[low] * width <= PAIR_TABLE_CELLS:
        return _of_table(_sums(cells, counts.values, shape[low] * width), width)
    occupied, places = np.unique(cells, return_inverse=True)
    return cramers_v(
        occupied // width, occupied % width, _sums(places, counts.values, len(occupied))
    )


def _of_table(table: NDArray[np.int64], width: int) -> float | None:
    import numpy as np

    occupied = np.flatnonzero(table)
    return cramers_v(occupied // width, occupied % width, table[occupied])


def _sums(codes: NDArray[Any], values: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Records by code; exact, for sums stay far below 2^53."""
    import numpy as np

    return np.bincount(codes, weights=values, minlength=size).astype(np.int64)
