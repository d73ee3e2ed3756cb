"""Rows: the exact expansion of whole counts, in cell order, in blocks of bounded memory.

What is drawn for them comes from the public stream, one word for each row and column. Nothing in
it protects anybody: its seed is derived from the published measurements, and anyone can repeat
every draw; that is what makes the rows verifiable. A row's word depends on its cell and on its
place among the rows of that cell alone: rows that a later release of a series keeps keep their
values, whatever is added before them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
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
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2^64 over the golden ratio, made odd: what SplitMix64 adds for every number it draws."""


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Consecutive rows: the code of every row and column, and the row's place in its cell.

    Shapes and units: codes are whole numbers of a type that holds those of the column, and perhaps
    little more; `places` count the rows of every cell from 0.
    """

    codes: list[NDArray[Any]]
    places: NDArray[np.int64]

    @cached_property
    def cells(self) -> NDArray[np.uint64]:
        """For every row a number of its cell, made of the codes of all columns (mod 2^64)."""
        number = np.zeros(self.size, dtype=np.uint64)
        for codes in self.codes:
            number *= GOLDEN
            number += codes.astype(np.uint64)
            number += np.uint64(1)
        return number

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
        before = ends[low:high] - repeats[low:high]
        inside = np.minimum(ends[low:high], stop) - np.maximum(before, start)
        columns = [column[low:high] for column in counts.columns]
        if (inside != 1).any():  # else as in most rows of a large universe
            columns = [np.repeat(column, inside) for column in columns]
            before = np.repeat(before, inside)
        yield RowBlock(columns, np.arange(start, stop) - before)
        progress.advance(stop, total, "rows")


def grid_values(column: Column, block: RowBlock, *, seed: int, position: int) -> NDArray[np.int64]:
    """The whole numbers k that a numeric column publishes; 0 where the value is missing.

    `position` is the number of the column.
    """
    first = np.array([*column.first, 0], dtype=np.int64)
    codes = block.codes[position]
    values: NDArray[np.int64] = first[codes]
    if column.is_random:
        spans = [high - low + 1 for low, high in zip(column.first, column.last, strict=True)]
        widths = np.array([*spans, 1], dtype=np.uint64)
        words = row_words(seed, column=position, cells=block.cells, places=block.places)
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


def row_words(
    seed: int, *, column: int, cells: NDArray[np.uint64], places: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """The 64-bit words of some rows of one column.

    Ensures: the word depends on (seed, column, cell, place in the cell) alone. The rows of a cell
    have the numbers that SplitMix64 (Steele, Lea, Flood 2014) draws, one after another, from
    the state mixed(key + cell); the key is the first 8 bytes of SHA-256 over "seed:column".
    """
    digest = hashlib.sha256(f"{seed}:{column}".encode()).digest()
    state = mixed(cells + np.uint64(int.from_bytes(digest[:8], "little")))
    return mixed(state + (places.astype(np.uint64) + np.uint64(1)) * GOLDEN)


def mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The output function of SplitMix64: a permutation of the 64-bit words."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


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
