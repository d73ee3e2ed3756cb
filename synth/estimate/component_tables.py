"""Components of few attributes, in a few tables that hold them all."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, pairwise

import numpy as np
from numpy.typing import NDArray

from synth.estimate.interactions import Interactions

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

_GROUPS = 4
"""Attributes are cut into so many runs: any three attributes lie in three of them."""
_SMALL = 1 << 15
"""Of fewer cells a transform of all takes no longer than those of several tables."""


@dataclass(frozen=True, eq=False)
class _Table:
    """One table, and the components that are read from it.

    `runs` are the sizes of runs of attributes, in turn kept and summed out; `is_kept` says which.
    `places` are the coefficients of all cells, `own` those of the table that they are but for
    `scale`: their numbers, or of a table of all cells one mask for both.
    """

    interactions: Interactions
    runs: tuple[int, ...]
    is_kept: tuple[bool, ...]
    own: Ints | Mask
    places: Ints | Mask
    scale: float

    @property
    def is_every(self) -> bool:
        """Whether it has all coefficients of all cells."""
        return self.own.dtype == np.bool_ and bool(self.own.all())

    def sums(self, cells: Floats) -> Floats:
        """The sums of the cells, run after run from the last."""
        table = cells.reshape(self.runs)
        for axis in reversed(range(len(self.runs))):
            if not self.is_kept[axis]:
                table = table.sum(axis=axis)
        return table.reshape(-1)

    def spread(self, table: Floats) -> Floats:
        """The table as an array that broadcasts over the cells in their runs."""
        runs = zip(self.runs, self.is_kept, strict=True)
        return table.reshape([size if kept else 1 for size, kept in runs])


class ComponentTables:
    """Transforms between the cells and the coefficients of some components.

    A transform of all cells passes over them once for every attribute. Where components have few
    attributes, sums over a few sets of attributes hold them all: then the cells are read once for
    each set, and what is transformed is small.
    """

    def __init__(self, interactions: Interactions, components: Iterable[int]) -> None:
        """Choose the tables; every component is read from the first one that holds it."""
        self._interactions = interactions
        left = {each: _axes_of(interactions, each) for each in components}
        self._tables = []
        for axes in _sets_of_axes(interactions, set(left.values())):
            held = [component for component, own in left.items() if own <= axes]
            for component in held:
                del left[component]
            self._tables.append(_table(interactions, sorted(axes), held))
        self._are_all = len(self._tables) == 1 and self._tables[0].is_every

    def forward(self, cells: Floats) -> Floats:
        """`Interactions.forward` for these components; all other coefficients are 0."""
        if self._are_all:
            return self._interactions.forward(cells)
        found = np.zeros(self._interactions.size)
        for table in self._tables:
            coefficients = table.interactions.forward(table.sums(cells))
            found[table.places] = coefficients[table.own] * table.scale
        return found

    def inverse(self, coefficients: Floats) -> Floats:
        """The function on the cells with the coefficients of these components, and no others."""
        if self._are_all:
            return self._interactions.inverse(coefficients)
        found = np.zeros(self._interactions.size)
        for table in self._tables:
            own = np.zeros(table.interactions.size)
            own[table.own] = coefficients[table.places] * table.scale
            cells = found.reshape(table.runs)
            cells += table.spread(table.interactions.inverse(own))
        return found

    def squares(self, weights: Floats) -> Floats:
        """`Interactions.squares` for these components; all others have 0."""
        if self._are_all:
            return self._interactions.squares(weights)
        found = np.zeros(self._interactions.size)
        for table in self._tables:
            squares = table.interactions.squares(table.sums(weights))
            found[table.places] = squares[table.own] * (table.scale * table.scale)
        return found


def _axes_of(interactions: Interactions, component: int) -> frozenset[int]:
    levels = interactions.levels(component)
    return frozenset(axis for axis, level in enumerate(levels) if level)


def _table(interactions: Interactions, axes: Sequence[int], components: Sequence[int]) -> _Table:
    """The table over these attributes, for these of its components."""
    shape = interactions.shape
    if math.prod(shape[axis] for axis in axes) == interactions.size:
        asked = np.isin(interactions.component, components)
        return _Table(interactions, (interactions.size,), (True,), asked, asked, 1.0)
    own = Interactions(
        tuple(shape[axis] for axis in axes), [interactions.axes[axis] for axis in axes]
    )
    numbers = []
    for component in components:
        levels = interactions.levels(component)
        numbers.append(sum(levels[a] * s for a, s in zip(axes, own.strides, strict=True)))
    chosen = np.flatnonzero(np.isin(own.component, numbers))
    depths = [b.depth if axis in axes else 0 for axis, b in enumerate(interactions.axes)]
    places = interactions.margin_places(depths)[chosen]
    runs: list[int] = []
    kept: list[bool] = []
    for axis, size in enumerate(shape):
        if kept and kept[-1] == (axis in axes):
            runs[-1] *= size
        else:
            runs.append(size)
            kept.append(axis in axes)
    scale = 1.0 / math.sqrt(interactions.size / own.size)
    return _Table(own, tuple(runs), tuple(kept), chosen, places, scale)


def _sets_of_axes(interactions: Interactions, asked: set[frozenset[int]]) -> list[frozenset[int]]:
    """Sets of attributes, in which each of those that are asked for lies.

    Themselves, where they are few; else all runs of attributes but one, and what does not fit. All
    attributes of several levels where that is no more work.
    """
    shape = interactions.shape
    every = frozenset(axis for axis, size in enumerate(shape) if size > 1)
    largest = [axes for axes in asked if not any(axes < other for other in asked)]
    found = sorted(largest, key=sorted)
    if len(found) > _GROUPS:
        bounds = _cut(shape)
        runs = [frozenset(range(*ends)) for ends in pairwise(bounds)]
        parts = [every - run for run in runs if run & every]
        found = parts + [axes for axes in found if not any(axes <= part for part in parts)]
    cells = sum(math.prod(shape[axis] for axis in axes) for axes in found)
    is_worth_it = interactions.size > max(_SMALL, 2 * cells) and len(found) <= len(shape)
    return found if is_worth_it else [every]


def _cut(shape: Sequence[int]) -> tuple[int, ...]:
    """Where runs begin and the last one ends, so that the tables without one of them are small."""

    def cells(bounds: tuple[int, ...]) -> int:
        ends = (0, *bounds, len(shape))
        sizes = [math.prod(shape[a:b]) for a, b in pairwise(ends)]
        return sum(math.prod(shape) // size for size in sizes)

    places = range(len(shape) + 1)
    inner = min(combinations_with_replacement(places, _GROUPS - 1), key=cells)
    return (0, *inner, len(shape))
