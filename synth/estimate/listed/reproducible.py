"""Arithmetic with the same bits on every processor: what a fit of many steps is made of.

Sums, products, quotients and roots of two numbers of 64 bits are rounded alike everywhere (IEEE
754), but libraries differ in the last digit of exp and log, and in the order in which the terms of
a product of matrices are added. A descent of hundreds of steps would make a different table of it.
So exp and log are made here of sums, products and quotients, one array at a time, and matrices are
multiplied in whole numbers whose sums stay below 2^53: then the order does not matter, nor does the
number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_LN2 = 0.6931471805599453
_LN2_HIGH, _LN2_LOW = 0.6931471804855391, 7.440617110012397e-11
"""The same in two parts; the first has 33 bits, so that small multiples of it are exact."""
_LOWEST = -80.0
_EXP_TERMS = tuple(1.0 / math.factorial(power) for power in range(8, -1, -1))
_LOG_TERMS = tuple(2.0 / power for power in range(13, 0, -2))


_BLOCK = 1 << 15
"""So many numbers at a time stay, with all that is made of them, in the processor's cache."""


def exp(values: NDArray[Any]) -> Floats:
    """The number e to these powers <= 0, to eight digits; below -80 as at -80."""
    return _in_blocks(_exp, values)


def log(values: NDArray[Any]) -> Floats:
    """The logarithms of numbers > 0, to eight digits."""
    return _in_blocks(_log, values)


def _in_blocks(function: Callable[[NDArray[Any]], Floats], values: NDArray[Any]) -> Floats:
    flat = np.ravel(values)
    found = np.empty(flat.size)
    for start in range(0, flat.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        found[block] = function(flat[block])
    return found.reshape(np.shape(values))


def _exp(values: NDArray[Any]) -> Floats:
    clipped = np.maximum(values, _LOWEST)
    twos = np.rint(clipped * (1.0 / _LN2))
    rest = clipped - twos * _LN2_HIGH
    rest -= twos * _LN2_LOW
    found = np.full_like(rest, _EXP_TERMS[0])
    for term in _EXP_TERMS[1:]:
        found *= rest
        found += term
    return np.asarray(np.ldexp(found, twos.astype(np.int32)))


def _log(values: NDArray[Any]) -> Floats:
    part, twos = np.frexp(values)
    low = part < math.sqrt(0.5)
    part = np.where(low, 2.0 * part, part)
    ratio = (part - 1.0) / (part + 1.0)
    square = ratio * ratio
    found = np.full_like(ratio, _LOG_TERMS[0])
    for term in _LOG_TERMS[1:]:
        found *= square
        found += term
    found *= ratio
    found += (twos - low) * _LN2
    return np.asarray(found)


def total(values: Floats) -> float:
    """The sum, added one by one."""
    return float(np.cumsum(values)[-1]) if values.size else 0.0


def whole(values: Floats, bits: int) -> tuple[Floats, float]:
    """Whole numbers below 2^bits in proportion to the values, and the unit that they are in."""
    largest = float(np.abs(values).max(initial=0.0))
    unit = math.ldexp(1.0, math.frexp(largest)[1] - bits)
    return np.rint(values * (1.0 / unit)), unit
