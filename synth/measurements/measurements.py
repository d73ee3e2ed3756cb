"""Noisy tables, and what of them a release has measured: the only thing that leaves the curator.

A series that is added up over periods measures nodes; its tables are sums of theirs.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth.noise import noise_variance
from synth.privacy import LookEvent, PrivacyEvent, SelectionEvent, TableEvent
from synth.privacy.continual import Factorization, Node
from synth.strict_json import canonical_json


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
    """The noisy counts that were taken before the tables were planned.

    Shapes and units: `noisy_counts` has one whole number per class of `event`, and one more of its
    pairs if it has any: true number of records plus exact integer noise. `variance` is that of the
    noise, in records squared.
    """

    event: LookEvent
    noisy_counts: tuple[int, ...]
    variance: float

    def to_plain(self) -> dict[str, Any]:
        """The event and its noisy counts, in JSON values."""
        return self.event.to_plain() | {"noisy_counts": list(self.noisy_counts)}


MOST_PERIODS = 1 << 14
"""No series is read that goes on for longer."""


@dataclass(frozen=True)
class ContinualPlan:
    """What a series measures: tables with what each is charged for a horizon, and its nodes.

    Every horizon is measured alike. Periods of the series are numbered from 1 through all of them.
    """

    charged: tuple[TableEvent, ...]
    factorization: Factorization
    counted_hash: str
    """The hash of what decides the counts; see `Config.counted_hash`."""

    @property
    def node_events(self) -> tuple[TableEvent, ...]:
        """The noise of every table in a node."""
        return tuple(map(self.factorization.node_event, self.charged))

    def within(self, index: int) -> int:
        """The number of a period within its horizon, from 1."""
        return (index - 1) % self.factorization.horizon + 1

    def nodes_at(self, index: int) -> tuple[Node, ...]:
        """The nodes that are measured at a period of the series; numbered within the horizon."""
        return self.factorization.nodes_at(self.within(index))

    def places(self, index: int) -> tuple[tuple[int, Node], ...]:
        """All nodes up to a period of the series, each with the period of its measurement."""
        return tuple((at, node) for at in range(1, index + 1) for node in self.nodes_at(at))

    def cumulative_events(self, index: int) -> tuple[TableEvent, ...]:
        """The noise of every table of the counts so far."""
        cycles = (index - 1) // self.factorization.horizon
        return tuple(
            self.factorization.cumulative_event(event, self.within(index), finished_cycles=cycles)
            for event in self.charged
        )


@dataclass(frozen=True, eq=False)
class MeasuredNode:
    """The noisy tables of one node: a weighted sum of periods."""

    index: int
    """The period of the series at which it was measured."""
    node: Node
    """Its periods, numbered within their horizon."""
    tables: tuple[MeasuredTable, ...]
    """One for every table that is charged, in that order."""


@dataclass(frozen=True, eq=False)
class Continual:
    """Everything that a series has measured up to one of its periods.

    Raises: ValueError unless the nodes are those of the plan, in its order.
    """

    plan: ContinualPlan
    index: int
    """The last period, from 1."""
    nodes: tuple[MeasuredNode, ...]

    def __post_init__(self) -> None:
        if [(each.index, each.node) for each in self.nodes] != list(self.plan.places(self.index)):
            raise ValueError("has other nodes than those of its plan")
        events = self.plan.node_events
        if any(tuple(t.event for t in node.tables) != events for node in self.nodes):
            raise ValueError("has a node whose tables have other noise than planned")

    @property
    def charged(self) -> tuple[TableEvent, ...]:
        """What the tables cost for the whole horizon."""
        return self.plan.charged

    def up_to(self, index: int) -> Continual:
        """What had been measured at an earlier period."""
        nodes = tuple(node for node in self.nodes if node.index <= index)
        return Continual(self.plan, index, nodes)

    def cumulative_tables(self) -> tuple[MeasuredTable, ...]:
        """The noisy counts of all records so far, table by table.

        Privacy: post-processing of the nodes.
        """
        within, combine = self.plan.within(self.index), self.plan.factorization.combine
        return tuple(
            MeasuredTable(
                event,
                combine([node.tables[number].noisy_counts for node in self.nodes], within),
                noise_variance(event),
            )
            for number, event in enumerate(self.plan.cumulative_events(self.index))
        )

    def to_plain(self) -> dict[str, Any]:
        """How the charge is spent, and how far; JSON values."""
        return {
            "factorization": self.plan.factorization.to_plain(),
            "counted_hash": self.plan.counted_hash,
            "index": self.index,
        }


def plan_from_plain(plain: Any, charged: tuple[TableEvent, ...]) -> tuple[ContinualPlan, int]:
    """Read the plan and the last period back; raises KeyError, TypeError, ValueError if damaged."""
    if type(plain) is not dict or plain.keys() != {"factorization", "counted_hash", "index"}:
        raise ValueError("does not say how its counts are added up")
    index, counted = plain["index"], plain["counted_hash"]
    if type(counted) is not str or not re.fullmatch("[0-9a-f]{64}", counted):
        raise ValueError("does not say what decided its counts")
    if type(index) is not int or not 1 <= index <= MOST_PERIODS:
        raise ValueError("has a period that no series has")
    if any(event.summed != 1 or event.threshold is not None for event in charged):
        raise ValueError("adds up tables that are not measured whole")
    factorization = Factorization.from_plain(plain["factorization"])
    return ContinualPlan(charged, factorization, counted), index


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
    def events(self) -> tuple[PrivacyEvent, ...]:
        """What was paid for: the tables, then the selections, then the look.

        With a look more is paid for than they cost: the whole of what was reserved for after it.
        Of a series that is added up, what its tables are charged for the whole horizon.
        """
        if self.continual is not None:
            return self.continual.charged
        looks = () if self.look is None else (self.look.event,)
        return (*self.events_after_look, *looks)

    @property
    def events_after_look(self) -> tuple[PrivacyEvent, ...]:
        """The tables, then the selections: what was planned by a look, if there was one."""
        return (*self.table_events, *self.selections)

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
