"""Groups: three runs of neighbouring attributes, so that two of them at a time fit in memory."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from synth.domain import Universe
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

    @classmethod
    def of(cls, universe: Universe) -> Groups:
        """The cut with the smallest tables of pairs; of equal ones the first."""

        def size(bounds: tuple[int, ...]) -> int:
            parts = _sizes(universe.shape, bounds)
            return sum(parts[i] * parts[j] for i, j in PAIRS)

        places = range(len(universe.shape) + 1)
        first, second = min(combinations_with_replacement(places, 2), key=size)
        return cls(universe, (first, second))

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
        sizes = [self.sizes[i] * self.sizes[j] for i, j in PAIRS]
        return (
            sizes[0] <= PAIR_LIMIT_CELLS,
            sizes[1] <= PAIR_LIMIT_CELLS,
            sizes[2] <= PAIR_LIMIT_CELLS,
        )

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
