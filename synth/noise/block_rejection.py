"""What becomes of the cells that the first look at a table of blocks leaves open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import numpy as np
from numpy.typing import NDArray

from synth.noise.block_table import HEIGHT_BITS, TAIL_WIDTH_BITS, BlockTable
from synth.noise.quantile_table import BUCKET_BITS, BUCKETS, WORD_BITS

_GUARD = 16
Words = Callable[[int, NDArray[np.int64]], NDArray[np.uint64]]
"""Gives the two words of a round for some of the cells, by their place among all of them."""


def reject_until_accepted(
    table: BlockTable, buckets: NDArray[np.uint16], offsets: NDArray[np.uint16], words: Words
) -> NDArray[np.int64]:
    """The values of cells from their first bucket and offset in the block, and further words.

    Round 0 takes its fraction from the second word of block 0; round k takes bucket and offset
    from the first word of block k and the fraction from the second. Where the 64 bits of a
    fraction do not decide, digit after digit is taken from the blocks that follow, and the cell
    goes on from there by itself.

    Ensures: every comparison is decided as by exact numbers.
    """
    values = np.zeros(len(buckets), dtype=np.int64)
    cells = np.arange(len(buckets))
    bucket, offset = buckets.astype(np.int64), offsets.astype(np.int64)
    for number in count():
        block = words(number, cells)
        if number:
            bucket = (block[:, 0] & np.uint64(BUCKETS - 1)).astype(np.int64)
            offset = (block[:, 0] >> np.uint64(BUCKET_BITS)).astype(np.int64) & (table.size - 1)
            starts = table.values[bucket]
            sure = starts != table.undecided  # accepted whatever the fraction is: nearly all
            values[cells[sure]] = starts[sure] + offset[sure]
            left = np.flatnonzero(~sure)
            cells, bucket, offset, block = cells[left], bucket[left], offset[left], block[left]
        accepted, rejected = _decide(table, bucket, offset, block[:, 1])
        values[cells[accepted]] = table.block[bucket[accepted]] * table.size + offset[accepted]
        for i in np.flatnonzero(~(accepted | rejected)).tolist():
            values[cells[i]] = finish(
                table,
                int(bucket[i]),
                int(offset[i]),
                int(block[i, 1]),
                _words_of_one(words, cells[i : i + 1], number + 1),
            )
        cells = cells[rejected]
        if not len(cells):
            return values
    raise AssertionError("rounds have no end")


def _decide(
    table: BlockTable,
    bucket: NDArray[np.int64],
    offset: NDArray[np.int64],
    fraction: NDArray[np.uint64],
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which proposals are surely accepted, and which are surely rejected."""
    block = table.block[bucket]
    beyond = np.where(block < 0, table.size - offset, offset)
    height, slack = table.heights(table.mirrored(block), beyond)
    below = (table.place[bucket] << HEIGHT_BITS) + (
        fraction >> np.uint64(WORD_BITS - HEIGHT_BITS)
    ).astype(np.int64)
    return below + 1 <= height - slack, below >= height + slack


def _words_of_one(words: Words, cell: NDArray[np.int64], start: int) -> Iterator[int]:
    for number in count(start):
        yield from words(number, cell)[0].tolist()


def finish(table: BlockTable, bucket: int, offset: int, fraction: int, words: Iterator[int]) -> int:
    """The value of one cell, from the proposal at hand on, with exact comparisons alone."""
    while (value := _attempt(table, bucket, offset, fraction, words)) is None:
        head, fraction = next(words), next(words)
        bucket, offset = head % BUCKETS, (head >> BUCKET_BITS) % table.size
    return value


def _attempt(
    table: BlockTable, bucket: int, offset: int, fraction: int, words: Iterator[int]
) -> int | None:
    """One round: the proposed value if it is accepted."""
    block, place = int(table.block[bucket]), int(table.place[bucket])
    if place > table.height:
        return None  # a bucket that proposes nothing
    value = block * table.size + offset
    factor = table.height
    if block in (table.reach, -1 - table.reach):
        far = trailing_zeros(words)
        wide = table.size << TAIL_WIDTH_BITS
        magnitude = table.reach * table.size + far * wide + next(words) % wide
        value = magnitude if block > 0 else -1 - magnitude
        factor <<= TAIL_WIDTH_BITS + far + 1
    return value if _is_below(table, place, fraction, factor, abs(value), words) else None


def trailing_zeros(words: Iterator[int]) -> int:
    """The number j with probability 2^-(j+1)."""
    zeros = 0
    while not (word := next(words)):
        zeros += WORD_BITS
    return zeros + (word & -word).bit_length() - 1


def _is_below(
    table: BlockTable,
    place: int,
    fraction: int,
    factor: int,
    magnitude: int,
    words: Iterator[int],
) -> bool:
    """Whether place + (fraction, followed by further digits) < factor * f(magnitude)."""
    prefix, bits = place << WORD_BITS | fraction, WORD_BITS
    while True:
        low, high = table.law.weight_bounds(magnitude, bits + _GUARD)
        if (prefix + 1) << _GUARD <= factor * low:
            return True
        if prefix << _GUARD >= factor * high:
            return False
        prefix, bits = prefix << WORD_BITS | next(words), bits + WORD_BITS
