"""Measurements: the noisy tables, the only thing that leaves the curator."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth.privacy import LookEvent, PrivacyEvent, SelectionEvent, TableEvent
from synth.strict_json import canonical_json

_BLOCK = 1 << 20


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


@dataclass(frozen=True)
class MeasuredLook:
    """The noisy profile that was taken before the tables were planned.

    Shapes and units: `noisy_counts` has one whole number per class of `event`: true number of
    records plus exact integer noise. `variance` is that of the noise, in records squared.
    """

    event: LookEvent
    noisy_counts: tuple[int, ...]
    variance: float

    def to_plain(self) -> dict[str, Any]:
        """The event and its noisy counts, in JSON values."""
        return self.event.to_plain() | {"noisy_counts": list(self.noisy_counts)}


@dataclass(frozen=True, eq=False)
class Measurements:
    """All noisy tables of one release, with the hash of the configuration they answer to."""

    release_id: str
    configuration_hash: str
    tables: tuple[MeasuredTable, ...]
    selections: tuple[SelectionEvent, ...] = ()
    """The private choices by which tables were found, in the order in which they were made."""
    look: MeasuredLook | None = None
    """What was seen before the tables were planned, if the plan follows from a look."""

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 over everything that is said here, independent of any file.

        Counts are hashed as 64-bit little-endian whole numbers, in whatever type they are held.
        """
        head = canonical_json(self.head("events"), ascii_only=True)
        digest = hashlib.sha256(head.encode())
        for table in self.tables:
            _update(digest, table.noisy_counts)
            if table.codes is not None:
                _update(digest, table.codes)
        return digest.hexdigest()

    @property
    def table_events(self) -> tuple[TableEvent, ...]:
        """What was measured of tables, in their order."""
        return tuple(table.event for table in self.tables)

    @property
    def noisy_records(self) -> int | None:
        """The number of records, of the table whose sum has the least noise; None without one."""
        summed = [table for table in self.tables if table.event.threshold is None]
        best = min(summed, key=lambda each: each.event.cells * each.variance, default=None)
        return None if best is None else int(best.noisy_counts.sum())

    @property
    def events(self) -> tuple[PrivacyEvent, ...]:
        """What was measured: the tables, then the selections, then the look.

        With a look more is paid for than they cost: the whole of what was reserved for after it.
        """
        looks = () if self.look is None else (self.look.event,)
        return (*self.table_events, *self.selections, *looks)

    def head(self, tables: str) -> dict[str, Any]:
        """All but the counts of tables, in JSON values; their events are under that key."""
        head: dict[str, Any] = {
            "release_id": self.release_id,
            "configuration_hash": self.configuration_hash,
            tables: [event.to_plain() for event in self.table_events],
        }
        if self.selections:
            head["selections"] = [event.to_plain() for event in self.selections]
        if self.look is not None:
            head["look"] = self.look.to_plain()
        listing = [table for table in self.tables if table.event.threshold is not None]
        if listing:
            head["listed"] = [len(table.noisy_counts) for table in listing]
        return head


def _update(digest: hashlib._Hash, numbers: NDArray[Any]) -> None:
    for start in range(0, len(numbers), _BLOCK):
        block = np.ascontiguousarray(numbers[start : start + _BLOCK], dtype="<i8")
        digest.update(block.data)


def public_seed(measurements: Measurements, purpose: str) -> int:
    """A 128-bit seed for a random choice in post-processing, reproducible by anybody.

    Privacy: a function of the noisy measurements alone, so whatever is drawn from it is
    post-processing.
    """
    return seed_of_text(f"{purpose}/{measurements.content_hash}")


def seed_of_text(text: str) -> int:
    """A 128-bit seed for a random choice that protects nothing, from a public text."""
    digest = hashlib.sha256(f"synth/{text}".encode())
    return int.from_bytes(digest.digest()[:16], "big")
