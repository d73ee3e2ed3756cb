"""Helmert contrasts along one axis of a table: the basis of an attribute without a hierarchy.

What `AxisBasis` does where there is one resolution, without looking up groups.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LONG_AXIS = 512
"""A longer axis is taken as a whole, and not code by code: the same bytes, by running sums."""


def contrasts(table: Floats, axis: int) -> Floats:
    """The coefficients along one axis: the inner products with the Helmert contrasts."""
    source = np.moveaxis(table, axis, 0)
    size = source.shape[0]
    if size > LONG_AXIS:
        before = np.cumsum(source, axis=0)
        out = np.empty(source.shape)
        np.multiply(before[-1], 1.0 / math.sqrt(size), out=out[0])
        np.multiply(source[1:], -_numbers(source), out=out[1:])
        out[1:] += before[:-1]
        out[1:] *= _scales(source)
        return np.moveaxis(out, 0, axis)
    out = np.empty(source.shape)
    running = source[0].copy()
    for j in range(1, size):
        np.multiply(source[j], -float(j), out=out[j])
        out[j] += running
        out[j] *= 1.0 / math.sqrt(j * (j + 1))
        running += source[j]
    np.multiply(running, 1.0 / math.sqrt(size), out=out[0])
    return np.moveaxis(out, 0, axis)


def expand(table: Floats, axis: int) -> Floats:
    """The function that has these coefficients along one axis (the transpose of contrasts)."""
    source = np.moveaxis(table, axis, 0)
    size = source.shape[0]
    if size > LONG_AXIS:
        parts = np.empty(source.shape)
        np.multiply(source[0], 1.0 / math.sqrt(size), out=parts[0])
        np.multiply(source[:0:-1], _scales(source)[::-1], out=parts[1:])
        after = np.cumsum(parts, axis=0)[::-1]
        out = parts[::-1]  # the function at j is made of the part of j and of all after it
        out[1:] = out[:-1] * -_numbers(source) + after[1:]
        out[0] = after[0]
        return np.moveaxis(out, 0, axis)
    out = np.empty(source.shape)
    running = source[0] * (1.0 / math.sqrt(size))
    for j in range(size - 1, 0, -1):
        part = source[j] * (1.0 / math.sqrt(j * (j + 1)))
        np.multiply(part, -float(j), out=out[j])
        out[j] += running
        running += part
    out[0] = running
    return np.moveaxis(out, 0, axis)


def squared_contrasts(table: Floats, axis: int) -> Floats:
    """The inner products along one axis with the squares of the contrasts."""
    source = np.moveaxis(table, axis, 0)
    size = source.shape[0]
    if size > LONG_AXIS:
        numbers = _numbers(source)
        before = np.cumsum(source, axis=0)
        out = np.empty(source.shape)
        np.multiply(before[-1], 1.0 / size, out=out[0])
        np.multiply(source[1:], numbers * numbers, out=out[1:])
        out[1:] += before[:-1]
        out[1:] *= 1.0 / (numbers * (numbers + 1.0))
        return np.moveaxis(out, 0, axis)
    out = np.empty(source.shape)
    running = source[0].copy()
    for j in range(1, size):
        np.multiply(source[j], float(j * j), out=out[j])
        out[j] += running
        out[j] *= 1.0 / (j * (j + 1))
        running += source[j]
    np.multiply(running, 1.0 / size, out=out[0])
    return np.moveaxis(out, 0, axis)


def _numbers(source: Floats) -> Floats:
    """1, 2, ... along the first axis."""
    return np.arange(1.0, source.shape[0]).reshape(-1, *(1,) * (source.ndim - 1))


def _scales(source: Floats) -> Floats:
    """1 / sqrt(j (j + 1)) along the first axis."""
    j = _numbers(source)
    return np.asarray(1.0 / np.sqrt(j * (j + 1.0)))
