"""Interactions: an orthonormal basis of all functions on the cells, one attribute at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Interactions:
    """The product of Helmert bases, one for each attribute.

    For an attribute with n codes the basis holds the constant 1/sqrt(n) and n - 1 contrasts; the
    contrast j compares code j with the mean of the codes before it. A product of contrasts of
    the attributes in a set A, and constants elsewhere, belongs to the interaction of A. The
    order of a coefficient is the number of attributes in its set.

    All work is running sums along axes: no matrix product, so no result depends on the number of
    threads, and a transform takes time and memory linear in the number of cells.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        """Set up for a table of this shape."""
        self.shape = shape
        self.size = math.prod(shape)

    def forward(self, cells: Floats) -> Floats:
        """The coefficient of every basis function: the inner product with the cells."""
        table = cells.reshape((*self.shape, 1))
        for axis, size in enumerate(self.shape):
            if size > 1:
                table = _contrasts(table, axis)
        return table.reshape(-1)

    def inverse(self, coefficients: Floats) -> Floats:
        """The function on the cells that has these coefficients (the transpose of forward)."""
        table = coefficients.reshape((*self.shape, 1))
        for axis, size in enumerate(self.shape):
            if size > 1:
                table = _expand(table, axis)
        return table.reshape(-1)

    def squares(self, weights: Floats) -> Floats:
        """For every basis function the sum over the cells of its square times the weight."""
        table = weights.reshape((*self.shape, 1))
        for axis, size in enumerate(self.shape):
            if size > 1:
                table = _squared_contrasts(table, axis)
        return table.reshape(-1)

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The number of attributes that a coefficient belongs to, for every coefficient."""
        return self._per_axis([1] * len(self.shape))

    @cached_property
    def subset(self) -> NDArray[np.int64]:
        """The set of attributes of every coefficient, as a bit mask (bit i is attribute i)."""
        return self._per_axis([1 << axis for axis in range(len(self.shape))])

    def dimension(self, subset: int) -> int:
        """The number of coefficients of an interaction: the product of n - 1."""
        return math.prod(n - 1 for axis, n in enumerate(self.shape) if subset >> axis & 1)

    def cells(self, subset: int) -> int:
        """The number of cells of the table over a set of attributes."""
        return math.prod(n for axis, n in enumerate(self.shape) if subset >> axis & 1)

    def tables(self, cells: Floats, max_order: int) -> Iterator[tuple[int, Floats]]:
        """Every table of sums over 1 to `max_order` attributes, with its set as a bit mask.

        Nested: a table is summed from a larger one that was summed before.
        """
        yield from self._tables(cells.reshape(self.shape), 0, 0, 0, max_order)

    def _tables(
        self, table: Floats, axis: int, position: int, subset: int, left: int
    ) -> Iterator[tuple[int, Floats]]:
        if axis == len(self.shape):
            if subset:
                yield subset, table.reshape(-1)
            return
        if left and self.shape[axis] > 1:
            bit = 1 << axis
            kept = subset | bit
            if left == 1:
                rest = tuple(range(position + 1, table.ndim))
                yield kept, table.sum(axis=rest).reshape(-1)
            else:
                yield from self._tables(table, axis + 1, position + 1, kept, left - 1)
        yield from self._tables(table.sum(axis=position), axis + 1, position, subset, left)

    def _per_axis(self, values: list[int]) -> NDArray[np.int64]:
        """For every coefficient the sum of the values of the attributes in its set."""
        total = np.zeros(self.shape, dtype=np.int64)
        for axis, size in enumerate(self.shape):
            step = np.full(size, values[axis], dtype=np.int64)
            step[0] = 0
            total += step.reshape([-1 if i == axis else 1 for i in range(len(self.shape))])
        return total.reshape(-1)


def _contrasts(table: Floats, axis: int) -> Floats:
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


def _expand(table: Floats, axis: int) -> Floats:
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


def _squared_contrasts(table: Floats, axis: int) -> Floats:
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
