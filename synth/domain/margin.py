"""Margins: the tables of sums that can be measured beside, or instead of, the universe."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth.domain.universe import Universe

BLOCK_CELLS = 1 << 20


@dataclass(frozen=True)
class Margin:
    """A set of attributes, each at a declared resolution; the others are summed out.

    `names` are in universe order. `coarsening[i]` says how many steps of its hierarchy the
    attribute names[i] is above its codes; 0 is the finest.
    """

    names: tuple[str, ...]
    coarsening: tuple[int, ...]

    def shape(self, universe: Universe) -> tuple[int, ...]:
        """The number of groups of each attribute, in the order of `names`."""
        attributes = map(universe.attribute, self.names)
        return tuple(
            attribute.size if step == 0 else attribute.hierarchy[-step].size
            for attribute, step in zip(attributes, self.coarsening, strict=True)
        )

    def is_finest(self, universe: Universe) -> bool:
        """Whether its cells are those of the universe."""
        return self.names == universe.names and not any(self.coarsening)

    def cells(self, universe: Universe) -> int:
        """The number of cells of the table."""
        return math.prod(self.shape(universe))

    def sums(self, universe: Universe, values: NDArray[Any]) -> NDArray[Any]:
        """The sums of `values` over the cells of the table, flat in C order.

        Shapes and units: `values` holds one number per cell of the universe; the result has the
        same type and unit. Whole numbers are added as whole numbers.
        """
        axes = universe.axes(self.names)
        rest = tuple(axis for axis in range(len(universe.shape)) if axis not in axes)
        table = np.asarray(values).reshape(universe.shape)
        if rest:
            table = table.sum(axis=rest, dtype=table.dtype)
        for position, (name, step) in enumerate(zip(self.names, self.coarsening, strict=True)):
            if step:
                level = universe.attribute(name).hierarchy[-step]
                table = _grouped(table, position, level.group_of, level.size)
        return np.ascontiguousarray(table).reshape(-1)


def _grouped(table: NDArray[Any], axis: int, groups: tuple[int, ...], size: int) -> NDArray[Any]:
    source = np.moveaxis(table, axis, 0)
    out = np.zeros((size, *source.shape[1:]), dtype=table.dtype)
    np.add.at(out, np.asarray(groups), source)
    return np.moveaxis(out, 0, axis)


def nested_sums(
    table: NDArray[Any], marginals: Sequence[tuple[int, ...]]
) -> dict[tuple[int, ...], NDArray[Any]]:
    """The sums of a table over the axes that each marginal (a tuple of axes, ascending) leaves out.

    Axes are decided one by one, kept or summed out, and marginals share every sum they have in
    common, so that thousands of them cost little more than a few passes over the table.
    """
    found: dict[tuple[int, ...], NDArray[Any]] = {}
    axes = table.ndim

    def decide(table: NDArray[Any], axis: int, kept: tuple[int, ...]) -> None:
        """`table` has the kept axes first, then all axes from `axis` on."""
        wanted = [m for m in open_marginals if m[: len(kept)] == kept]
        wanted = [m for m in wanted if len(m) == len(kept) or m[len(kept)] >= axis]
        if not wanted:
            return
        if axis == axes:
            found[kept] = table
            return
        if any(len(m) == len(kept) or m[len(kept)] > axis for m in wanted):
            decide(table.sum(axis=len(kept)), axis + 1, kept)
        if any(len(m) > len(kept) and m[len(kept)] == axis for m in wanted):
            decide(table, axis + 1, (*kept, axis))

    open_marginals = set(marginals)
    decide(table, 0, ())
    return found


def nested_sums_by_block(
    part: Callable[[int, int], NDArray[Any]],
    shape: tuple[int, ...],
    marginals: Sequence[tuple[int, ...]],
) -> dict[tuple[int, ...], NDArray[np.int64]]:
    """The same of a table too large to hold as 64-bit numbers.

    `part` gives its numbers from one cell to another, in C order. The table is cut along its first
    axes into blocks; in each the marginals share their sums.
    """
    lead = 0
    while math.prod(shape[lead:]) > BLOCK_CELLS and lead < len(shape) - 1:
        lead += 1
    size = math.prod(shape[lead:])
    tails = {m: tuple(axis - lead for axis in m if axis >= lead) for m in marginals}
    sums = {m: np.zeros([shape[axis] for axis in m], dtype=np.int64) for m in marginals}
    for block in range(math.prod(shape[:lead])):
        codes = np.unravel_index(block, shape[:lead]) if lead else ()
        values = part(block * size, (block + 1) * size).astype(np.int64)
        found = nested_sums(values.reshape(shape[lead:]), list(tails.values()))
        for m, tail in tails.items():
            head = tuple(codes[axis] for axis in m if axis < lead)
            sums[m][head] += found[tail]
    return sums
