"""Published less noisy counts of a measured table, and of its marginals, by whole numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth.domain import Margin, Universe
from synth.domain.counts import Counts, margin_cells
from synth.domain.margin import nested_sums_by_block
from synth.measurements import MeasuredTable

BLOCK_CELLS = 1 << 20
LARGEST = 1 << 20
"""2^20 squares of numbers up to this fit 64 bits."""


@dataclass(frozen=True, eq=False)
class Residuals:
    """Published less noisy counts of a table; they are subtracted block by block, and never held.

    Shapes and units: `noisy_counts` is flat in C order over `shape`; or, of a list, one for every
    listed cell. `cells` are the places in it of what is published and not empty, ascending;
    `published` their records.
    """

    noisy_counts: NDArray[Any]
    shape: tuple[int, ...]
    cells: NDArray[np.int64]
    published: NDArray[np.int64]

    @staticmethod
    def of(table: MeasuredTable, margin: Margin, counts: Counts, universe: Universe) -> Residuals:
        """Sum the published counts over the cells of the table."""
        shape = margin.shape(universe)
        if table.codes is None and margin.is_finest(universe):
            cells = margin_cells(counts.columns, universe, margin)
            return Residuals(table.noisy_counts, shape, cells, counts.values)
        if table.codes is None:
            sums = counts.sums(universe, margin)
        else:
            sums = counts.at(tuple(table.codes.T), universe.shape)
        cells = np.flatnonzero(sums)
        return Residuals(table.noisy_counts, shape, cells, sums[cells])

    def part(self, start: int, stop: int) -> NDArray[np.int64]:
        """The residuals of the cells from start to stop."""
        found = -self.noisy_counts[start:stop].astype(np.int64)
        low, high = np.searchsorted(self.cells, (start, stop))
        found[self.cells[low:high] - start] += self.published[low:high]
        return found

    def root_mean_square(self) -> float:
        """Over all cells of the table; the sum of squares is exact."""
        number = len(self.noisy_counts)
        starts = range(0, number, BLOCK_CELLS)
        total = sum(_squares(self.part(start, start + BLOCK_CELLS)) for start in starts)
        return math.sqrt(total / max(1, number))

    def of_marginals(self, marginals: Sequence[tuple[int, ...]]) -> list[float]:
        """The root mean square of the residuals of each marginal (a tuple of axes, ascending)."""
        sums = nested_sums_by_block(self.part, self.shape, marginals)
        return [math.sqrt(_squares(sums[m].reshape(-1)) / sums[m].size) for m in marginals]


def _squares(values: NDArray[np.int64]) -> int:
    """The exact sum of squares."""
    total = 0
    for start in range(0, len(values), BLOCK_CELLS):
        part = values[start : start + BLOCK_CELLS]
        if int(np.abs(part).max()) <= LARGEST:
            total += int(np.square(part).sum())
        else:
            total += sum(int(value) ** 2 for value in part.tolist())
    return total
