"""The quantile function of a law as a table over 16 random bits, refined where that is open."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth.errors import BugError
from synth.noise.law import IntegerLaw

BUCKETS = 1 << 16
BUCKET_BITS = 16
KEY_BITS = 64
WORD_BITS = 64
_KEYS_PER_BUCKET = 1 << (KEY_BITS - BUCKET_BITS)
_NEARLY_NOTHING = 4
"""Keys beyond the ends of the thresholds: what bounds of at most 4 units cannot tell from 0."""
_LARGEST_REACH = 1 << 21
MoreWords = Callable[[int, int], int]
"""Gives word number j of the i-th undecided cell."""


def narrowest_type(widest: int) -> np.dtype[np.signedinteger[Any]]:
    """The narrowest integer type for values of magnitude up to `widest`, and one more."""
    types = (np.int8, np.int16, np.int32, np.int64)
    return np.dtype(next(t for t in types if np.iinfo(t).max >= widest))


class QuantileTable:
    """Draws from one law by inversion: X is the x with P(X < x) <= U < P(X <= x), U uniform.

    U is a binary fraction whose digits come as needed: 16 bits choose a bucket
    [b, b+1) / 2^16. If the whole bucket belongs to one x, `values[b]` is step * x. If not, it
    is `undecided`, and 64-bit words are appended until the interval of all continuations belongs
    to one x. A probability is never rounded: bounds decide, or more digits are taken.

    Shapes and units: `values` has 2^16 entries of the narrowest integer type; where they are
    decided their magnitude is at most `widest`.
    `lower[i] <= 2^64 P(X <= first + i) <= upper[i]`, both rising; thresholds of 2^64 are left out.
    """

    def __init__(self, law: IntegerLaw, step: int = 1) -> None:
        """Tabulate `law`; raises BugError if it is too wide for one table."""
        self.law = law
        self.step = step
        self.first, lower, upper = _thresholds(law)
        self.lower = np.array([x for x in lower if x < 1 << KEY_BITS], dtype=np.uint64)
        self.upper = np.array([x for x in upper if x < 1 << KEY_BITS], dtype=np.uint64)
        runs = []
        for i in range(1, len(lower)):
            start = -(-upper[i - 1] // _KEYS_PER_BUCKET)
            stop = lower[i] // _KEYS_PER_BUCKET
            if start < stop:
                runs.append((start, stop, step * (self.first + i)))
        self.widest = max((abs(value) for _, _, value in runs), default=0)
        dtype = narrowest_type(self.widest)
        self.undecided = int(np.iinfo(dtype).min)
        self.values = np.full(BUCKETS, self.undecided, dtype=dtype)
        for start, stop, value in runs:
            self.values[start:stop] = value
        self._prepare_refinement()

    def _prepare_refinement(self) -> None:
        """Note for every bucket how many lower thresholds lie before it, and how many in it.

        With one threshold of either kind in a bucket, one comparison tells what a binary search
        among all of them would.
        """
        starts = np.arange(BUCKETS, dtype=np.uint64) << np.uint64(KEY_BITS - BUCKET_BITS)
        before_lower = np.searchsorted(self.lower, starts, side="left")
        before_upper = np.searchsorted(self.upper, starts, side="left")
        in_lower = np.diff(before_lower, append=len(self.lower))
        in_upper = np.diff(before_upper, append=len(self.upper))
        self._before = before_lower.astype(np.int64)
        self._search = (in_lower != 1) | (in_upper != 1) | (before_lower != before_upper)
        beyond = np.uint64((1 << KEY_BITS) - 1)  # looked at by buckets that are searched anyway
        self._next_lower = np.append(self.lower, beyond)
        missing = max(0, len(self.lower) - len(self.upper)) + 1
        self._next_upper = np.append(self.upper, np.full(missing, beyond))

    def refine(
        self, buckets: NDArray[np.uint16], words: NDArray[np.uint64], more_words: MoreWords
    ) -> NDArray[np.int64]:
        """The values (step * x) of undecided cells, from their bucket and further words.

        Shapes and units: `buckets` and `words` (word 0 of each cell) have one entry per cell.
        `more_words(i, j)` gives word j >= 1 of cell i; it is needed once in 2^48 cells or less.
        """
        keys = buckets.astype(np.uint64)
        keys <<= np.uint64(KEY_BITS - BUCKET_BITS)
        keys |= words >> np.uint64(BUCKET_BITS)
        result = self._before[buckets]
        is_open = keys < self._next_upper[result]
        is_beyond = keys >= self._next_lower[result]
        is_open &= is_beyond
        result += is_beyond
        search = self._search[buckets].nonzero()[0]
        if len(search):
            searched = keys[search]
            result[search] = np.searchsorted(self.lower, searched, side="right")
            surely = np.searchsorted(self.upper, searched, side="right")
            is_open[search] = result[search] != surely
        result += self.first
        for i in is_open.nonzero()[0].tolist():
            prefix = int(buckets[i]) << WORD_BITS | int(words[i])
            result[i] = self._decide(prefix, i, more_words)
        result *= self.step
        return result

    def _decide(self, prefix: int, cell: int, more_words: MoreWords) -> int:
        bits = BUCKET_BITS + WORD_BITS
        number = 1
        while (value := quantile(self.law, prefix, bits)) is None:
            prefix = prefix << WORD_BITS | more_words(cell, number)
            bits += WORD_BITS
            number += 1
        return value


def quantile(law: IntegerLaw, prefix: int, bits: int) -> int | None:
    """The x that owns every U with prefix / 2^bits <= U < (prefix+1) / 2^bits, if there is one.

    Whatever is returned has upper(x-1) <= prefix and prefix + 1 <= lower(x), a proof by the
    bounds; None means that the bounds or the digits do not suffice.
    """

    def is_below(x: int) -> bool:
        """Whether the interval surely lies at or above P(X <= x), so that the value exceeds x."""
        return law.cdf_bounds(x, bits)[1] <= prefix

    def is_above(x: int) -> bool:
        """Whether the interval surely lies below P(X <= x), so that the value is at most x."""
        return prefix + 1 <= law.cdf_bounds(x, bits)[0]

    below, at_least = -1, 0
    while not is_below(below):
        if law.cdf_bounds(below, bits)[1] <= _NEARLY_NOTHING:
            return None
        below *= 2
    while not is_above(at_least):
        if law.cdf_bounds(at_least, bits)[0] >= (1 << bits) - _NEARLY_NOTHING:
            return None
        at_least = 2 * at_least + 1
    while at_least - below > 1:
        middle = (below + at_least) // 2
        if is_above(middle):
            at_least = middle
        elif is_below(middle):
            below = middle
        else:
            return None
    return at_least


def _thresholds(law: IntegerLaw) -> tuple[int, list[int], list[int]]:
    """The first value, and bounds of 2^64 P(X <= x) from there to where all is certain."""
    reach = range(_LARGEST_REACH)
    top = 1 << KEY_BITS
    down = bisect_left(
        reach, True, key=lambda x: law.cdf_bounds(-x, KEY_BITS)[1] <= _NEARLY_NOTHING
    )
    up = bisect_left(
        reach, True, key=lambda x: law.cdf_bounds(x, KEY_BITS)[0] >= top - _NEARLY_NOTHING
    )
    if _LARGEST_REACH in (down, up):
        raise BugError("a law of noise is too wide for one table")
    bounds = [law.cdf_bounds(x, KEY_BITS) for x in range(-down, up + 1)]
    lower = [low for low, _ in bounds]
    upper = [high for _, high in bounds]
    lower[0] = 0  # below the first value nothing is certain
    upper[-1] = top  # nor above the last
    for i in range(1, len(bounds)):  # P(X <= x) rises with x, so its bounds may as well
        lower[i] = max(lower[i], lower[i - 1])
        upper[-i - 1] = min(upper[-i - 1], upper[-i])
    return -down, lower, upper
