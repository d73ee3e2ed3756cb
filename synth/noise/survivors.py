"""Survivors: the empty cells whose noise alone reaches a threshold, without visiting the others.

Each of M empty cells would get noise X and be listed if X >= threshold. The cells are independent
and alike, so the number of cells passed over between two that are listed is geometric,
P(gap = g) = (1-p)^g p with p = P(X >= threshold) = alpha^threshold / (1+alpha), and a listed value
is threshold + E with P(E = e) = (1-alpha) alpha^e, because discrete Laplace noise has no memory
beyond 0. Walking the gaps therefore gives the law of noise on every empty cell followed by the
threshold, exactly (Cormode, Procopiuc, Srivastava, Tran 2012), in time that grows with p M.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from synth.errors import BugError
from synth.noise.discrete_laplace import DiscreteLaplace
from synth.noise.geometric import BASE, BelowThreshold, Beyond, Digits, Geometric
from synth.noise.law import first_above, power_bounds
from synth.noise.stream import NoiseStream
from synth.noise.table_sampler import TableSampler

LIMB_DIGITS = 7
LIMB_BITS = 56
"""Seven digits of eight bits are drawn as one 64-bit number."""
NUMBER_BITS = 16
"""A measured table has a number below 2^16; see `stream_table`."""
BLOCK = 1 << 18
"""So many gaps are walked at once, at most."""
Cells = NDArray[Any]
"""Cell numbers or ranks as Python ints: an object array, because they may exceed 64 bits."""


def smallest_threshold(law: DiscreteLaplace, *, cells: int, false_cells: Fraction) -> int:
    """The smallest threshold >= 1 with cells * P(X >= threshold) <= false_cells.

    This is max(1, ceil(ln(cells / (false_cells (1+alpha))) / ln(1/alpha))), decided exactly: if
    all cells were empty, at most `false_cells` would be expected to be listed.

    Privacy: a function of public numbers.
    Requires: cells >= 1, false_cells > 0.
    """
    limit = false_cells / cells * (1 + law.alpha)
    return first_above(0, lambda threshold: _power_is_at_most(law.alpha, threshold, limit))


def _power_is_at_most(alpha: Fraction, exponent: int, limit: Fraction) -> bool:
    """Whether alpha^exponent <= limit; with enough bits the power is exact."""
    if limit >= 1:
        return True
    bits = 64 + (limit.denominator // limit.numerator).bit_length()
    while True:
        low, high = power_bounds(alpha, exponent, bits)
        if high <= limit * (1 << bits):
            return True
        if low > limit * (1 << bits):
            return False
        bits *= 2


def stream_table(number: int, use: int) -> int:
    """The table of the noise stream for one use in measured table `number`.

    Use 0 is the noise of the non-empty cells, 1 the values of survivors, 2 whether a gap goes
    beyond all digits, 3 and more the limbs of the gaps.

    Privacy: different (number, use) have different tables, so no random word serves twice.
    Raises: BugError when the number does not fit.
    """
    if not 0 <= number < 1 << NUMBER_BITS:
        raise BugError("a thresholded table has a number below 2^16")
    return use << NUMBER_BITS | number


def surviving_ranks(
    law: DiscreteLaplace, *, threshold: int, empty_cells: int, stream: NoiseStream, number: int
) -> Cells:
    """The ranks (0 .. empty_cells-1) of the empty cells that are listed, ascending.

    Privacy: each rank is listed independently with probability alpha^threshold / (1+alpha),
    exactly. Gaps are numbered from 0, and gap k is a function of the key and k alone, so blocks
    do not matter. How many words are used depends on the listed cells and `empty_cells`.
    Requires: threshold >= 1, empty_cells >= 0; once per stream and number.
    """
    ratio = BelowThreshold(law.alpha, threshold)
    digits = max(1, -(-empty_cells.bit_length() // (BASE.bit_length() - 1)))
    limbs = [
        TableSampler(Digits(ratio, BASE**place, min(LIMB_DIGITS, digits - place)))
        for place in range(0, digits, LIMB_DIGITS)
    ]
    beyond = TableSampler(Beyond(ratio, BASE**digits))
    size = _block(ratio, empty_cells)
    found: list[Cells] = []
    start, position = 0, -1
    while True:
        gaps = np.zeros(size, dtype=object)
        for place, sampler in enumerate(limbs):
            limb = sampler.draw(
                stream, table=stream_table(number, 3 + place), start=start, count=size
            )
            gaps += limb.astype(object) << (LIMB_BITS * place)
        over = beyond.draw(stream, table=stream_table(number, 2), start=start, count=size)
        ranks = position + np.cumsum(gaps + 1)
        stop = min(int(np.searchsorted(ranks, empty_cells)), *np.flatnonzero(over)[:1], size)
        found.append(ranks[:stop])
        if stop < size:
            return np.concatenate(found)
        start, position = start + size, ranks[-1]


def _block(ratio: BelowThreshold, empty_cells: int) -> int:
    """A little more gaps than are probably needed; any number gives the same ranks."""
    bits = 64 + empty_cells.bit_length()
    mean = ratio.survival_bounds(bits)[1] * empty_cells >> bits
    return min(BLOCK, mean + 6 * math.isqrt(mean) + 16)


def surviving_values(
    law: DiscreteLaplace, *, threshold: int, count: int, stream: NoiseStream, number: int
) -> NDArray[np.int64]:
    """The noisy counts of `count` survivors: X given X >= threshold.

    Privacy: P(threshold + e) = (1-alpha) alpha^e, exactly; threshold >= 1.
    Requires: once per stream and number.
    """
    sampler = TableSampler(Geometric(law.alpha))
    excess = sampler.draw(stream, table=stream_table(number, 1), start=0, count=count)
    excess += threshold
    return excess


class Numbered(Protocol):
    """Numbers in ascending order that are told when they are asked for; an array is one."""

    def __len__(self) -> int:
        """How many there are."""

    def __getitem__(self, places: NDArray[np.int64], /) -> Cells:
        """The numbers at these places."""


def cells_of_ranks(ranks: Cells, filled: Numbered) -> Cells:
    """The numbers of the empty cells with these ranks, given the filled cells.

    Cell `filled[j]` has filled[j] - j empty cells before it. The empty cell of rank i therefore
    comes after those filled cells for which that is at most i: its number is i plus how many they
    are. They are found for all ranks at once by halving, so that few filled cells are looked at.

    Requires: `filled` is strictly ascending.
    """
    before = np.zeros(len(ranks), dtype=np.int64)
    end = np.full(len(ranks), len(filled), dtype=np.int64)
    while (searching := np.flatnonzero(before < end)).size:
        middle = (before[searching] + end[searching]) // 2
        passed = (filled[middle] - middle.astype(object) <= ranks[searching]).astype(bool)
        before[searching[passed]] = middle[passed] + 1
        end[searching[~passed]] = middle[~passed]
    found: Cells = ranks + before.astype(object)
    return found
