"""The universe: every cell that a record can fall into, numbered in mixed radix; and its margins.

Margins are the tables of sums that can be measured beside, or instead of, the universe.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth.domain.attribute import Attribute, shorten

DENSE_LIMIT_CELLS = 10**9
"""The largest universe whose cells are all held in memory at once."""

LABELS_SHOWN = 8
"""How many labels of one attribute a message names."""

SEARCH_LIMIT_STEPS = 100_000
"""How far the search for a possible cell goes before it gives up."""


@dataclass(frozen=True)
class Conjunction:
    """A set of cells: for each named attribute, the codes that belong to it.

    An empty conjunction holds every cell.
    """

    codes: Mapping[str, tuple[int, ...]]

    def describe(self, universe: Universe) -> str:
        """Write the conjunction with the names of its levels (`sex=Male, age=17`)."""
        parts = []
        for name, codes in self.codes.items():
            attribute = universe.attribute(name)
            parts.append(f"{name}=" + "|".join(shorten(map(attribute.label, codes), LABELS_SHOWN)))
        return ", ".join(parts) or "all records"


@dataclass(frozen=True)
class PublicTotal:
    """A number of records known from a public source, never computed from the raw data."""

    where: Conjunction
    total: int
    source: str


@dataclass(frozen=True)
class Universe:
    """The product of all attributes, cells numbered with the last attribute fastest (C order).

    Shapes and units: `shape[i]` codes of attribute i; `size` cells as a Python int of any
    magnitude; `strides[i]` cells between neighbouring codes of attribute i.
    """

    attributes: tuple[Attribute, ...]
    impossible: tuple[Conjunction, ...] = ()

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The number of codes of each attribute."""
        return tuple(attribute.size for attribute in self.attributes)

    @cached_property
    def size(self) -> int:
        """The number of cells, impossible ones included."""
        return math.prod(self.shape)

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """The mixed-radix weight of each attribute's code in the cell number."""
        weights = [1]
        for size in reversed(self.shape[1:]):
            weights.append(weights[-1] * size)
        return tuple(reversed(weights))[: len(self.shape)]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The attribute names, in the order of the release's columns."""
        return tuple(attribute.name for attribute in self.attributes)

    def attribute(self, name: str) -> Attribute:
        """The attribute called `name`."""
        return self.attributes[self._places[name]]

    @cached_property
    def sizes(self) -> dict[str, tuple[int, ...]]:
        """Of every attribute how many codes it has, and groups so many steps above them."""
        return {
            each.name: (each.size, *(level.size for level in reversed(each.hierarchy)))
            for each in self.attributes
        }

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}

    def axes(self, names: Sequence[str]) -> tuple[int, ...]:
        """The axis numbers of the named attributes, ascending."""
        return tuple(sorted(self._places[name] for name in names))

    def cell(self, codes: Sequence[int]) -> int:
        """The number of the cell with these codes, one per attribute."""
        return sum(code * stride for code, stride in zip(codes, self.strides, strict=True))

    def codes(self, cells: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """The codes of each cell, one array per attribute (universes below 2**63 cells)."""
        return [
            (cells // stride) % size for stride, size in zip(self.strides, self.shape, strict=True)
        ]

    def members(self, conjunction: Conjunction) -> NDArray[np.bool_]:
        """A flat mask over all cells (C order): True inside the conjunction. Dense universes."""
        inside = np.ones(self.shape, dtype=bool)
        for name, codes in conjunction.codes.items():
            axis = self.names.index(name)
            keep = np.zeros(self.shape[axis], dtype=bool)
            keep[list(codes)] = True
            inside &= keep.reshape([-1 if i == axis else 1 for i in range(len(self.shape))])
        return inside.ravel()

    def possible(self) -> NDArray[np.bool_]:
        """A flat mask over all cells (C order): False where an impossible rule applies."""
        mask = np.ones(self.size, dtype=bool)
        for rule in self.impossible:
            mask &= ~self.members(rule)
        return mask

    def possible_cells(self) -> int:
        """The exact number of cells that no impossible rule covers, for a universe of any size.

        Walks the attributes in order and keeps the rules that still match; cells with the same
        matching rules are counted together, so the work depends on the rules, not on the cells.
        """
        rules = [
            {name: frozenset(codes) for name, codes in rule.codes.items()}
            for rule in self.impossible
        ]
        last = [max((self.names.index(name) for name in rule), default=-1) for rule in rules]

        @cache
        def count(axis: int, matching: frozenset[int]) -> int:
            if any(last[rule] < axis for rule in matching):
                return 0  # a rule has matched on every attribute that it names
            if not matching:
                return math.prod(self.shape[axis:])
            name = self.names[axis]
            total = 0
            for code in range(self.shape[axis]):
                total += count(
                    axis + 1,
                    frozenset(
                        r for r in matching if name not in rules[r] or code in rules[r][name]
                    ),
                )
            return total

        return count(0, frozenset(range(len(rules))))

    def has_possible_cell(self) -> bool | None:
        """Whether some cell is allowed by every impossible rule; None if that is too hard to say.

        Searches attribute by attribute and keeps only the rules that still apply in full, so it
        needs no table of cells and works for a universe of any size.
        """
        named = [
            a for a in self.attributes if any(a.name in rule.codes for rule in self.impossible)
        ]
        # For each attribute and code: the rules that a cell with this code can still fall under.
        applying: list[list[int]] = []
        for attribute in named:
            masks = [0] * attribute.size
            for number, rule in enumerate(self.impossible):
                for code in rule.codes.get(attribute.name, range(attribute.size)):
                    masks[code] |= 1 << number
            applying.append(sorted(set(masks), key=int.bit_count))
        branches = [(0, (1 << len(self.impossible)) - 1)]
        for _ in range(SEARCH_LIMIT_STEPS):
            if not branches:
                return False
            depth, rules = branches.pop()
            if not rules:
                return True
            if depth < len(named):
                branches.extend((depth + 1, rules & mask) for mask in reversed(applying[depth]))
        return None


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
        sizes = universe.sizes
        return tuple(
            sizes[name][steps] for name, steps in zip(self.names, self.coarsening, strict=True)
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
