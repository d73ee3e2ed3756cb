"""How the records of a table are expected to lie in its cells, before any of them is known."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ZIPF = 1.2
"""The k-th largest cell has a share in proportion to k^-ZIPF."""
EXACT_RANKS = 256
RANKS_PER_OCTAVE = 8
MOST_RANKS = 10**150
"""Of more cells the last hold next to nothing; their number and its square are floats."""


def expected_counts(cells: int, records: float) -> tuple[Floats, Floats]:
    """Expected counts from the largest down, and how many cells have about each."""
    ranks = ranks_of(cells)
    return records * ranks.shares, ranks.cells


class Ranks:
    """The shares of the records that the cells of a table are expected to hold, largest first.

    Shapes: one entry for as many `cells` as have about the same share.
    """

    def __init__(self, shares: Floats, cells: Floats) -> None:
        """Take them from the largest share down."""
        self.shares, self.cells = shares, cells
        self._ascending: list[float] = (-shares).tolist()
        self._cells_before: list[float] = [0.0, *np.cumsum(cells).tolist()]
        self._share_after: list[float] = [*np.cumsum((cells * shares)[::-1])[::-1].tolist(), 0.0]

    def sum_of_least(self, absolute: float, rare: float, records: float) -> float:
        """The sum over the cells of min(a, 2 m), m the expected count.

        a is `absolute` where at least one record is expected, and `rare` elsewhere. Both are told
        from sums over the first and the last ranks: thousands of tables are forecast for every way
        to spend a budget.
        """
        one_each = self._at_least(1 / records)
        above = min(self._at_least(absolute / (2 * records)), one_each)
        below = max(self._at_least(rare / (2 * records)), one_each)
        whole = absolute * self._cells_before[above]
        whole += rare * (self._cells_before[below] - self._cells_before[one_each])
        after = self._share_after
        return whole + 2 * records * (after[above] - after[one_each] + after[below])

    def _at_least(self, share: float) -> int:
        """How many entries have this share or more."""
        return bisect_right(self._ascending, -share)


@lru_cache(maxsize=4096)
def ranks_of(cells: int) -> Ranks:
    """The shares of a table of so many cells by ZIPF; ranks of few records stand for several."""
    cells = min(cells, MOST_RANKS)
    edges = [float(rank) for rank in range(1, min(cells, EXACT_RANKS) + 2)]
    while edges[-1] < float(cells + 1):
        edges.append(min(edges[-1] * 2 ** (1 / RANKS_PER_OCTAVE), float(cells + 1)))
    bounds = np.array(edges)
    width = np.diff(bounds)
    middle = np.sqrt(bounds[:-1] * (bounds[1:] - 1 + (width <= 1)))
    middle = np.where(width <= 1, bounds[:-1], middle)
    share = middle**-ZIPF
    return Ranks(share / float(width @ share), width)
