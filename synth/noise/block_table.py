"""A wide law by rejection: equal values in blocks, most of them accepted without a look.

What becomes of the cells that the first look leaves open stands below the table.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import count

import numpy as np
from numpy.typing import NDArray

from synth.errors import BugError
from synth.noise.discrete_gaussian import DiscreteGaussian
from synth.noise.quantile_table import BUCKET_BITS, BUCKETS, WORD_BITS

HEIGHT_BITS = 21
"""Binary digits behind the point of a height that is compared in whole numbers of 64 bits."""
HEIGHT_SLACK = 8
"""A height in that form is off by less than this many units; see `heights`."""
TAIL_WIDTH_BITS = 4
"""A block of a tail is 2^4 times as wide as another block."""
TAIL_BITS = 7
"""A proposal from a tail is accepted with probability at most 2^-7."""
_EXPONENT_BITS = 32
_COEFFICIENTS = [(1 << _EXPONENT_BITS) // math.factorial(number) for number in range(8)]
"""Those of the series of exp(-y) without their signs."""
_LARGEST_EXPONENT = 0.2
_LARGEST_HEIGHT = 1023
_LARGEST_REACH = 1 << 14
_WEIGHT_BITS = 64
_GUARD = 16
Words = Callable[[int, NDArray[np.int64]], NDArray[np.uint64]]
"""Gives the two words of a round for some of the cells, by their place among all of them."""


class BlockTable:
    """Draws from P(x) proportional to f(|x|), f(k) = exp(-rate k^2), by rejection.

    Block q holds the values q B .. q B + B - 1, B = 2^shift. It has ceil(height * f) of the 2^16
    buckets, f being its largest in the block. A round takes uniform digits for a bucket, for one
    of the B values and for a fraction 0 <= v < 1; with `place` the number of the bucket among
    those of its block, x is accepted if place + v < height * f(|x|), else the next round begins.
    So a round gives x with probability height * f(|x|) / (B 2^16), which is what is wanted.

    In buckets whose place + 1 is at most height * f for every x of the block, no v is needed:
    `values` holds q B there and `undecided` elsewhere. Beyond block `reach` the tails have one
    bucket each. There block j = 0, 1, ... of 16 B values has probability 2^-(j+1), and x is
    accepted if v < height * f(|x|) * 16 * 2^(j+1). Buckets that are left propose nothing.

    Shapes and units: arrays of 2^16 entries, or one for each block from 0 to `reach`; the blocks
    below 0 mirror them.
    """

    def __init__(self, law: DiscreteGaussian) -> None:
        """Tabulate `law`; raises BugError if blocks of its width do not suit it."""
        self.law = law
        self.shift = law.block_bits
        self.size = 1 << self.shift
        weights = _weights(law)
        self.height = _largest_height(weights)
        self.reach = _reach(weights, self.height)
        most, least = _buckets_of_blocks(weights, self.height)
        blocks = np.arange(self.reach)
        self.block = np.zeros(BUCKETS, dtype=np.int64)
        self.place = np.full(BUCKETS, _LARGEST_HEIGHT + 1, dtype=np.int64)  # above every height
        order = np.concatenate([-1 - blocks[::-1], blocks, [-1 - self.reach, self.reach]])
        numbers = np.concatenate([most[::-1], most, [1, 1]])
        used = int(numbers.sum())
        self.block[:used] = np.repeat(order, numbers)
        self.place[:used] = np.arange(used) - np.repeat(np.cumsum(numbers) - numbers, numbers)
        sure = np.append(least, 0)[self.mirrored(self.block)] > self.place
        self.widest = (self.reach + 1) * self.size
        self.undecided = -(1 << 31)
        if self.widest >= 1 << 31:
            raise BugError("a law of noise is too wide for blocks")
        self.values = np.where(sure, self.block * self.size, self.undecided).astype(np.int32)
        self._prepare_heights(weights)

    @staticmethod
    def mirrored(blocks: NDArray[np.int64]) -> NDArray[np.int64]:
        """The block from 0 on whose magnitudes these blocks hold: -1 becomes 0, -2 becomes 1."""
        return blocks ^ (blocks >> 63)

    def _prepare_heights(self, weights: Sequence[tuple[int, int]]) -> None:
        """Note f at the start of each block, and the factor of the growth of the exponent."""
        starts = [
            self.height * low >> (_WEIGHT_BITS - HEIGHT_BITS) for low, _ in weights[: self.reach]
        ]
        self._starts = np.array([*starts, 0], dtype=np.int64)
        self._slack = np.full(self.reach + 1, HEIGHT_SLACK, dtype=np.int64)
        self._slack[self.reach] = 1 << (HEIGHT_BITS - TAIL_BITS)  # up to this, look closely
        largest = self.size * self.size * (2 * self.reach + 1)
        if self.law.rate * largest > _LARGEST_EXPONENT:
            raise BugError("a law of noise falls too fast for its blocks")
        self._drop = max(0, largest.bit_length() - _EXPONENT_BITS)
        unit = self.law.rate * (1 << (self._drop + _EXPONENT_BITS))
        self._scale = 31 - (unit.numerator // unit.denominator).bit_length()
        if self._scale < 0:
            raise BugError("a law of noise is too narrow for blocks")
        self._factor = int(unit * (1 << self._scale))

    def heights(
        self, mirrored: NDArray[np.int64], beyond: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """About 2^21 * height * f, and by how much that may be off, at block start + beyond.

        With a = block * B and d = beyond, f(a+d) = f(a) exp(-y), y = rate d (2a + d) <= 0.2.
        In units of 2^-32: y is rounded down by less than 3, the sum of 8 terms of exp(-y) is off
        by less than 4 more, of which the terms left out make less than 1. f(a) < 2^31 is rounded
        down to a whole number, and the product once more: together less than 8 units of 2^-21.
        A tail has height 0, off by at most 2^-7.
        """
        growth = beyond * ((mirrored << (self.shift + 1)) + beyond)
        y = (growth >> self._drop) * self._factor >> self._scale
        share = np.full(len(y), _COEFFICIENTS[-1], dtype=np.int64)
        for coefficient in _COEFFICIENTS[-2::-1]:
            share *= y
            share >>= _EXPONENT_BITS
            np.subtract(coefficient, share, out=share)
        return self._starts[mirrored] * share >> _EXPONENT_BITS, self._slack[mirrored]


def _weights(law: DiscreteGaussian) -> list[tuple[int, int]]:
    """Bounds of 2^64 f at the start of blocks 0, 1, ..., far enough for any height."""
    bounds: list[tuple[int, int]] = []
    far = _LARGEST_HEIGHT << (TAIL_BITS + TAIL_WIDTH_BITS + 1)
    while len(bounds) < _LARGEST_REACH:
        bounds.append(law.weight_bounds(len(bounds) << law.block_bits, _WEIGHT_BITS))
        if bounds[-1][1] * far <= 1 << _WEIGHT_BITS:
            beyond = range(len(bounds), len(bounds) + (1 << TAIL_WIDTH_BITS) + 1)
            return bounds + [law.weight_bounds(b << law.block_bits, _WEIGHT_BITS) for b in beyond]
    raise BugError("a law of noise is too wide for its blocks")


def _reach(weights: Sequence[tuple[int, int]], height: int) -> int:
    """The first block of the tails.

    From there on f halves at least with every block of a tail (f is log-concave, so once is
    enough), and the first one is accepted with probability at most 2^-7:
    height * f * 16 * 2 <= 2^-7. So all later ones are, too.
    """
    small = 1 << (_WEIGHT_BITS - TAIL_BITS - TAIL_WIDTH_BITS - 1)
    for block in range(len(weights) - (1 << TAIL_WIDTH_BITS)):
        low, high = weights[block]
        if height * high <= small and 2 * weights[block + (1 << TAIL_WIDTH_BITS)][1] <= low:
            return block
    raise BugError("a law of noise falls too slowly for its blocks")


def _buckets_of_blocks(
    weights: Sequence[tuple[int, int]], height: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For the blocks before the tails: how many buckets each has, and how many of them are sure.

    Rounding: the first up, the second down.
    """
    reach = _reach(weights, height)
    most = [-(-height * high >> _WEIGHT_BITS) for _, high in weights[:reach]]
    least = [height * low >> _WEIGHT_BITS for low, _ in weights[1 : reach + 1]]
    return np.array(most, dtype=np.int64), np.array(least, dtype=np.int64)


def _largest_height(weights: Sequence[tuple[int, int]]) -> int:
    """The largest whole height with which all blocks and both tails fit 2^16 buckets."""

    def is_too_large(height: int) -> bool:
        most, _ = _buckets_of_blocks(weights, height)
        return 2 * int(most.sum()) + 2 > BUCKETS

    height = bisect_left(range(1, _LARGEST_HEIGHT + 1), True, key=is_too_large)
    if not height:
        raise BugError("a law of noise is too wide for its blocks")
    return height


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
