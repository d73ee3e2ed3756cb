"""Rows: the exact expansion of whole counts, in cell order, in blocks of bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from synth import progress
from synth.domain.counts import Counts
from synth.release.columns import Column
from synth.release.public_stream import row_words, scale_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BLOCK_ROWS = 1 << 17
"""Rows in one block: also the row group of the Parquet file."""

ROW_ORDER = (
    "rows are sorted by the number of their cell (the first column varies slowest, levels and "
    "bins in declared order, missing last); rows of one cell stand together; the order "
    "carries nothing that the counts do not"
)


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Consecutive rows: the number of the first one, and the code of every row and column.

    Codes are whole numbers of a type that holds those of the column, and perhaps little more.
    """

    start: int
    codes: list[NDArray[Any]]

    @property
    def size(self) -> int:
        """The number of rows of the block."""
        return len(self.codes[0])


def row_blocks(counts: Counts, *, block_rows: int = BLOCK_ROWS) -> Iterator[RowBlock]:
    """Expand the counts: every cell appears exactly as often as its count says."""
    import numpy as np

    repeats = counts.values
    ends = np.cumsum(repeats)
    total = int(ends[-1]) if len(ends) else 0
    for start in range(0, total, block_rows):
        stop = min(start + block_rows, total)
        low = int(np.searchsorted(ends, start, side="right"))
        high = int(np.searchsorted(ends, stop, side="left")) + 1
        inside = np.minimum(ends[low:high], stop) - np.maximum(
            ends[low:high] - repeats[low:high], start
        )
        if (inside == 1).all():  # as in most rows of a large universe
            yield RowBlock(start, [column[low:high] for column in counts.columns])
        else:
            codes = [np.repeat(column[low:high], inside) for column in counts.columns]
            yield RowBlock(start, codes)
        progress.advance(stop, total, "rows")


def grid_values(
    column: Column, codes: NDArray[Any], *, seed: int, position: int, start: int
) -> NDArray[np.int64]:
    """The whole numbers k that a numeric column publishes; 0 where the value is missing.

    `position` is the number of the column and `start` that of the first row.
    """
    import numpy as np

    first = np.array([*column.first, 0], dtype=np.int64)
    values: NDArray[np.int64] = first[codes]
    if column.is_random:
        spans = [high - low + 1 for low, high in zip(column.first, column.last, strict=True)]
        widths = np.array([*spans, 1], dtype=np.uint64)
        words = row_words(seed, column=position, start=start, count=len(codes))
        offsets = scale_words(words, widths[codes])
        values = (values.view(np.uint64) + offsets).view(np.int64)
    return values


def missing_mask(column: Column, codes: NDArray[Any]) -> NDArray[np.bool_]:
    """True where the row has no value in this column."""
    mask: NDArray[np.bool_] = codes == column.attribute.bin_count
    return mask


def column_names(columns: Sequence[Column]) -> list[str]:
    """The header of every data file."""
    return [column.name for column in columns]
