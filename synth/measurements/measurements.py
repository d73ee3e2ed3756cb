"""Measurements: the noisy tables, the only thing that leaves the curator."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth.measurements.continual import Continual
from synth.measurements.measured import MeasuredLook, MeasuredTable
from synth.privacy import PrivacyEvent, SelectionEvent, TableEvent
from synth.strict_json import canonical_json

_BLOCK = 1 << 20


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
    continual: Continual | None = None
    """Of a series whose counts are added up over periods: what was measured, of which `tables` are
    sums; see `of_nodes`."""

    @staticmethod
    def of_nodes(release_id: str, configuration_hash: str, continual: Continual) -> Measurements:
        """Those of a cumulative release: its tables are put together from all nodes so far."""
        return Measurements(
            release_id, configuration_hash, continual.cumulative_tables(), continual=continual
        )

    @property
    def stored(self) -> tuple[MeasuredTable, ...]:
        """What was measured and is written to the file, in its order: of all nodes, if any."""
        if self.continual is None:
            return self.tables
        return tuple(table for node in self.continual.nodes for table in node.tables)

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 over everything that is said here, independent of any file.

        Counts are hashed as 64-bit little-endian whole numbers, in whatever type they are held.
        """
        head = canonical_json(self.head("events"), ascii_only=True)
        digest = hashlib.sha256(head.encode())
        for table in self.stored:
            _update(digest, table.noisy_counts)
            if table.codes is not None:
                _update(digest, table.codes)
        return digest.hexdigest()

    @property
    def table_events(self) -> tuple[TableEvent, ...]:
        """The noise of the tables, in their order."""
        return tuple(table.event for table in self.tables)

    @property
    def noisy_records(self) -> int | None:
        """The number of records, of the table whose sum has the least noise; None without one."""
        summed = [table for table in self.tables if table.event.threshold is None]
        best = min(summed, key=lambda each: each.event.cells * each.variance, default=None)
        return None if best is None else int(best.noisy_counts.sum())

    @property
    def events(self) -> tuple[PrivacyEvent, ...]:
        """What was paid for: the tables, then the selections, then the look.

        With a look more is paid for than they cost: the whole of what was reserved for after it.
        Of a series that is added up, what its tables are charged for the whole horizon.
        """
        if self.continual is not None:
            return self.continual.charged
        looks = () if self.look is None else (self.look.event,)
        return (*self.table_events, *self.selections, *looks)

    def head(self, tables: str) -> dict[str, Any]:
        """All but the counts of tables, in JSON values; what they are charged is under that key."""
        charged = self.table_events if self.continual is None else self.continual.charged
        head: dict[str, Any] = {
            "release_id": self.release_id,
            "configuration_hash": self.configuration_hash,
            tables: [event.to_plain() for event in charged],
        }
        if self.continual is not None:
            head["continual"] = self.continual.to_plain()
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
