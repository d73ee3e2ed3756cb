"""Rows: the exact expansion of whole counts, in cell order, in blocks of bounded memory.

What is drawn for them comes from the public stream, one word for each row and column. Nothing in
it protects anybody: its seed is derived from the published measurements, and anyone can repeat
every draw; that is what makes the rows verifiable.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth import progress
from synth.domain.counts import Counts
from synth.release.rows.columns import Column

BLOCK_ROWS = 1 << 17
"""Rows in one block: also the row group of the Parquet file."""

ROW_ORDER = (
    "rows are sorted by the number of their cell (the first column varies slowest, levels and "
    "bins in declared order, missing last); rows of one cell stand together; the order "
    "carries nothing that the counts do not"
)
WORDS_PER_COUNTER = 4
"""Philox 4x64 makes four 64-bit words from one counter value."""


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


def row_words(seed: int, *, column: int, start: int, count: int) -> NDArray[np.uint64]:
    """The 64-bit words of rows start, ..., start + count - 1 of one column.

    Ensures: the word of row i depends on (seed, column, i) alone, whatever the block it is
    drawn in. The Philox key is the first 128 bits of SHA-256 over "seed:column"; row i is word
    i mod 4 of counter i div 4.
    """
    digest = hashlib.sha256(f"{seed}:{column}".encode()).digest()
    stream = np.random.Philox(key=int.from_bytes(digest[:16], "little"))
    counter, skip = divmod(start, WORDS_PER_COUNTER)
    stream.advance(counter)
    words: NDArray[np.uint64] = stream.random_raw(skip + count)[skip:]
    return words


def scale_words(words: NDArray[np.uint64], widths: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The whole numbers floor(word * width / 2**64), each in 0, ..., width - 1.

    The upper half of the 128-bit product, in exact integer arithmetic. Each of the `width`
    outcomes has a probability within 2**-64 of 1 / width.
    """
    low_half, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    word_high, word_low = words >> half, words & low_half
    width_high, width_low = widths >> half, widths & low_half
    middle = word_high * width_low + (word_low * width_low >> half)
    carry = word_low * width_high + (middle & low_half)
    scaled: NDArray[np.uint64] = word_high * width_high + (middle >> half) + (carry >> half)
    return scaled
