"""What the noisy tables say of a query by addition alone: an unbiased count and its exact law.

A query is a conjunction: how many records have one of the named codes in each named column.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from synth.domain import Conjunction, Margin, Universe
from synth.measurements.combined_noise import CombinedNoise, summed_noise
from synth.measurements.measurements import MeasuredTable, Measurements
from synth.privacy import TableEvent

WEIGHTS = 256
"""Weights are whole parts of this. Rounding them costs next to nothing: the best are flat."""

LARGEST_MASK_CELLS = 1 << 24
"""In larger universes the noise of impossible cells is added as well."""

SURE_DIGITS = 9
"""Digits of a weight that are the same whatever processor solves for it."""


@dataclass(frozen=True)
class MeasuredCount:
    """A weighted sum of what the tables say: a true count, or sum of weighted counts, and `noise`.

    Shapes and units: `total` is that sum times `noise.divisor`, a whole number, in records.
    """

    total: int
    noise: CombinedNoise

    @property
    def estimate(self) -> float:
        """The sum itself, unbiased; it may be negative."""
        return self.total / self.noise.divisor

    @property
    def sd(self) -> float:
        """The standard deviation of the noise in it, in records."""
        return math.sqrt(self.noise.variance)

    def ends(self, below: float, above: float) -> tuple[int, int]:
        """Whole numbers: the true one is below the first, or above the second, so seldom.

        Each with at most its probability.
        Requires: that the true one is whole; probabilities below one half.
        """
        divisor = self.noise.divisor
        low = -((self.noise.half_width(2 * below) - self.total) // divisor)
        return low, (self.total + self.noise.half_width(2 * above)) // divisor


@dataclass(frozen=True)
class _Row:
    """A sum of noisy cells of one table: over those inside or outside of every column's codes."""

    total: int
    cells: int
    table: MeasuredTable
    inside: tuple[bool | None, ...]
    """For every column of the query: inside, outside, or both (None)."""

    @property
    def variance(self) -> float:
        return max(self.cells * self.table.variance, 1e-9)


class MeasuredCounts:
    """The tables of one release, ready to answer queries by addition."""

    def __init__(self, measurements: Measurements, universe: Universe) -> None:
        """Tables with a threshold answer nothing: the sum of what they leave out is not known."""
        self._universe = universe
        self._tables = [t for t in measurements.tables if t.event.threshold is None]
        self._summed = lru_cache(maxsize=256)(self._sum_to)
        self._whole = cache(self._whole_table)

    @property
    def most_columns(self) -> int:
        """The columns of the largest table."""
        return max((len(table.event.table) for table in self._tables), default=0)

    def count(self, where: Conjunction) -> MeasuredCount | None:
        """The least squares estimate from sums over all tables; None if no table answers alone.

        Every table is summed to the codes of the query and the others, column by column: 2^k sums
        for the k columns that it holds. Of all unbiased weighted sums of these, the one of least
        variance is taken, but for the rounding of its weights.
        Requires: no column of which all codes are taken.
        Ensures: unbiased; the weights depend on the noise of the tables, never on their counts.
        """
        rows = [row for number in range(len(self._tables)) for row in self._rows(number, where)]
        wanted = (True,) * len(where.codes)
        alone = [row for row in rows if row.inside == wanted]
        if not alone:
            return None
        base = min(alone, key=lambda row: row.variance)
        if not base.cells:
            rows = [base]
        weights, divisor = _whole_weights(rows, base, wanted)
        total = sum(weight * row.total for weight, row in zip(weights, rows, strict=True))
        return MeasuredCount(total, _combined(rows, weights, divisor))

    def weighted_sum(
        self, where: Conjunction, column: str, weights: Mapping[int, int]
    ) -> MeasuredCount | None:
        """The sum over codes of a column of weight times count, from the one table that is best.

        None if no table holds the column and those of `where` without cutting one of the codes.
        Requires: a column that is not in `where`.
        Ensures: unbiased; the table is chosen by the noise, never by counts.
        """
        found = [
            known
            for number in range(len(self._tables))
            if (known := self._weighted_sum(number, where, column, weights)) is not None
        ]
        return min(found, key=lambda known: known.noise.variance, default=None)

    def _weighted_sum(
        self, number: int, where: Conjunction, column: str, weights: Mapping[int, int]
    ) -> MeasuredCount | None:
        table = self._tables[number]
        groups = {name: self._groups(name, codes, table) for name, codes in where.codes.items()}
        single = [self._groups(column, (code,), table) for code in weights]
        if None in single or None in groups.values():
            return None
        groups[column] = [group for of_code in single for group in of_code or ()]
        held = tuple(name for name in table.event.table if name in groups)
        chosen = np.ix_(*(groups[name] or () for name in held))
        rest = tuple(axis for axis, name in enumerate(held) if name != column)
        sums, cells = (each[chosen].sum(axis=rest) for each in self._summed(number, held))
        pairs = zip(sums.tolist(), cells.tolist(), strict=True)
        rows = [_Row(count, noises, table, ()) for count, noises in pairs]
        whole = list(weights.values())
        total = sum(weight * row.total for weight, row in zip(whole, rows, strict=True))
        return MeasuredCount(total, _combined(rows, whole, 1))

    def _rows(self, number: int, where: Conjunction) -> Iterator[_Row]:
        """The sums of one table; columns that it does not hold, or cuts, are summed out."""
        table = self._tables[number]
        groups = {name: self._groups(name, codes, table) for name, codes in where.codes.items()}
        held = tuple(name for name, inside in groups.items() if inside is not None)
        if not held:
            total, noisy_cells = self._whole(number)
            yield _Row(total, noisy_cells, table, (None,) * len(groups))
            return
        sums, cells = self._summed(number, held)
        for axis, name in enumerate(held):
            inside = np.zeros(sums.shape[axis], dtype=np.int64)
            inside[groups[name]] = 1
            split = np.stack([1 - inside, inside])
            sums, cells = (
                np.moveaxis(np.tensordot(split, each, (1, axis)), 0, axis) for each in (sums, cells)
            )
        for place in np.ndindex(sums.shape):
            sides = dict(zip(held, map(bool, place), strict=True))
            yield _Row(
                int(sums[place]), int(cells[place]), table, tuple(map(sides.get, where.codes))
            )

    def _groups(self, name: str, codes: Sequence[int], table: MeasuredTable) -> list[int] | None:
        """The groups of these codes in the table; None where it is not fine enough, or without."""
        steps = dict(zip(table.event.table, table.event.coarsening, strict=True))
        if name not in steps:
            return None
        group_of = self._universe.attribute(name).groups(steps[name])
        inside = {group_of[code] for code in codes}
        if sum(group in inside for group in group_of) != len(codes):
            return None
        return sorted(inside)

    def _whole_table(self, number: int) -> tuple[int, int]:
        """The sum of a table, and the noisy cells behind it."""
        total, cells = self._sum_to(number, ())
        return int(total), int(cells)

    def _sum_to(
        self, number: int, names: tuple[str, ...]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """A table summed to some of its columns: noisy counts, and noisy cells behind each.

        Cells that are impossible are known to be empty; they are left out, and their noise too.
        """
        table = self._tables[number]
        margin = Margin(table.event.table, table.event.coarsening)
        shape = margin.shape(self._universe)
        rest = tuple(i for i, name in enumerate(margin.names) if name not in names)
        noisy = table.noisy_counts.reshape(shape)
        if self._possible is None:
            cells = math.prod(shape[i] for i in rest)
            sums = noisy.sum(axis=rest, dtype=np.int64)
            return sums, np.full(sums.shape, cells, dtype=np.int64)
        possible = (margin.sums(self._universe, self._possible) > 0).reshape(shape)
        sums = np.where(possible, noisy, 0).sum(axis=rest, dtype=np.int64)
        return sums, possible.sum(axis=rest, dtype=np.int64)

    @cached_property
    def _possible(self) -> NDArray[np.int64] | None:
        """1 for possible cells; None if all are, or if there are too many to look."""
        if not self._universe.impossible or self._universe.size > LARGEST_MASK_CELLS:
            return None
        return self._universe.possible().astype(np.int64)


def _combined(rows: Sequence[_Row], weights: Sequence[int], divisor: int) -> CombinedNoise:
    """The noise of a weighted sum: noises of one law and weight together, in one order.

    So queries that differ in nothing but whose noise it is have one noise, and one law to compute.
    """
    cells: dict[tuple[tuple[object, ...], int], int] = {}
    events: dict[tuple[tuple[object, ...], int], TableEvent] = {}
    for weight, row in zip(weights, rows, strict=True):
        if weight and row.cells:
            key = row.table.event.noise, abs(weight)
            cells[key] = cells.get(key, 0) + row.cells
            events[key] = row.table.event
    noises = (summed_noise(events[key], count, key[1]) for key, count in cells.items())
    in_order = sorted(noises, key=lambda one: (one.rate or 0, one.sigma_squared or 0, one.weight))
    return CombinedNoise(tuple(in_order), divisor)


def _whole_weights(
    rows: Sequence[_Row], base: _Row, wanted: tuple[bool, ...]
) -> tuple[list[int], int]:
    """Whole weights and their divisor: unbiased exactly, of least variance but for rounding.

    The weights of all other tables are rounded; those of the table of `base` make up for whatever
    these give to each combination of inside and outside.
    """
    if len(rows) == 1:
        return [1], 1
    places = list(product((False, True), repeat=len(wanted)))
    holds = np.array([[_holds(row.inside, place) for place in places] for row in rows])
    design = holds.astype(np.float64)
    precise = design / np.array([[row.variance] for row in rows])
    target = np.array([place == wanted for place in places], dtype=np.float64)
    best = precise @ np.linalg.solve(design.T @ precise, target)
    own = np.array([row.table is base.table for row in rows])
    sure = np.round(WEIGHTS * best, SURE_DIGITS)
    weights = np.where(own, 0, np.rint(sure)).astype(np.int64)
    given = holds.T.astype(np.int64) @ weights
    for index in map(int, np.flatnonzero(own)):
        place = places.index(tuple(bool(side) for side in rows[index].inside))
        weights[index] = WEIGHTS * (places[place] == wanted) - given[place]
    divisor = math.gcd(WEIGHTS, *map(int, weights))
    return [int(weight) // divisor for weight in weights], WEIGHTS // divisor


def _holds(inside: tuple[bool | None, ...], place: tuple[bool, ...]) -> bool:
    """Whether a row sums the cells of this combination."""
    return all(side is None or side == here for side, here in zip(inside, place, strict=True))
