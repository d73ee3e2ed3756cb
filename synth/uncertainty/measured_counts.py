"""What the noisy tables say of a query by addition alone: an unbiased count and its exact law."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from synth.domain import Margin, Universe
from synth.measurements import MeasuredTable, Measurements
from synth.uncertainty.combined_noise import CombinedNoise, summed_noise
from synth.uncertainty.query import Query

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WEIGHTS = 32
"""Weights of tables are whole parts of this. Rounding them costs less than 1 % of the variance."""

LARGEST_MASK_CELLS = 1 << 24
"""In larger universes the noise of impossible cells is added as well."""


@dataclass(frozen=True)
class MeasuredCount:
    """The weighted mean of what the tables say, true count plus `noise`.

    Shapes and units: `total` is that mean times `noise.divisor`, a whole number, in records.
    """

    total: int
    noise: CombinedNoise

    @property
    def estimate(self) -> float:
        """The mean itself, unbiased; it may be negative."""
        return self.total / self.noise.divisor

    @property
    def sd(self) -> float:
        """The standard deviation of the noise in it, in records."""
        return math.sqrt(self.noise.variance)

    def interval(self, level: float) -> tuple[int, int]:
        """Whole counts that hold the true one with at least this probability; none below 0.

        If all of them are negative, the interval is 0 to 0: that can only cover more.
        """
        width, divisor = self.noise.half_width(1 - level), self.noise.divisor
        low = -((width - self.total) // divisor)
        high = (self.total + width) // divisor
        return max(low, 0), max(high, 0)


@dataclass(frozen=True)
class _Part:
    total: int
    cells: int
    table: MeasuredTable


class MeasuredCounts:
    """The tables of one release, ready to answer queries by addition."""

    def __init__(self, measurements: Measurements, universe: Universe) -> None:
        """Tables with a threshold answer nothing: the sum of what they leave out is not known."""
        self._universe = universe
        self._tables = [t for t in measurements.tables if t.event.threshold is None]
        self._summed = lru_cache(maxsize=64)(self._sum_to)

    def count(self, query: Query) -> MeasuredCount | None:
        """The best weighted mean over all tables that answer the query; None if none does.

        Ensures: unbiased; the weights depend on the noise of the tables, never on their counts.
        """
        parts = list(self._answers(query))
        if not parts:
            return None
        known = [part for part in parts if not part.cells]
        if known:
            parts = known[:1]
        shares = [1 / (part.table.variance * max(part.cells, 1)) for part in parts]
        weights = _whole_weights(shares)
        total = sum(weight * part.total for weight, part in zip(weights, parts, strict=True))
        noises = tuple(
            summed_noise(part.table.event, part.cells, weight)
            for weight, part in zip(weights, parts, strict=True)
            if weight
        )
        return MeasuredCount(total, CombinedNoise(noises))

    def _answers(self, query: Query) -> Iterator[_Part]:
        """What each table says that is fine enough: the sum of its cells, and how many they are."""
        import numpy as np

        for number, table in enumerate(self._tables):
            groups = self._groups(query, table)
            if groups is None:
                continue
            sums, cells = self._summed(number, query.columns)
            chosen = np.ix_(*groups)
            yield _Part(int(sums[chosen].sum()), int(cells[chosen].sum()), table)

    def _groups(self, query: Query, table: MeasuredTable) -> list[list[int]] | None:
        """The groups of the query's columns in the table; None where it is not fine enough."""
        found = []
        steps = dict(zip(table.event.table, table.event.coarsening, strict=True))
        for name, codes in query.where.codes.items():
            if name not in steps:
                return None
            group_of = self._universe.attribute(name).groups(steps[name])
            inside = {group_of[code] for code in codes}
            if sum(group in inside for group in group_of) != len(codes):
                return None
            found.append(sorted(inside))
        return found

    def _sum_to(
        self, number: int, names: tuple[str, ...]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """A table summed to some of its columns: noisy counts, and noisy cells behind each.

        Cells that are impossible are known to be empty; they are left out, and their noise too.
        """
        import numpy as np

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
        import numpy as np

        if not self._universe.impossible or self._universe.size > LARGEST_MASK_CELLS:
            return None
        return self._universe.possible().astype(np.int64)


def _whole_weights(shares: list[float]) -> list[int]:
    """Whole weights in about these proportions, reduced; the largest is never 0."""
    total = sum(shares)
    weights = [round(WEIGHTS * share / total) for share in shares]
    weights[shares.index(max(shares))] += not any(weights)
    divisor = math.gcd(*weights)
    return [weight // divisor for weight in weights]
