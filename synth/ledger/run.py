"""A run in the journal: its state, its charge and what is known of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from synth.config.types import DisjointPart
from synth.measurements.receipt import LedgerPosition
from synth.privacy import (
    Budget,
    Charge,
    OpenTableEvent,
    PrivacyEvent,
    Promise,
    SelectionEvent,
    TableEvent,
)


class RunState(StrEnum):
    """How far a run has come. `planned` leaves no trace: a plan spends nothing."""

    PLANNED = "planned"
    RESERVED = "reserved"
    MEASURED = "measured"
    DISCARDED = "discarded"
    PUBLISHED = "published"
    VOIDED = "voided"


NEXT_STATE: Mapping[RunState, RunState] = {
    RunState.RESERVED: RunState.MEASURED,
    RunState.MEASURED: RunState.DISCARDED,
    RunState.DISCARDED: RunState.PUBLISHED,
}
"""The only ways forward after a reservation; from `reserved` a run may also be voided."""


@dataclass(frozen=True)
class RunRecord:
    """One reservation and what became of it."""

    release_id: str
    configuration_hash: str
    state: RunState
    tables: tuple[PrivacyEvent, ...]
    """What was paid for: noisy tables, private choices of tables, and the tables to be chosen."""
    charge: Budget
    position: LedgerPosition
    """What the ledger said at the reservation; never changes afterwards."""
    reserved_on: str
    """The UTC day, ISO 8601."""
    token: str
    """Binds the charge to the run's directory; see `token.py`."""
    attempts: int = 1
    """How often the run was started without coming as far as `measured`, plus one."""
    details: Mapping[RunState, Mapping[str, str]] | None = None
    """What was recorded with each state."""
    void_reason: str = ""
    part: DisjointPart | None = None
    """The part of the population that it is about, if parts were declared disjoint."""

    @property
    def population(self) -> str:
        """The population that was charged."""
        return self.position.population

    @property
    def promise(self) -> Promise | None:
        """The unit and the relation it was charged for; None before ledgers kept them."""
        return self.position.promise

    @property
    def as_charge(self) -> Charge:
        """What it adds to the account of its population."""
        return Charge(self.charge, self.promise, None if self.part is None else self.part.name)

    @property
    def is_charged(self) -> bool:
        """Whether the charge counts against the cap."""
        return self.state is not RunState.VOIDED

    def recorded(self, state: RunState) -> Mapping[str, str]:
        """The details recorded when the run reached `state`; empty if it did not yet."""
        return (self.details or {}).get(state, {})


_IN_TEXT = ("cells", "threshold", "candidates")
"""Whole numbers that the ledger keeps as text."""


def tables_to_plain(events: Sequence[PrivacyEvent]) -> list[dict[str, Any]]:
    """What was paid for as plain values.

    The `table` of one that is still to be chosen is null; which it became, the measurements say.
    """
    return [
        {key: str(value) if key in _IN_TEXT else value for key, value in event.to_plain().items()}
        for event in events
    ]


def tables_from_plain(plain: Sequence[Mapping[str, Any]]) -> tuple[PrivacyEvent, ...]:
    """Read what was paid for back; raises ValueError, KeyError or TypeError if damaged."""
    return tuple(map(_event_from_plain, plain))


def _event_from_plain(entry: Mapping[str, Any]) -> PrivacyEvent:
    plain = {key: int(value) if key in _IN_TEXT else value for key, value in entry.items()}
    if "candidates" in plain:
        return SelectionEvent.from_plain(plain)
    return (OpenTableEvent if plain["table"] is None else TableEvent).from_plain(plain)
