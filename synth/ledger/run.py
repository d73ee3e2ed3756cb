"""A run in the journal: its state, its charge and what is known of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

from synth.measurements.receipt import LedgerPosition
from synth.privacy import Budget, TableEvent


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
    tables: tuple[TableEvent, ...]
    """The noisy tables that were paid for."""
    charge: Budget
    position: LedgerPosition
    """What the ledger said at the reservation; never changes afterwards."""
    reserved_on: str
    """The UTC day, ISO 8601."""
    reservation_hash: str
    """The hash of the reservation in the chain: pins everything before it."""
    token: str
    """Binds the charge to the run's directory; see `token.py`."""
    attempts: int = 1
    """How often the run was started without coming as far as `measured`, plus one."""
    details: Mapping[RunState, Mapping[str, str]] | None = None
    """What was recorded with each state."""
    void_reason: str = ""

    @property
    def population(self) -> str:
        """The population that was charged."""
        return self.position.population

    @property
    def is_charged(self) -> bool:
        """Whether the charge counts against the cap."""
        return self.state is not RunState.VOIDED

    def recorded(self, state: RunState) -> Mapping[str, str]:
        """The details recorded when the run reached `state`; empty if it did not yet."""
        return (self.details or {}).get(state, {})


def budget_to_plain(budget: Budget) -> dict[str, str]:
    """A budget as exact fractions in text."""
    return {"epsilon": str(budget.epsilon), "delta": str(budget.delta)}


def budget_from_plain(plain: Mapping[str, Any]) -> Budget:
    """Read a budget back; raises ValueError, KeyError or TypeError if it is damaged."""
    return Budget(_fraction(plain["epsilon"]), _fraction(plain["delta"]))


def tables_to_plain(tables: Sequence[TableEvent]) -> list[dict[str, Any]]:
    """The paid tables as plain values."""
    return [
        {
            "table": list(event.table),
            "cells": str(event.cells),
            "sensitivity_l1": event.sensitivity_l1,
            "epsilon": str(event.epsilon),
            "mechanism": event.mechanism,
        }
        for event in tables
    ]


def tables_from_plain(plain: Sequence[Mapping[str, Any]]) -> tuple[TableEvent, ...]:
    """Read the paid tables back; raises ValueError, KeyError or TypeError if damaged."""
    return tuple(
        TableEvent(
            table=tuple(str(name) for name in entry["table"]),
            cells=int(entry["cells"]),
            sensitivity_l1=int(entry["sensitivity_l1"]),
            epsilon=_fraction(entry["epsilon"]),
            mechanism=str(entry["mechanism"]),
        )
        for entry in plain
    )


def _fraction(text: Any) -> Fraction:
    if not isinstance(text, str):
        raise TypeError("a budget must be an exact fraction in text")
    return Fraction(text)
