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

PARTS, PARTS_OF_A_WEIGHT = 256, 32
"""Weights are whole parts of the least power of two that is so many, and so many for every sum that
is weighed: of hundreds the best weights are a few thousandths each. Rounding costs next to nothing,
because the best are flat."""

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
        lower, upper = self.noise.half_widths(2 * below, 2 * above)
        return -((lower - self.total) // divisor), (self.total + upper) // divisor


@dataclass(frozen=True, eq=False)
class MeasuredCells:
    """The measured counts of several queries over the same columns.

    Shapes and units: `totals` as in `MeasuredCount`, an axis per column, in the order of what was
    asked for; `noises[which]` is the noise in each, `which` being of the same shape.
    """

    totals: NDArray[np.int64]
    noises: tuple[CombinedNoise, ...]
    which: NDArray[np.intp]

    @property
    def only(self) -> MeasuredCount:
        """The count of the only query."""
        return MeasuredCount(int(self.totals.item()), self.noises[int(self.which.item())])

    def ends(self, below: float, above: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The ends of each: see `MeasuredCount.ends`."""
        widths = np.array([noise.half_widths(2 * below, 2 * above) for noise in self.noises])
        lower, upper = widths[self.which, 0], widths[self.which, 1]
        divisor = np.array([noise.divisor for noise in self.noises])[self.which]
        return -((lower - self.totals) // divisor), (self.totals + upper) // divisor


@dataclass(frozen=True)
class _Row:
    """A sum of noisy cells of one table: over those inside or outside of every column's codes."""

    cells: int
    table: MeasuredTable
    inside: tuple[bool | None, ...]
    """For every column of the query: inside, outside, or both (None)."""

    @property
    def variance(self) -> float:
        return max(self.cells * self.table.variance, 1e-9)


@dataclass(frozen=True, eq=False)
class _Rows:
    """The sums that are one `_Row` of each of several queries.

    Shapes and units: an axis per column of the queries, of size 1 where the sum is the same.
    """

    totals: NDArray[np.int64]
    cells: NDArray[np.int64]
    table: MeasuredTable
    inside: tuple[bool | None, ...]


Alternatives = Mapping[str, Sequence[tuple[int, ...]]]
"""Several sets of codes for each of some columns: a query for each combination of them."""


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
        found = self.counts({name: [codes] for name, codes in where.codes.items()})
        return None if found is None else found.only

    def counts(self, columns: Alternatives) -> MeasuredCells | None:
        """What `count` says of every combination of alternatives, all at once.

        Requires: alternatives of one column that are alike, see `alike`.
        """
        wanted = (True,) * len(columns)
        every = [
            rows for number in range(len(self._tables)) for rows in self._rows(number, columns)
        ]
        if all(rows.inside != wanted for rows in every):
            return None
        shape = tuple(map(len, columns.values()))
        totals, which = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.intp)
        noises: list[CombinedNoise] = []
        for cells, here in _told_apart(every, shape):
            single = [
                _Row(n, rows.table, rows.inside) for n, rows in zip(cells, every, strict=True)
            ]
            weights, noise = _combination(single, wanted)
            added = np.zeros(shape, dtype=np.int64)
            for weight, rows in zip(weights, every, strict=True):
                if weight:
                    added += weight * rows.totals
            totals[here], which[here] = added[here], len(noises)
            noises.append(noise)
        return MeasuredCells(totals, tuple(noises), which)

    def alike(self, name: str, alternatives: Sequence[tuple[int, ...]]) -> list[list[int]]:
        """Numbers of alternatives that each table either cuts all of or none of, together."""
        found: dict[tuple[bool, ...], list[int]] = {}
        for number, codes in enumerate(alternatives):
            held = tuple(self._groups(name, codes, table) is not None for table in self._tables)
            found.setdefault(held, []).append(number)
        return list(found.values())

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
        whole = list(weights.values())
        total = sum(weight * one for weight, one in zip(whole, sums.tolist(), strict=True))
        rows = [_Row(number, table, ()) for number in cells.tolist()]
        return MeasuredCount(total, _combined(rows, whole, 1))

    def _rows(self, number: int, columns: Alternatives) -> Iterator[_Rows]:
        """The sums of one table; columns that it does not hold, or cuts, are summed out."""
        table = self._tables[number]
        groups = {
            name: [self._groups(name, codes, table) for codes in alternatives]
            for name, alternatives in columns.items()
            if self._groups(name, alternatives[0], table) is not None
        }
        if not groups:
            total, noisy_cells = (
                np.full((1,) * len(columns), number) for number in self._whole(number)
            )
            yield _Rows(total, noisy_cells, table, (None,) * len(columns))
            return
        held = [name for name in table.event.table if name in groups]
        sums, cells = self._summed(number, tuple(held))
        for name in held:
            inside = np.zeros((len(groups[name]), sums.shape[0]), dtype=np.int64)
            for line, taken in enumerate(groups[name]):
                inside[line, taken] = 1
            split = np.stack([1 - inside, inside])
            sums, cells = (np.tensordot(each, split, (0, 2)) for each in (sums, cells))
        # now two axes per column that is held: outside and inside, and its alternatives
        sides = [2 * held.index(name) for name in groups]
        shape = [len(columns[name]) if name in groups else 1 for name in columns]
        order = [*sides, *(axis + 1 for axis in sides)]
        sums, cells = (each.transpose(order) for each in (sums, cells))
        for place in np.ndindex(sums.shape[: len(sides)]):
            side = dict(zip(groups, map(bool, place), strict=True))
            yield _Rows(
                sums[place].reshape(shape),
                cells[place].reshape(shape),
                table,
                tuple(map(side.get, columns)),
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


def _told_apart(
    every: Sequence[_Rows], shape: tuple[int, ...]
) -> Iterator[tuple[list[int], NDArray[np.bool_]]]:
    """How many noisy cells are behind the sums, and the queries of which that is so."""
    if all(rows.cells.min() == rows.cells.max() for rows in every):
        yield [int(rows.cells.flat[0]) for rows in every], np.ones(shape, dtype=bool)
        return
    cells = np.stack([np.broadcast_to(rows.cells, shape).ravel() for rows in every])
    found, which = np.unique(cells, axis=1, return_inverse=True)
    for number in range(found.shape[1]):
        yield found[:, number].tolist(), (which.reshape(shape) == number)


def _combination(rows: Sequence[_Row], wanted: tuple[bool, ...]) -> tuple[list[int], CombinedNoise]:
    """The weight of each row, before its noise's divisor, and the noise of their sum."""
    base = min((row for row in rows if row.inside == wanted), key=lambda row: row.variance)
    if not base.cells:
        return [int(row is base) for row in rows], CombinedNoise((), 1)
    weights, divisor = _whole_weights(rows, base, wanted)
    return weights, _combined(rows, weights, divisor)


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
    parts = max(PARTS, 1 << (PARTS_OF_A_WEIGHT * len(rows) - 1).bit_length())
    sure = np.round(parts * best, SURE_DIGITS)
    weights = np.where(own, 0, np.rint(sure)).astype(np.int64)
    given = holds.T.astype(np.int64) @ weights
    for index in map(int, np.flatnonzero(own)):
        place = places.index(tuple(bool(side) for side in rows[index].inside))
        weights[index] = parts * (places[place] == wanted) - given[place]
    divisor = math.gcd(parts, *map(int, weights))
    return [int(weight) // divisor for weight in weights], parts // divisor


def _holds(inside: tuple[bool | None, ...], place: tuple[bool, ...]) -> bool:
    """Whether a row sums the cells of this combination."""
    return all(side is None or side == here for side, here in zip(inside, place, strict=True))
