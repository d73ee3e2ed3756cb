"""Groups: three runs of neighbouring attributes, so that two of them at a time fit in memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth.domain import PublicTotal, Universe
from synth.domain.totals import Atoms, atoms_of, coarsen, code_groups
from synth.estimate.interactions import Interactions

Floats = NDArray[np.float64]

PAIRS = ((0, 1), (0, 2), (1, 2))
"""The groups of every pair, in the order in which tables of pairs are listed."""
PAIR_LIMIT_CELLS = 1 << 24
"""Two groups with more cells than this together have no interactions between them."""


@dataclass(frozen=True, eq=False)
class Groups:
    """The attributes of a universe, cut into three groups of neighbours; some may be empty.

    With the groups' own cells numbered in C order, cell (o, p, q) of the universe has the number
    (o * sizes[1] + p) * sizes[2] + q. A function on a pair of groups is a function on the cells
    that is constant along the third. Every set of attributes that leaves one group out is
    inside a pair: all pairs of attributes are, and most triples.
    """

    universe: Universe
    bounds: tuple[int, int]
    """The first attribute of the second group, and of the third."""
    by_single: bool = False
    """Whether a pair that is the whole universe is not modelled."""

    @classmethod
    def of(cls, universe: Universe, *, by_single: bool = False) -> Groups:
        """The cut with the smallest tables of pairs; of equal ones the first."""

        def size(bounds: tuple[int, ...]) -> int:
            parts = _sizes(universe.shape, bounds)
            return sum(parts[i] * parts[j] for i, j in PAIRS)

        places = range(len(universe.shape) + 1)
        first, second = min(combinations_with_replacement(places, 2), key=size)
        return cls(universe, (first, second), by_single)

    @cached_property
    def sizes(self) -> tuple[int, int, int]:
        """The number of cells of each group."""
        return _sizes(self.universe.shape, self.bounds)

    def axes(self, group: int) -> range:
        """The attributes of a group, as axes of the universe."""
        ends = (0, *self.bounds, len(self.universe.shape))
        return range(ends[group], ends[group + 1])

    @cached_property
    def is_modelled(self) -> tuple[bool, bool, bool]:
        """For every pair: whether its table is held, and its interactions are fitted."""
        limit = min(PAIR_LIMIT_CELLS, self.universe.size - 1 if self.by_single else math.inf)
        first, second, third = (self.sizes[i] * self.sizes[j] <= limit for i, j in PAIRS)
        return first, second, third

    def pair_axes(self, pair: int) -> tuple[int, ...]:
        """The attributes of a pair, as axes of the universe."""
        first, second = PAIRS[pair]
        return (*self.axes(first), *self.axes(second))

    def pair_universe(self, pair: int) -> Universe:
        """The universe of the attributes of a pair, without rules."""
        return Universe(tuple(self.universe.attributes[axis] for axis in self.pair_axes(pair)))

    def interactions(self, pair: int) -> Interactions:
        """The interactions of the attributes of a pair, as functions on its cells."""
        return Interactions.of(self.pair_universe(pair))

    def own_pair(self, axes: frozenset[int]) -> int | None:
        """The first modelled pair that holds all these attributes, if there is one."""
        for pair, modelled in enumerate(self.is_modelled):
            if modelled and axes <= set(self.pair_axes(pair)):
                return pair
        return None


def _sizes(shape: tuple[int, ...], bounds: tuple[int, ...]) -> tuple[int, int, int]:
    first, second = bounds
    return math.prod(shape[:first]), math.prod(shape[first:second]), math.prod(shape[second:])


# Tables of pairs: one number for every cell of every two groups of attributes.


Table = NDArray[Any] | None


@dataclass(frozen=True, eq=False)
class PairTables:
    """A function on the cells: the sum, or the product, of one function on each pair of groups.

    Shapes: for the groups i < j of `PAIRS` an array of sizes[i] rows and sizes[j] columns; None
    for a pair that is not modelled.
    """

    tables: tuple[Table, Table, Table]

    def of_each(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> PairTables:
        """The same change of every table."""
        first, second, third = (None if t is None else change(t) for t in self.tables)
        return PairTables((first, second, third))

    def with_each(
        self, other: PairTables, combine: Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]
    ) -> PairTables:
        """Every table combined with that of another; where one has none, that of the other."""
        first, second, third = (
            right if left is None else left if right is None else combine(left, right)
            for left, right in zip(self.tables, other.tables, strict=True)
        )
        return PairTables((first, second, third))

    def with_table(self, pair: int, table: NDArray[Any]) -> PairTables:
        """The same with another table for one pair."""
        parts = list(self.tables)
        parts[pair] = table
        return PairTables((parts[0], parts[1], parts[2]))

    def minus(self, other: PairTables) -> PairTables:
        """The difference."""
        return self.with_each(other, np.subtract)

    def shifted(self, shift: float) -> PairTables:
        """The sum with a constant, which the first table takes."""
        place = next(i for i, table in enumerate(self.tables) if table is not None)
        parts = list(self.tables)
        parts[place] = np.asarray(parts[place]) + shift
        return PairTables((parts[0], parts[1], parts[2]))

    def each(self) -> list[PairTables]:
        """The functions whose sum, or product, this is: each of one pair alone."""
        first, second, third = self.tables
        alone = [
            PairTables((first, None, None)),
            PairTables((None, second, None)),
            PairTables((None, None, third)),
        ]
        return [one for one, table in zip(alone, self.tables, strict=True) if table is not None]

    def single(self) -> PairTables:
        """The same in single precision."""
        return self.of_each(lambda table: table.astype(np.float32))

    def total(self) -> float:
        """For tables of sums: the sum over all cells, which every table gives."""
        return next(float(table.sum()) for table in self.tables if table is not None)


# Rules on the cells of a large universe: impossible ones, and the atoms of required totals.


Ints = NDArray[np.int64]

_MASKS_KEPT = 64


class CellRules:
    """Which cells are possible, and to which atom of the required totals each one belongs.

    Rules and totals cannot tell apart codes that the same of them name. So they are asked of the
    coarse universe in which such codes are one. The number of a cell's coarse cell is the sum of
    one number for each group of attributes.
    """

    def __init__(self, groups: Groups, totals: Sequence[PublicTotal]) -> None:
        """Make the coarse universe for the impossible rules and these totals."""
        universe = groups.universe
        wheres = [total.where for total in totals]
        small, moved = coarsen(universe, wheres)
        group_of = code_groups(universe, wheres)
        self._possible = small.possible()
        self._parts = []
        for group in range(3):
            part = np.zeros((), dtype=np.int64)
            for axis in groups.axes(group):
                attribute = universe.attributes[axis]
                if attribute.name in group_of:
                    stride = small.strides[small.names.index(attribute.name)]
                    step = np.array(group_of[attribute.name], dtype=np.int64) * stride
                else:
                    step = np.zeros(attribute.size, dtype=np.int64)
                part = np.add.outer(part, step)
            self._parts.append(part.reshape(-1))
        self.all_possible = not universe.impossible
        self._masks: dict[tuple[int, int, int], NDArray[np.float32]] = {}
        self.atoms: Atoms | None = None
        """The atoms of the coarse universe, if any total is required."""
        if totals:
            coarse = [
                PublicTotal(where, total.total, total.source)
                for where, total in zip(moved, totals, strict=True)
            ]
            self.atoms = atoms_of(small, coarse)

    def possible_block(self, o: int, start: int, stop: int) -> NDArray[np.float32] | None:
        """1 for every possible cell of a block and 0 for the others; None if all are possible."""
        if self.all_possible:
            return None
        key = (int(self._parts[0][o]), start, stop)
        mask = self._masks.get(key)
        if mask is None:
            mask = self._possible[self._coarse(o, start, stop)].astype(np.float32)
            if len(self._masks) >= _MASKS_KEPT:
                self._masks.clear()
            self._masks[key] = mask
        return mask

    def possible_cells(self, places: Sequence[Ints]) -> NDArray[np.bool_]:
        """For cells by their places in the three groups: whether each is possible."""
        numbers = [part[place] for part, place in zip(self._parts, places, strict=True)]
        return np.asarray(self._possible[numbers[0] + numbers[1] + numbers[2]])

    def atoms_of_block(self, o: int, start: int, stop: int) -> Ints:
        """The atom of every cell of a block, flat; -1 for impossible ones."""
        coarse = self._coarse(o, start, stop).reshape(-1)
        if self.atoms is None:
            return np.where(self._possible[coarse], 0, -1)
        return self.atoms.atom_of[coarse]

    def _coarse(self, o: int, start: int, stop: int) -> Ints:
        return np.asarray(
            self._parts[0][o] + np.add.outer(self._parts[1][start:stop], self._parts[2])
        )
