"""Parts of the model: the interactions that one pair of groups holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from synth.estimate.blockwise_groups import PAIRS, Groups
from synth.estimate.blockwise_pairs import PairTables
from synth.estimate.interactions import Interactions

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_ORDER = 3
"""Interactions of up to this many attributes enter the model."""


@dataclass(frozen=True, eq=False)
class PairPart:
    """The part of the model that one pair of groups holds.

    Shapes: `places` are the coefficients of the pair's interactions that belong to this part,
    ascending; those that an earlier pair has as well are left to it.
    """

    pair: int
    interactions: Interactions
    places: Ints

    @property
    def components(self) -> list[int]:
        """The components of this part."""
        return [int(c) for c in np.unique(self.interactions.component[self.places])]

    def only(self, components: set[int]) -> PairPart:
        """The same part with these components alone."""
        kept = np.isin(self.interactions.component[self.places], sorted(components))
        return replace(self, places=self.places[kept])

    def orders(self) -> dict[int, int]:
        """The number of attributes of every component."""
        return {c: self.interactions.component_order(c) for c in self.components}


def parts_of(groups: Groups) -> tuple[PairPart, ...]:
    """The parts of a universe: each component of up to MAX_ORDER attributes in one of them."""
    found = []
    for pair, modelled in enumerate(groups.is_modelled):
        if not modelled:
            continue
        interactions, axes = groups.interactions(pair), groups.pair_axes(pair)
        kept = []
        for component in np.unique(interactions.component[interactions.order <= MAX_ORDER]):
            levels = interactions.levels(int(component))
            used = frozenset(a for a, level in zip(axes, levels, strict=True) if level)
            if groups.own_pair(used) == pair:
                kept.append(int(component))
        places = np.flatnonzero(np.isin(interactions.component, kept))
        found.append(PairPart(pair, interactions, places))
    return tuple(found)


def function_of(groups: Groups, parts: Sequence[PairPart], theta: Floats) -> PairTables:
    """The function on the cells with these coefficients, those of all parts one after another."""
    tables: list[Floats | None] = [None, None, None]
    end = 0
    for part in parts:
        full = np.zeros(part.interactions.size)
        full[part.places] = theta[end : end + part.places.size]
        end += part.places.size
        first, second = PAIRS[part.pair]
        shape = groups.sizes[first], groups.sizes[second]
        tables[part.pair] = part.interactions.inverse(full).reshape(shape)
    return PairTables((tables[0], tables[1], tables[2]))


def coefficients_of(parts: Sequence[PairPart], sums: PairTables) -> Floats:
    """Inner products of all basis functions with the cells, from sums over pairs of groups."""
    return np.concatenate(
        [
            part.interactions.forward(np.asarray(sums.tables[part.pair]).reshape(-1))[part.places]
            for part in parts
        ]
    )


def squares_of(parts: Sequence[PairPart], weights: PairTables) -> Floats:
    """Sums of squared basis functions times the cells' weights, from sums of the weights."""
    return np.concatenate(
        [
            part.interactions.squares(np.asarray(weights.tables[part.pair]).reshape(-1))[
                part.places
            ]
            for part in parts
        ]
    )
