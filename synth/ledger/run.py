"""A run in the journal: its state, its charge and what is known of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
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


def budget_to_plain(budget: Budget) -> dict[str, str]:
    """A budget as exact fractions in text."""
    return {"epsilon": str(budget.epsilon), "delta": str(budget.delta)}


def budget_from_plain(plain: Mapping[str, Any]) -> Budget:
    """Read a budget back; raises ValueError, KeyError or TypeError if it is damaged."""
    return Budget(_fraction(plain["epsilon"]), _fraction(plain["delta"]))


def tables_to_plain(events: Sequence[PrivacyEvent]) -> list[dict[str, Any]]:
    """What was paid for as plain values; numbers as text, entries that say nothing left out.

    The `table` of one that is still to be chosen is null; which it became, the measurements say.
    """
    return [
        _selection_to_plain(event) if isinstance(event, SelectionEvent) else _table_to_plain(event)
        for event in events
    ]


def tables_from_plain(plain: Sequence[Mapping[str, Any]]) -> tuple[PrivacyEvent, ...]:
    """Read what was paid for back; raises ValueError, KeyError or TypeError if damaged."""
    return tuple(
        _selection_from_plain(entry) if "candidates" in entry else _table_from_plain(entry)
        for entry in plain
    )


def _table_to_plain(event: TableEvent | OpenTableEvent) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "table": None,
        "sensitivity_l1": event.sensitivity_l1,
        "mechanism": event.mechanism,
    }
    if event.epsilon is not None:
        plain["epsilon"] = str(event.epsilon)
    if event.rho is not None:
        plain["rho"] = str(event.rho)
    if event.sensitivity_l2_squared is not None:
        plain["sensitivity_l2_squared"] = event.sensitivity_l2_squared
    if isinstance(event, TableEvent):
        plain |= {"table": list(event.table), "cells": str(event.cells)}
        if any(event.coarsening):
            plain["coarsening"] = list(event.coarsening)
        if event.threshold is not None:
            plain["threshold"] = str(event.threshold)
        if event.delta is not None:
            plain["delta"] = str(event.delta)
    return plain


def _table_from_plain(entry: Mapping[str, Any]) -> TableEvent | OpenTableEvent:
    squared, threshold = entry.get("sensitivity_l2_squared"), entry.get("threshold")
    event = OpenTableEvent(
        sensitivity_l1=int(entry["sensitivity_l1"]),
        epsilon=_fraction(entry["epsilon"]) if "epsilon" in entry else None,
        mechanism=str(entry["mechanism"]),
        rho=_fraction(entry["rho"]) if "rho" in entry else None,
        sensitivity_l2_squared=None if squared is None else int(squared),
    )
    if entry["table"] is None:
        return event
    return TableEvent(
        table=tuple(str(name) for name in entry["table"]),
        cells=int(entry["cells"]),
        sensitivity_l1=event.sensitivity_l1,
        epsilon=event.epsilon,
        mechanism=event.mechanism,
        coarsening=tuple(int(step) for step in entry.get("coarsening", ())),
        rho=event.rho,
        sensitivity_l2_squared=event.sensitivity_l2_squared,
        threshold=None if threshold is None else int(threshold),
        delta=_fraction(entry["delta"]) if "delta" in entry else None,
    )


def _selection_to_plain(event: SelectionEvent) -> dict[str, Any]:
    return {
        "candidates": str(event.candidates),
        "epsilon": str(event.epsilon),
        "mechanism": event.mechanism,
    }


def _selection_from_plain(entry: Mapping[str, Any]) -> SelectionEvent:
    return SelectionEvent(
        int(entry["candidates"]), _fraction(entry["epsilon"]), str(entry["mechanism"])
    )


def _fraction(text: Any) -> Fraction:
    if not isinstance(text, str):
        raise TypeError("a budget must be an exact fraction in text")
    return Fraction(text)
