"""How far the tables of a release are from those of the raw data, beside fresh samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import TYPE_CHECKING

from synth.domain import Universe
from synth.evaluation.table import Table, shares

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_TABLES = 500
"""So many tables of one order are compared; of more, every so many-th."""

LARGEST_KEY = 1 << 63


@dataclass(frozen=True)
class TableDistance:
    """The total variation distance of one table, of the release and of a fresh sample."""

    names: tuple[str, ...]
    release: float
    resampled: float


@dataclass(frozen=True)
class OrderDistances:
    """All compared tables over so many columns."""

    order: int
    tables: tuple[TableDistance, ...]
    possible: int
    """How many tables of this order there are; more than were compared if some were left out."""

    @property
    def mean_release(self) -> float:
        """The mean over the tables, of the release."""
        return math.fsum(table.release for table in self.tables) / max(len(self.tables), 1)

    @property
    def mean_resampled(self) -> float:
        """The mean over the tables, of a fresh sample."""
        return math.fsum(table.resampled for table in self.tables) / max(len(self.tables), 1)

    def worst(self, number: int) -> list[TableDistance]:
        """The tables farthest from the raw data, the farthest first."""
        return sorted(self.tables, key=lambda table: -table.release)[:number]


def total_variation(left: NDArray[np.float64], right: NDArray[np.float64]) -> float:
    """Half the sum of the absolute differences; 1 if one table has records and the other none."""
    if not left.any() or not right.any():
        return float(left.any() != right.any())
    return float(abs(left - right).sum() / 2)


def distances(raw: Table, release: Table, resampled: Table, order: int) -> OrderDistances:
    """Compare the tables over so many columns, each column at its declared resolution."""
    names = raw.universe.names
    found = []
    for axes in _chosen(raw.universe, order):
        of_raw, of_release, of_resampled = shares((raw, release, resampled), axes)
        found.append(
            TableDistance(
                tuple(names[axis] for axis in axes),
                total_variation(of_raw, of_release),
                total_variation(of_raw, of_resampled),
            )
        )
    return OrderDistances(order, tuple(found), math.comb(len(names), order))


def _chosen(universe: Universe, order: int) -> Sequence[tuple[int, ...]]:
    """The axes of the compared tables: all, or evenly spaced ones in the order of the columns."""
    columns = range(len(universe.shape))
    number = math.comb(len(columns), order)
    step = max(1, -(-number // MOST_TABLES))
    chosen = islice(combinations(columns, order), 0, None, step)
    return [
        axes for axes in chosen if math.prod(universe.shape[axis] for axis in axes) < LARGEST_KEY
    ]
