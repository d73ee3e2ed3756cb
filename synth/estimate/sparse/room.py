"""Room for listed cells: what the tables of sums leave for them, as far as their noise can tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth.domain import Universe
from synth.estimate.sparse.tables import SumTable

Floats = NDArray[np.float64]

ALLOWANCE = 4.0
"""Standard deviations by which listed cells may exceed what a table has for them."""


def has_room(
    columns: Sequence[NDArray[Any]],
    counts: Floats,
    keep: NDArray[np.bool_],
    noisy: NDArray[np.int64],
    tables: Sequence[SumTable],
    universe: Universe,
    *,
    variance: float,
    certain: float,
) -> NDArray[np.bool_]:
    """Which of the cells to `keep` fit into every table, the larger noisy counts first.

    A cell of a table has room for as many records as its noisy count says, and for `ALLOWANCE`
    standard deviations of its noise and that of the listed cells in it (`variance` each). The
    first cells that fit into it stay; a cell that comes when it is full is left to the model.
    A list alone cannot tell a heavy cell from the largest of ten thousand noises; where no table
    knows of its records, it was noise. A noisy count beyond `certain`, which no noise reaches,
    stays whatever the tables say.
    """
    kept = keep.copy()
    for table in tables:
        places = np.flatnonzero(kept)
        if not places.size:
            break
        group = table.cells([column[places] for column in columns], universe)
        order = np.lexsort((places, -noisy[places], group))
        places, group = places[order], group[order]
        first = np.flatnonzero(np.r_[True, group[1:] != group[:-1]])
        lengths = np.diff(np.r_[first, group.size])
        rank = np.arange(1, group.size + 1) - np.repeat(first, lengths)
        running = np.cumsum(counts[places])
        before = np.r_[0.0, running][first]
        within = running - np.repeat(before, lengths)
        room = table.values.reshape(-1)[group]
        allowed = room + ALLOWANCE * np.sqrt(table.variance + rank * variance)
        kept[places[(within > allowed) & (noisy[places] <= certain)]] = False
    return kept
