"""Noisy sums of a large universe: what the tables of sums say about every pair of groups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from synth.domain import Margin, Universe
from synth.estimate.blocks.groups import PAIRS, Groups, PairTables
from synth.estimate.interactions import Interactions
from synth.estimate.loglinear import MAX_ORDER
from synth.estimate.one_way_matrix import Singles
from synth.estimate.sums import LEAST_VARIANCE, NoisyCoefficients, noisy_coefficients, trusted
from synth.measurements import MeasuredTable

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PairSums:
    """For every part of the model: its coefficients as the noisy sums tell them, or None.

    A table whose attributes lie in all three groups is used through its sums over each pair.
    """

    groups: Groups
    parts: tuple[PairPart, ...]
    coefficients: tuple[NoisyCoefficients | None, ...]

    @classmethod
    def of(
        cls,
        tables: Sequence[MeasuredTable],
        groups: Groups,
        parts: tuple[PairPart, ...],
        *,
        cells: tuple[MeasuredTable, PairTables] | None = None,
        cells_variance: float = math.inf,
    ) -> PairSums:
        """Combine the tables, pair by pair; `cells` is one of all cells, with its sums.

        `cells_variance` is that of the noise of cells which were measured but are not combined.
        """
        found = []
        for part in parts:
            universe = groups.pair_universe(part.pair)
            inside = [_inside(table, groups, universe) for table in tables]
            if cells is not None:
                sums_of_pair = np.asarray(cells[1].tables[part.pair]).reshape(-1)
                inside.append(_moved(cells[0], universe, sums_of_pair))
            known = cells_variance * (groups.universe.size / universe.size)
            sums = noisy_coefficients(inside, part.interactions, universe, cells_variance=known)
            found.append(None if sums is None else _only(sums, part.places))
        return cls(groups, parts, tuple(found))

    @property
    def are_there(self) -> bool:
        """Whether any table says anything."""
        return any(each is not None for each in self.coefficients)

    def components(self, number: int) -> set[int]:
        """The components that part `number` can learn from these tables."""
        each = self.coefficients[number]
        return set() if each is None else {int(c) for c in each.interactions.component[each.places]}

    def gaps(self, expected: PairTables) -> list[Floats | None]:
        """For every part: noisy less expected coefficients; `expected` holds sums over pairs."""
        found: list[Floats | None] = []
        for part, each in zip(self.parts, self.coefficients, strict=True):
            if each is None:
                found.append(None)
                continue
            table = np.asarray(expected.tables[part.pair]).reshape(-1)
            found.append(each.values - each.interactions.forward(table)[each.places])
        return found

    def spreads(self, variance: PairTables) -> list[Floats | None]:
        """For every part: the variance of its coefficients, from sums of the cells' variances."""
        return [
            None
            if each is None
            else each.interactions.squares(np.asarray(variance.tables[part.pair]).reshape(-1))[
                each.places
            ]
            for part, each in zip(self.parts, self.coefficients, strict=True)
        ]

    @property
    def precision(self) -> Floats:
        """That of all coefficients, one after another."""
        return np.concatenate([each.precision for each in self.coefficients if each is not None])

    def singles(self) -> Singles | None:
        """Where coefficients stand, one after another, if all are of single attributes."""
        known = [
            (part, each)
            for part, each in zip(self.parts, self.coefficients, strict=True)
            if each is not None
        ]
        places = [(part, each.places) for part, each in known]
        return singles_of(self.groups, places)

    def trusted(self, gaps: list[Floats | None], spreads: list[Floats | None]) -> PairSums:
        """More weight where the expected counts are off by more than they should; see `sums`."""
        firm = tuple(
            None if each is None or gap is None or spread is None else trusted(each, gap, spread)
            for each, gap, spread in zip(self.coefficients, gaps, spreads, strict=True)
        )
        return replace(self, coefficients=firm)

    def split(self, joined: Floats) -> list[Floats | None]:
        """One number per coefficient, given one after another, by parts."""
        found: list[Floats | None] = []
        end = 0
        for each in self.coefficients:
            size = 0 if each is None else each.places.size
            found.append(None if each is None else joined[end : end + size])
            end += size
        return found

    def expand(self, coefficients: Sequence[Floats | None]) -> PairTables:
        """The function on the cells that has these coefficients."""
        tables: list[Floats | None] = [None, None, None]
        for part, each, own in zip(self.parts, self.coefficients, coefficients, strict=True):
            first, second = PAIRS[part.pair]
            shape = self.groups.sizes[first], self.groups.sizes[second]
            if each is None or own is None:
                tables[part.pair] = np.zeros(shape)
                continue
            full = np.zeros(each.interactions.size)
            full[each.places] = own
            tables[part.pair] = each.interactions.inverse(full).reshape(shape)
        return PairTables((tables[0], tables[1], tables[2]))


def _inside(table: MeasuredTable, groups: Groups, universe: Universe) -> MeasuredTable:
    """The sums of a table over the attributes of a pair, with their noise."""
    shape = Margin(table.event.table, table.event.coarsening).shape(groups.universe)
    rest = tuple(i for i, name in enumerate(table.event.table) if name not in universe.names)
    sums = table.noisy_counts.reshape(shape).sum(axis=rest, dtype=np.int64).reshape(-1)
    return _moved(table, universe, sums)


def _moved(table: MeasuredTable, universe: Universe, sums: NDArray[np.int64]) -> MeasuredTable:
    """The table of these sums, over the attributes that a pair has."""
    event = table.event
    kept = [i for i, name in enumerate(event.table) if name in universe.names]
    moved = replace(
        event,
        table=tuple(event.table[i] for i in kept),
        coarsening=tuple(event.coarsening[i] for i in kept),
        cells=sums.size,
    )
    factor = event.cells / sums.size
    return MeasuredTable(moved, sums, max(table.variance, LEAST_VARIANCE) * factor)


def _only(sums: NoisyCoefficients, places: NDArray[np.int64]) -> NoisyCoefficients:
    kept = np.isin(sums.places, places)
    return replace(
        sums,
        places=sums.places[kept],
        values=sums.values[kept],
        precision=sums.precision[kept],
    )


# Parts of the model: the interactions that one pair of groups holds.


Ints = NDArray[np.int64]


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

    @property
    def largest_order(self) -> int:
        """The most attributes that a component of this part has."""
        return max(map(self.interactions.component_order, self.components), default=0)

    def only(self, components: set[int]) -> PairPart:
        """The same part with these components alone."""
        kept = np.isin(self.interactions.component[self.places], sorted(components))
        return replace(self, places=self.places[kept])


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


def singles_of(groups: Groups, parts: Sequence[tuple[PairPart, Ints]]) -> Singles | None:
    """Where coefficients of parts stand, one after another, if all are of single attributes.

    Each part is given with the places of its coefficients.
    """
    return Singles.of(
        [(part.interactions, places, groups.pair_axes(part.pair)) for part, places in parts]
    )


def joined(parts: Sequence[Floats | None]) -> Floats:
    """The numbers of all parts, one after another."""
    return np.concatenate([part for part in parts if part is not None])


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
