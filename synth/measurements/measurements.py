"""Measurements: the noisy tables, the only thing that leaves the curator."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from synth.privacy import PrivacyEvent, SelectionEvent, TableEvent

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class MeasuredTable:
    """One noisy table over some attributes of the universe.

    Shapes and units: `noisy_counts` is int64 (in tables of more than 2^24 cells any signed type
    that holds them), one value per cell of the table, flat in C order
    over `event.table` (attributes in universe order); true count plus exact integer noise, in
    records. `variance` is that of the noise, in records squared.

    A table with `event.threshold` lists some cells only. `codes` is int64 with one row per listed
    cell and one column per attribute of `event.table`, rows in ascending (lexicographic, C) order,
    each once; `noisy_counts` has one value per row, each at least the threshold. Of every cell
    that is not listed, and that no impossible rule covers, it is known that its noisy count was
    below the threshold or, with `partition-selection`, that this holds or the cell is empty.
    Impossible cells are never listed. Without a threshold `codes` is None.
    """

    event: TableEvent
    noisy_counts: NDArray[np.int64]
    variance: float
    codes: NDArray[np.int64] | None = None


@dataclass(frozen=True, eq=False)
class Measurements:
    """All noisy tables of one release, with the hash of the configuration they answer to."""

    release_id: str
    configuration_hash: str
    tables: tuple[MeasuredTable, ...]
    selections: tuple[SelectionEvent, ...] = ()
    """The private choices by which tables were found, in the order in which they were made."""

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 over everything that is said here, independent of any file."""
        from synth.measurements.content import compute_content_hash

        return compute_content_hash(self)

    @property
    def events(self) -> tuple[PrivacyEvent, ...]:
        """Everything that was paid for: the tables, then the selections."""
        return (*(table.event for table in self.tables), *self.selections)
