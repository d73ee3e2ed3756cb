"""Tables of pairs: one number for every cell of every two groups of attributes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
