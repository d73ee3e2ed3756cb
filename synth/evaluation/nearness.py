"""Whether synthetic rows are nearer to raw records than other raw records are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from synth.evaluation.table import Table, same_cells

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ROWS = 1_000
"""So many rows look for their nearest record."""
RECORDS = 20_000
"""Among so many records."""


@dataclass(frozen=True)
class Nearness:
    """Rows of the release, and a fresh sample, beside one half of the raw records.

    The fresh sample is the other half: people of the same population who are not in the first.
    """

    release_on_unique: float
    """The share of rows that equal a record which is the only one of its kind in the half."""
    fresh_on_unique: float
    release_distances: tuple[float, ...]
    """Entry d: the share of rows whose nearest record differs in d columns."""
    fresh_distances: tuple[float, ...]


def nearness(
    release: Table, half: Table, fresh: Table, generator: np.random.Generator
) -> Nearness | None:
    """Compare; None if one of the tables has no records."""
    if not (release.records and half.records and fresh.records):
        return None
    records = half.sample(RECORDS, generator)
    columns = len(half.universe.shape)
    spread = [
        tuple(_distances(table.sample(ROWS, generator), records, columns))
        for table in (release, fresh)
    ]
    return Nearness(_on_unique(release, half), _on_unique(fresh, half), *spread)


def _on_unique(table: Table, half: Table) -> float:
    """The share of records that lie in a cell with exactly one record of the half."""
    inside = same_cells(table, half) == 1
    return float(table.counts[inside].sum() / table.records)


def _distances(
    rows: NDArray[np.int64], records: NDArray[np.int64], columns: int
) -> NDArray[np.float64]:
    """The share of rows at each distance (differing columns) from their nearest record."""
    import numpy as np

    narrow = records.astype(np.int32)
    nearest = np.array([(narrow != row).sum(axis=1).min() for row in rows.astype(np.int32)])
    return np.bincount(nearest, minlength=columns + 1) / len(rows)
