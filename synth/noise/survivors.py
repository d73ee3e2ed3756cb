"""Survivors: the empty cells whose noise alone reaches a threshold, without visiting the others.

Each of M empty cells would get noise X and be listed if X >= threshold. The cells are independent
and alike, so the number of cells passed over between two that are listed is geometric,
P(gap = g) = (1-p)^g p with p = P(X >= threshold) = alpha^threshold / (1+alpha), and a listed value
is threshold + E with P(E = e) = (1-alpha) alpha^e, because discrete Laplace noise has no memory
beyond 0. Walking the gaps therefore gives the law of noise on every empty cell followed by the
threshold, exactly (Cormode, Procopiuc, Srivastava, Tran 2012), in time that grows with p M.

Geometric numbers G of any size, P(G = g) = (1-q) q^g, g = 0, 1, ..., are drawn digit by digit.
Write g = r_0 + m r_1 + m^2 r_2 + ... in base m. Then P(G = g) is proportional to the product of
(q^(m^j))^(r_j), so the digits are independent, digit j with P(r) proportional to b^r for
b = q^(m^j). Every digit fits a `QuantileTable`, whose values are decided by bounds and as many
random bits as they need. So G is drawn exactly, also where it has a hundred bits and q is nearer to
1 than any floating-point number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from synth.errors import BugError
from synth.noise.discrete_laplace import DiscreteLaplace
from synth.noise.law import Part, first_above, is_at_most, power_between, power_bounds
from synth.noise.stream import NoiseStream
from synth.noise.table_sampler import TableSampler

BASE = 256
"""The base of the digits: 2^16 buckets leave at most 255 of them undecided."""
FINEST_TABLE_RATE = Fraction(1, 32)
"""A number with a smaller rate ln(1/q) is drawn digit by digit."""
_GUARD = 8


class Ratio(Protocol):
    """A number q with 0 < q < 1 whose powers can be bounded; equal ratios compare equal."""

    def __hash__(self) -> int:
        """The same for equal ratios: digits are tabulated once."""
        ...

    def power_bounds(self, exponent: int, bits: int) -> tuple[int, int]:
        """Whole numbers with low <= 2^bits q^exponent <= high, at most 2 apart."""
        ...


@dataclass(frozen=True)
class ExactRatio:
    """An exact fraction as a ratio."""

    value: Fraction

    def power_bounds(self, exponent: int, bits: int) -> tuple[int, int]:
        """Bounds of 2^bits value^exponent.

        Rounding: outwards.
        """
        return power_bounds(self.value, exponent, bits)


@dataclass(frozen=True)
class BelowThreshold:
    """The ratio q = 1 - p, p = P(X >= threshold) = alpha^threshold / (1 + alpha).

    X is discrete Laplace noise with this alpha: q is the probability that an empty cell is not
    listed.
    Requires: 0 < alpha < 1, threshold >= 1.
    """

    alpha: Fraction
    threshold: int

    def survival_bounds(self, bits: int) -> tuple[int, int]:
        """Whole numbers with low <= 2^bits p <= high.

        Rounding: outwards; at most 2 apart.
        """
        low, high = power_bounds(self.alpha, self.threshold, bits + _GUARD)
        one, both = self.alpha.denominator, self.alpha.denominator + self.alpha.numerator
        high = -(-high * one // both)
        return low * one // both >> _GUARD, -(-high >> _GUARD)

    def power_bounds(self, exponent: int, bits: int) -> tuple[int, int]:
        """Bounds of 2^bits q^exponent, by squaring between bounds of p.

        Rounding: outwards. An error of q grows at most `exponent` times, which the guard bits
        take up.
        """
        guard = 2 * exponent.bit_length() + _GUARD
        work = bits + guard
        survival_low, survival_high = self.survival_bounds(work)
        factor_low, factor_high = (1 << work) - survival_high, (1 << work) - survival_low
        low, high = power_between(factor_low, factor_high, exponent, work)
        return low >> guard, -(-high >> guard)


@dataclass(frozen=True)
class Digit:
    """The digit of `step` in base `base`: P(r) proportional to q^(step r), 0 <= r < base."""

    ratio: Ratio
    step: int
    base: int

    def cdf_bounds(self, value: int, bits: int) -> tuple[int, int]:
        """Bounds of P(r <= value) = (1 + b + ... + b^value) / (1 + b + ... + b^(base-1)).

        b = q^step.
        Rounding: outwards.
        """
        if value < 0:
            return 0, 0
        if value >= self.base - 1:
            return 1 << bits, 1 << bits
        return _digit_cdf(self.ratio, self.step, self.base, bits)[value]


@lru_cache(maxsize=64)
def _digit_cdf(ratio: Ratio, step: int, base: int, bits: int) -> list[tuple[int, int]]:
    """Bounds of 2^bits P(r <= d) for d from 0 to base-1; sums, so nothing cancels."""
    work = bits + 2 * base.bit_length() + _GUARD
    factor_low, factor_high = ratio.power_bounds(step, work)
    low = high = 1 << work
    sums = [(low, high)]
    for _ in range(base - 1):
        low = low * factor_low >> work
        high = -(-high * factor_high >> work)
        sums.append((sums[-1][0] + low, sums[-1][1] + high))
    all_low, all_high = sums[-1]
    return [((low << bits) // all_high, -((-high << bits) // all_low)) for low, high in sums]


@dataclass(frozen=True)
class Rest:
    """What is left above all digits: P(x) = (1-b) b^x with b = q^step."""

    ratio: Ratio
    step: int

    def cdf_bounds(self, value: int, bits: int) -> tuple[int, int]:
        """Bounds of P(X <= value) = 1 - b^(value+1).

        Rounding: outwards.
        """
        if value < 0:
            return 0, 0
        low, high = self.ratio.power_bounds(self.step * (value + 1), bits)
        return (1 << bits) - high, (1 << bits) - low


@dataclass(frozen=True)
class Beyond:
    """1 if the geometric number is `step` or more, else 0: P(0) = 1 - q^step."""

    ratio: Ratio
    step: int

    def cdf_bounds(self, value: int, bits: int) -> tuple[int, int]:
        """Bounds of P(X <= value).

        Rounding: outwards.
        """
        if value >= 1:
            return 1 << bits, 1 << bits
        return Rest(self.ratio, self.step).cdf_bounds(value, bits)

    def parts(self) -> tuple[Part, ...]:
        """Itself."""
        return (Part(1, self),)


@dataclass(frozen=True)
class Digits:
    """Consecutive digits of a geometric number, from that of `first` = BASE^j on, as one number."""

    ratio: Ratio
    first: int
    count: int

    def parts(self) -> tuple[Part, ...]:
        """One part per digit."""
        return tuple(
            Part(BASE**place, Digit(self.ratio, self.first * BASE**place, BASE))
            for place in range(self.count)
        )


@dataclass(frozen=True)
class Geometric:
    """P(G = g) = (1-alpha) alpha^g: by how much a survivor exceeds the threshold."""

    alpha: Fraction

    def parts(self) -> tuple[Part, ...]:
        """Digits until the rest fits a table; none for a rate ln(1/alpha) of 1/32 or more."""
        ratio, step, digits = ExactRatio(self.alpha), 1, []
        rate = 1 - self.alpha  # at most ln(1/alpha), so the rest is never too wide
        while rate * step < FINEST_TABLE_RATE:
            digits.append(Part(step, Digit(ratio, step, BASE)))
            step *= BASE
        return (*digits, Part(step, Rest(ratio, step)))


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
    return is_at_most(lambda bits: power_bounds(alpha, exponent, bits), limit, bits=bits)


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
