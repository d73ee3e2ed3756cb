"""A wide law by rejection: equal values in blocks, most of them accepted without a look."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from synth.errors import BugError
from synth.noise.quantile_table import BUCKETS

if TYPE_CHECKING:
    from synth.noise.discrete_gaussian import DiscreteGaussian

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
