"""Tables of sums beside a universe that cannot be held: what is left of them for the model."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from synth.domain import Margin, Universe
from synth.domain.counts import margin_cells, margin_sums
from synth.domain.universe import nested_sums, nested_sums_by_block
from synth.estimate.listed.levels import posterior_of_levels, simplex
from synth.estimate.sums import LEAST_VARIANCE
from synth.measurements import MeasuredTable

Floats = NDArray[np.float64]
Columns = Sequence[NDArray[Any]]


LARGEST_SUMMED = 20_000_000
"""Sums over two attributes are taken of tables of at most so many cells."""
LARGEST_PAIR = 1_000_000
"""And held if they have at most so many."""

View = tuple[int, int]
"""An attribute and how many steps of its hierarchy it is above its codes."""


@dataclass(frozen=True, eq=False)
class SumTable:
    """One noisy table in which every cell is measured.

    Shapes and units: `values` is float64 with one axis per attribute of the margin, in records;
    `variance` is that of the noise in every cell; `axes` are numbers of attributes.
    """

    margin: Margin
    axes: tuple[int, ...]
    values: Floats
    variance: float

    @staticmethod
    def of(table: MeasuredTable, universe: Universe) -> SumTable:
        """The table as measured."""
        margin = Margin(table.event.table, table.event.coarsening)
        values = table.noisy_counts.astype(np.float64).reshape(margin.shape(universe))
        variance = _variance(table)
        return SumTable(margin, universe.axes(margin.names), values, variance)

    def less(self, columns: Columns, counts: Floats, universe: Universe) -> SumTable:
        """What the table says of the other cells, if these ones hold these counts."""
        if not counts.size:
            return self
        known = margin_sums(columns, counts, universe, self.margin).reshape(self.values.shape)
        return replace(self, values=self.values - known)

    def cells(self, columns: Columns, universe: Universe) -> NDArray[np.int64]:
        """The number of the table's cell of every given cell of the universe."""
        return margin_cells(columns, universe, self.margin)


def _variance(table: MeasuredTable) -> float:
    """That of the noise in every cell, to 24 bits: its last digit depends on the processor."""
    return max(float(np.float32(table.variance)), LEAST_VARIANCE)


def sums_of(table: MeasuredTable, universe: Universe) -> Iterator[SumTable]:
    """A measured table of one or two attributes, or the sums of a larger one over each and two.

    Sums over two attributes are left out where they, or the table, are large.
    """
    margin = Margin(table.event.table, table.event.coarsening)
    shape = margin.shape(universe)
    if len(shape) <= 2:
        yield SumTable.of(table, universe)
        return
    small = table.event.cells <= LARGEST_SUMMED
    chosen = [
        kept
        for order in ((1, 2) if small else (1,))
        for kept in combinations(range(len(shape)), order)
        if math.prod(shape[i] for i in kept) <= LARGEST_PAIR
    ]

    def part(start: int, stop: int) -> NDArray[Any]:
        return table.noisy_counts[start:stop]

    for kept, sums in nested_sums_by_block(part, shape, chosen).items():
        names = tuple(margin.names[i] for i in kept)
        steps = tuple(margin.coarsening[i] for i in kept)
        variance = _variance(table) * (table.event.cells // sums.size)
        values = sums.astype(np.float64)
        yield SumTable(Margin(names, steps), universe.axes(names), values, variance)


def combined(
    tables: Sequence[SumTable], order: int
) -> Iterator[tuple[tuple[View, ...], Floats, float]]:
    """All sums over `order` attributes that the tables give, those alike taken together.

    Sums of one kind from several tables are combined by inverse-variance means.
    """
    found: dict[tuple[View, ...], tuple[Floats, float]] = {}
    for table in tables:
        kept = list(combinations(range(len(table.axes)), order))
        for places, sums in nested_sums(table.values, kept).items():
            view = tuple((table.axes[p], table.margin.coarsening[p]) for p in places)
            variance = table.variance * (table.values.size / max(1, sums.size))
            if view in found:
                weighted, precision = found[view]
                found[view] = weighted + sums / variance, precision + 1.0 / variance
            else:
                found[view] = sums / variance, 1.0 / variance
    for view, (weighted, precision) in sorted(found.items(), key=lambda entry: entry[0]):
        yield view, weighted / precision, 1.0 / precision


def groups_of(universe: Universe, view: View) -> NDArray[np.int64]:
    """The group of every code of an attribute at this resolution."""
    axis, step = view
    return np.asarray(universe.attributes[axis].groups(step), dtype=np.int64)


class OneWay(NamedTuple):
    """What all tables say of one attribute.

    Shapes and units: `shares` has one number >= 0 per code, which sum to one. `step` is the finest
    resolution at which the attribute was measured, None if it was not; `variance` is what the
    sums at it are uncertain by, on average.
    """

    shares: Floats
    step: int | None
    variance: float


def one_way(tables: Sequence[SumTable], universe: Universe, total: float) -> list[OneWay]:
    """For every attribute the share of each code.

    The sums at the codes and at coarser levels are combined from fine to coarse: a group's gap
    is spread evenly over its codes, by the share that their common noise leaves it. Where the codes
    were measured, their posterior means are taken (`levels`); otherwise the sums are brought to the
    total and projected onto the numbers >= 0. An attribute of which no table speaks is even.
    """
    views: dict[int, list[tuple[int, Floats, float]]] = {}
    for ((axis, step),), sums, variance in combined(tables, 1):
        views.setdefault(axis, []).append((step, sums, variance))
    found = []
    for axis, attribute in enumerate(universe.attributes):
        size = attribute.size
        values = np.full(size, max(total, 0.0) / size)
        noise = finest = math.inf
        for step, sums, variance in views.get(axis, []):
            group = groups_of(universe, (axis, step))
            members = np.bincount(group)
            gap = sums - np.bincount(group, weights=values)
            gain = 1.0 if math.isinf(noise) else members * noise / (members * noise + variance)
            values = values + (gap * gain / members)[group]
            noise = min(noise, variance / float(members.mean()))
            finest = min(finest, variance)
        finest_step = views[axis][0][0] if axis in views else None
        if finest_step == 0:
            levels = posterior_of_levels(values, finest, total, ordered=attribute.is_ordered)
            values, finest = levels.mean, float(np.cumsum(levels.variance)[-1]) / size
        else:
            values = simplex(values + (total - float(values.sum())) / size, total)
        mass = float(values.sum())
        shares = values / mass if mass > 0.0 else np.full(size, 1.0 / size)
        found.append(OneWay(shares, finest_step, finest))
    return found
