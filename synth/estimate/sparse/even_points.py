"""Evenly spread points: a sequence of numbers per attribute, and codes chosen by them.

A Kronecker sequence: point i has for attribute j the number u = frac(i alpha_j + s_j). It fills
the unit cube more evenly than chance (Kuipers, Niederreiter 1974), unless whole multiples of two
alphas nearly agree; such alphas are passed over. All of it in whole numbers of 64 bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BUCKETS = 1 << 12
_SHIFT = np.uint64(64 - 12)
_LAST = np.uint64(2**64 - 1)
_MULTIPLES = 12
"""Multiples of two alphas up to this one are compared."""
_LEAST_APART = 1e-3
"""How far k alpha and l beta must be apart, around the circle, times k l; less for many alphas."""
_APART_FOR_ALL = 0.03


@lru_cache(maxsize=8)
def steady_steps(number: int) -> tuple[int, ...]:
    """The alphas times 2^64: fractional parts of square roots of primes, the first that are fit."""
    least = min(_LEAST_APART, _APART_FOR_ALL / max(1, number)) * 2.0**64
    multiples = np.arange(1, _MULTIPLES + 1, dtype=np.uint64)
    taken = np.zeros((0, _MULTIPLES), dtype=np.uint64)
    steps: list[int] = []
    for prime in _primes():
        if len(steps) == number:
            break
        step = math.isqrt(prime << 128) % (1 << 64)
        own = np.uint64(step) * multiples
        products = multiples[:, None] * multiples
        fit = True
        for difference in (
            taken[:, :, None] - own[None, None, :],
            taken[:, :, None] + own[None, None, :],
        ):
            apart = np.minimum(difference, np.uint64(0) - difference).astype(np.float64)
            fit = fit and bool((apart * products >= least).all())
        if fit:
            steps.append(step)
            taken = np.vstack([taken, own])
    return tuple(steps)


def _primes() -> Iterator[int]:
    return (n for n in count(2) if all(n % d for d in range(2, math.isqrt(n) + 1)))


@dataclass(frozen=True, eq=False)
class Inverse:
    """The inverse of a distribution function, one for every code of a parent.

    `first[row, b]` is the smallest code that a number in bucket b = [b, b + 1) / BUCKETS can get,
    `ends[row, code]` where the part of a code ends, in units of 2^-64. Both flat, row by row.
    """

    first: NDArray[Any]
    ends: NDArray[np.uint64]
    size: int

    @staticmethod
    def of(law: Floats) -> Inverse:
        """Tabulate; every row of `law` sums to about one."""
        running = np.cumsum(law, axis=1)
        share = np.minimum(running / running[:, -1:], 1.0)
        ends = (np.minimum(share, 1.0 - 2.0**-53) * 2.0**64).astype(np.uint64)
        # No number is beyond the last code that has a chance.
        ends[running >= running[:, -1:]] = _LAST
        starts = (np.arange(BUCKETS, dtype=np.uint64)) << _SHIFT
        kind = np.uint8 if law.shape[1] <= 256 else np.uint32
        first = np.stack([np.searchsorted(row, starts, side="right") for row in ends])
        return Inverse(first.astype(kind).reshape(-1), ends.reshape(-1), law.shape[1])

    def codes(self, words: NDArray[np.uint64], parent: NDArray[Any] | None) -> NDArray[np.int64]:
        """The code that every number words / 2^64 chooses: the first whose end is above it."""
        words = np.minimum(words, _LAST - np.uint64(1))
        bucket = (words >> _SHIFT).astype(np.int64)
        if parent is None:
            row = np.zeros(1, dtype=np.int64)
        else:
            row = parent.astype(np.int64)
            bucket += row * BUCKETS
        found = self.first.take(bucket).astype(np.int64) + row * self.size
        open_ones = np.flatnonzero(words >= self.ends.take(found))
        while open_ones.size:
            found[open_ones] += 1
            still = words[open_ones] >= self.ends.take(found[open_ones])
            open_ones = open_ones[still]
        return np.asarray(found - row * self.size)
