"""A table of records as filled cells: the common form of raw data, release and fresh samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from synth.domain import Universe
from synth.domain.counts import Counts, cell_order, cell_words, new_cells

HELD_CELLS = 1 << 22
"""Tables of sums up to this size are held with their empty cells."""


@dataclass(frozen=True, eq=False)
class Table:
    """Records by cell.

    Shapes and units: `codes[j][i]` is the code of attribute j in cell i; every cell once;
    `counts` is int64, records, >= 0.
    """

    universe: Universe
    codes: tuple[NDArray[np.int64], ...]
    counts: NDArray[np.int64]

    @cached_property
    def records(self) -> int:
        """The number of records."""
        return int(self.counts.sum())

    def with_counts(self, counts: NDArray[np.int64]) -> Table:
        """Other counts of the same cells."""
        return Table(self.universe, self.codes, counts)

    def resample(self, records: int, generator: np.random.Generator) -> Table:
        """So many records drawn with replacement from these."""
        if not self.records:
            return self
        drawn = generator.multinomial(records, self.counts / self.records)
        return self.with_counts(drawn)

    def halves(self, generator: np.random.Generator) -> tuple[Table, Table]:
        """Each record in one of two tables, by the toss of a coin."""
        first = generator.binomial(self.counts, 0.5)
        return self.with_counts(first), self.with_counts(self.counts - first)

    def sample(self, records: int, generator: np.random.Generator) -> NDArray[np.int64]:
        """At most so many of the records, without replacement: one row of codes each."""
        number = min(records, self.records)
        places = np.sort(generator.choice(self.records, number, replace=False))
        cells = np.searchsorted(np.cumsum(self.counts), places, side="right")
        rows = [codes[cells] for codes in self.codes]
        return np.stack(rows, axis=1).reshape(number, len(self.codes))

    def keys(self, axes: Sequence[int]) -> NDArray[np.int64]:
        """The number of each cell in the table over some axes. Requires: below 2^63 such cells."""
        keys = np.zeros(len(self.counts), dtype=np.int64)
        for axis in axes:
            keys = keys * self.universe.shape[axis] + self.codes[axis]
        return keys


def table_of(universe: Universe, counts: Counts) -> Table:
    """The filled cells of published counts."""
    codes = tuple(column.astype(np.int64) for column in counts.columns)
    return Table(universe, codes, counts.values)


def shares(tables: Sequence[Table], axes: Sequence[int]) -> list[NDArray[np.float64]]:
    """For each table, the share of its records in the cells over some axes; the same cells in all.

    Cells that are empty in all tables may be left out. A table without records has shares of 0.
    """
    cells = 1
    for axis in axes:
        cells *= tables[0].universe.shape[axis]
    keys = [table.keys(axes) for table in tables]
    if cells > HELD_CELLS:
        known = np.unique(np.concatenate(keys))
        keys = [np.searchsorted(known, key) for key in keys]
        cells = len(known)
    return [
        np.bincount(key, weights=table.counts, minlength=cells) / max(table.records, 1)
        for key, table in zip(keys, tables, strict=True)
    ]


def same_cells(first: Table, second: Table) -> NDArray[np.int64]:
    """For every cell of `first`, the count that `second` has there."""
    columns = [np.concatenate(pair) for pair in zip(first.codes, second.codes, strict=True)]
    number = len(first.counts)
    values = np.concatenate([np.zeros(number, dtype=np.int64), second.counts])
    words = cell_words(columns, first.universe.shape)
    order = cell_order(words)
    if not len(order):
        return values
    group = np.cumsum(new_cells([word[order] for word in words])) - 1
    sums = np.zeros(int(group[-1]) + 1, dtype=np.int64)
    np.add.at(sums, group, values[order])
    found = np.empty(len(order), dtype=np.int64)
    found[order] = sums[group]
    return found[:number]
