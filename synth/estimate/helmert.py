"""Helmert contrasts along one axis of a table: the basis of an attribute without a hierarchy.

What `AxisBasis` does where there is one resolution, without looking up groups.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def contrasts(table: Floats, axis: int) -> Floats:
    """The coefficients along one axis: the inner products with the Helmert contrasts."""
    source = np.moveaxis(table, axis, 0)
    size = source.shape[0]
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
    out = np.empty(source.shape)
    running = source[0].copy()
    for j in range(1, size):
        np.multiply(source[j], float(j * j), out=out[j])
        out[j] += running
        out[j] *= 1.0 / (j * (j + 1))
        running += source[j]
    np.multiply(running, 1.0 / size, out=out[0])
    return np.moveaxis(out, 0, axis)
