"""Interactions: an orthonormal basis of all functions on the cells, one attribute at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth.domain import Margin, Universe
from synth.estimate.axis_basis import (
    AxisBasis,
    contrasts,
    expand,
    squared_contrasts,
    to_front,
    to_place,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Interactions:
    """The product of the bases of the attributes; see `AxisBasis`.

    A product of basis functions belongs to the component that says, for each attribute, at which
    resolution of its hierarchy the function appears: 0 for the constant. Without hierarchies a
    component is the set of attributes that interact, as a bit mask. The order of a component is
    the number of attributes that are not constant.

    All work is running sums along axes: no matrix product, so no result depends on the number of
    threads, and a transform takes time and memory linear in the number of cells.
    """

    def __init__(self, shape: tuple[int, ...], axes: Sequence[AxisBasis] | None = None) -> None:
        """Set up for a table of this shape; without `axes`, no attribute has a hierarchy."""
        self.shape = shape
        self.size = math.prod(shape)
        self.axes = tuple(axes) if axes is not None else tuple(map(AxisBasis, shape))
        strides = [1]
        for basis in self.axes:
            strides.append(strides[-1] * (max(basis.depth, 1) + 1))
        self.strides = tuple(strides[:-1])
        self.component_count = strides[-1]
        """Components are numbered below this; attribute i adds its resolution times strides[i]."""

    @classmethod
    def of(cls, universe: Universe) -> Interactions:
        """The interactions of a universe, with the hierarchies of its attributes."""
        axes = [
            AxisBasis(each.size, tuple(level.group_of for level in each.hierarchy))
            for each in universe.attributes
        ]
        return cls(universe.shape, axes)

    def forward(self, cells: Floats) -> Floats:
        """The coefficient of every basis function: the inner product with the cells."""
        table = cells.reshape((*self.shape, 1))
        for axis, basis in enumerate(self.axes):
            if not basis.is_flat:
                table = _along(partial(basis.forward, resolution=basis.depth), table, axis)
            elif basis.size > 1:
                table = contrasts(table, axis)
        return table.reshape(-1)

    def inverse(self, coefficients: Floats) -> Floats:
        """The function on the cells that has these coefficients (the transpose of forward)."""
        table = coefficients.reshape((*self.shape, 1))
        for axis, basis in enumerate(self.axes):
            if not basis.is_flat:
                table = _along(basis.inverse, table, axis)
            elif basis.size > 1:
                table = expand(table, axis)
        return table.reshape(-1)

    def squares(self, weights: Floats) -> Floats:
        """For every basis function the sum over the cells of its square times the weight."""
        table = weights.reshape((*self.shape, 1))
        for axis, basis in enumerate(self.axes):
            if not basis.is_flat:
                table = _along(partial(basis.squares, resolution=basis.depth), table, axis)
            elif basis.size > 1:
                table = squared_contrasts(table, axis)
        return table.reshape(-1)

    def margin_places(self, resolutions: Sequence[int]) -> Ints:
        """Where the functions that are constant on the cells of a margin stand, in C order.

        `resolutions` has one entry per attribute, 0 for one that is summed out.
        """
        places = np.zeros(1, dtype=np.int64)
        for basis, resolution in zip(self.axes, resolutions, strict=True):
            kept = np.arange(basis.group_count(resolution))
            places = (places[:, None] * basis.size + kept).reshape(-1)
        return places

    def margin_sums(self, resolutions: Sequence[int], cells: Floats) -> Floats:
        """The sums over the cells of a margin, in C order."""
        rest = tuple(axis for axis, level in enumerate(resolutions) if level == 0)
        table = cells.reshape(self.shape).sum(axis=rest, keepdims=True)
        for axis, (basis, level) in enumerate(zip(self.axes, resolutions, strict=True)):
            if 0 < level < basis.depth:
                table = _grouped(table, axis, basis.groups[level], basis.group_count(level))
        return np.asarray(table).reshape(-1)

    def margin_forward(self, resolutions: Sequence[int], sums: NDArray[Any]) -> Floats:
        """The coefficients at `margin_places`, from the sums of the margin's cells."""
        return self._margin(resolutions, sums, squared=False)

    def margin_noise(self, resolutions: Sequence[int]) -> Floats:
        """The variance of these coefficients if every cell of the margin has noise of variance 1.

        Exact for each coefficient; those of one margin are uncorrelated if its groups are equal.
        """
        shape = [b.group_count(r) for b, r in zip(self.axes, resolutions, strict=True)]
        return self._margin(resolutions, np.ones(math.prod(shape)), squared=True)

    def _margin(self, resolutions: Sequence[int], sums: NDArray[Any], *, squared: bool) -> Floats:
        kept = [(b, r) for b, r in zip(self.axes, resolutions, strict=True) if r]
        summed_out = math.prod(b.size for b, r in zip(self.axes, resolutions, strict=True) if not r)
        table = sums.astype(np.float64).reshape([b.group_count(r) for b, r in kept] + [1])
        for axis, (basis, resolution) in enumerate(kept):
            change = basis.squares if squared else basis.forward
            table = _along(partial(change, resolution=resolution), table, axis)
        return table.reshape(-1) * (1.0 / (summed_out if squared else math.sqrt(summed_out)))

    def resolutions(self, margin: Margin, universe: Universe) -> tuple[int, ...]:
        """The resolution of every attribute in a margin; 0 if it is summed out."""
        found = [0] * len(self.shape)
        for name, step in zip(margin.names, margin.coarsening, strict=True):
            axis = universe.names.index(name)
            found[axis] = max(0, self.axes[axis].depth - step)
        return tuple(found)

    @cached_property
    def order(self) -> Ints:
        """The number of attributes that a coefficient belongs to, for every coefficient."""
        return self._per_axis([np.minimum(basis.level, 1) for basis in self.axes])

    @cached_property
    def component(self) -> Ints:
        """The component of every coefficient, as its number."""
        pairs = zip(self.axes, self.strides, strict=True)
        return self._per_axis([basis.level * stride for basis, stride in pairs])

    def levels(self, component: int) -> tuple[int, ...]:
        """The resolution of every attribute in a component."""
        pairs = zip(self.axes, self.strides, strict=True)
        return tuple(component // stride % (basis.depth + 1) for basis, stride in pairs)

    def component_order(self, component: int) -> int:
        """The number of attributes that are not constant."""
        return sum(level > 0 for level in self.levels(component))

    def dimension(self, component: int) -> int:
        """The number of coefficients of a component."""
        found = 1
        for basis, level in zip(self.axes, self.levels(component), strict=True):
            found *= int(basis.starts[level + 1] - basis.starts[level])
        return found

    def cells(self, component: int) -> int:
        """The number of cells of the margin in which a component appears first."""
        levels = self.levels(component)
        return math.prod(b.group_count(level) for b, level in zip(self.axes, levels, strict=True))

    def tables(self, cells: Floats, max_order: int) -> Iterator[tuple[int, Floats]]:
        """The table of sums of every component of order 1 to `max_order`, with its number.

        Nested: a table is summed from a larger one that was summed before.
        """
        yield from self._tables(cells.reshape(self.shape), 0, 0, 0, max_order)

    def _tables(
        self, table: Floats, axis: int, position: int, component: int, left: int
    ) -> Iterator[tuple[int, Floats]]:
        if axis == len(self.shape):
            if component:
                yield component, table.reshape(-1)
            return
        basis = self.axes[axis]
        for level in range(1, basis.depth + 1 if left else 1):
            kept = component + level * self.strides[axis]
            part = table
            if level < basis.depth:
                part = _grouped(table, position, basis.groups[level], basis.group_count(level))
            if left == 1:
                rest = tuple(range(position + 1, table.ndim))
                yield kept, part.sum(axis=rest).reshape(-1)
            else:
                yield from self._tables(part, axis + 1, position + 1, kept, left - 1)
        yield from self._tables(table.sum(axis=position), axis + 1, position, component, left)

    def spread_out(self, component: int, table: Floats) -> Floats:
        """A table of a component's margin as an array that broadcasts over the cells."""
        levels = self.levels(component)
        counts = [b.group_count(level) for b, level in zip(self.axes, levels, strict=True)]
        out = table.reshape(counts)
        for axis, (basis, level) in enumerate(zip(self.axes, levels, strict=True)):
            if 0 < level < basis.depth:
                out = out.take(basis.groups[level], axis=axis)
        return out

    def _per_axis(self, values: list[Ints]) -> Ints:
        """For every coefficient the sum of one value per attribute."""
        total = np.zeros(self.shape, dtype=np.int64)
        for axis, step in enumerate(values):
            total += step.reshape([-1 if i == axis else 1 for i in range(len(self.shape))])
        return total.reshape(-1)


def _along(change: Callable[[Floats], Floats], table: Floats, axis: int) -> Floats:
    """Apply a change of the first axis to another one."""
    return to_place(change(to_front(table, axis)), axis)


def _grouped(table: Floats, axis: int, groups: Ints, count: int) -> Floats:
    source = to_front(table, axis)
    out = np.zeros((count, *source.shape[1:]))
    np.add.at(out, groups, source)
    return to_place(out, axis)
