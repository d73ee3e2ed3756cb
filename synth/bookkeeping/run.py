"""A run in the journal, what it cost, and where its population stands: charges added up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from synth.config import DisjointPart, SeriesPart
from synth.measurements.receipt import LedgerPosition
from synth.privacy import (
    AfterLookEvent,
    Budget,
    Charge,
    LookEvent,
    OpenTableEvent,
    PrivacyEvent,
    Promise,
    SelectionEvent,
    TableEvent,
)
from synth.privacy.accounting import AFTER_LOOK
from synth.privacy.population import (
    DividedAccount,
    SeriesAccount,
    common_promise,
    population_total,
    sums_of_parts,
)

_IN_TEXT = ("cells", "threshold", "candidates")
"""Whole numbers that the ledger keeps as text."""


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
    """What was paid for: noisy tables, private choices of tables, and the tables to be chosen; or
    a look, and what is reserved for after it."""
    charge: Budget
    position: LedgerPosition
    """What the ledger said at the reservation; never changes afterwards."""
    reserved_on: str
    """The UTC day, ISO 8601."""
    token: str
    """Binds the charge to the run's directory; see `run_directory.py`."""
    attempts: int = 1
    """How often the run was started without coming as far as `measured`, plus one."""
    details: Mapping[RunState, Mapping[str, str]] | None = None
    """What was recorded with each state."""
    void_reason: str = ""
    part: DisjointPart | None = None
    """The part of the population that it is about, if parts were declared disjoint."""
    series: SeriesPart | None = None
    """The part of a series that it is charged as."""
    factorization: Mapping[str, Any] | None = None
    """How the charge of a horizon is spent over its periods, in plain values."""

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
        part = None if self.part is None else self.part.name
        return Charge(self.charge, self.promise, part, self.series)

    @property
    def is_charged(self) -> bool:
        """Whether the charge counts against the cap."""
        return self.state is not RunState.VOIDED

    def recorded(self, state: RunState) -> Mapping[str, str]:
        """The details recorded when the run reached `state`; empty if it did not yet."""
        return (self.details or {}).get(state, {})


def tables_to_plain(events: Sequence[PrivacyEvent]) -> list[dict[str, Any]]:
    """What was paid for as plain values.

    The `table` of one that is still to be chosen is null; which it became, the measurements say.
    """
    return [
        {key: str(value) if key in _IN_TEXT else value for key, value in event.to_plain().items()}
        for event in events
    ]


def has_look(events: Sequence[PrivacyEvent]) -> bool:
    """Whether a look is paid for, and what is planned after it.

    Raises: ValueError for one without the other, or with tables of its own.
    """
    kinds = [type(event) for event in events]
    if LookEvent not in kinds and AfterLookEvent not in kinds:
        return False
    if kinds != [LookEvent, AfterLookEvent]:
        raise ValueError("a look is charged together with all that is planned after it")
    return True


def tables_from_plain(plain: Sequence[Mapping[str, Any]]) -> tuple[PrivacyEvent, ...]:
    """Read what was paid for back; raises ValueError, KeyError or TypeError if damaged."""
    return tuple(map(_event_from_plain, plain))


def _event_from_plain(entry: Mapping[str, Any]) -> PrivacyEvent:
    plain = {key: int(value) if key in _IN_TEXT else value for key, value in entry.items()}
    if "candidates" in plain:
        return SelectionEvent.from_plain(plain)
    if "firsts" in plain:
        return LookEvent.from_plain(plain)
    if plain["mechanism"] == AFTER_LOOK:
        return AfterLookEvent.from_plain(plain)
    return (OpenTableEvent if plain["table"] is None else TableEvent).from_plain(plain)


def division_of(charged: Iterable[RunRecord]) -> DisjointPart | None:
    """How the population is divided: as the first of its charged releases about a part says."""
    return next((run.part for run in charged if run.part is not None), None)


def same_division(part: DisjointPart, other: DisjointPart) -> bool:
    """Whether both speak of the same parts, for the same reason."""
    return (part.parts, part.source) == (other.parts, other.source)


def differs_in_part(run: RunRecord, other: RunRecord) -> bool:
    """Whether both are charged for one part of a series, and not for the same tables and noise."""
    if run.series is None or other.series is None:
        return False
    if (run.series.name, run.series.part) != (other.series.name, other.series.part):
        return False
    return (run.tables, run.factorization) != (other.tables, other.factorization)


def promise_of(charged: Iterable[RunRecord]) -> Promise | None:
    """The promise that the population is bound to by its charged releases.

    Raises: ValueError if they are not of one promise.
    """
    return common_promise(run.promise for run in charged)


def spent_on(charged: Iterable[RunRecord]) -> Budget:
    """What the charged releases of one population cost together; see `population_total`."""
    return population_total(run.as_charge for run in charged)


def divided_account(charged: Sequence[RunRecord]) -> DividedAccount | None:
    """The account of every part, or None if none was charged."""
    return _divided(charged, None)


def position_for(
    charged: Sequence[RunRecord],
    *,
    population: str,
    cap: Budget,
    charge: Budget,
    part: DisjointPart | None,
    promise: Promise | None,
    series: SeriesPart | None = None,
    reservation_hash: str = "",
) -> LedgerPosition:
    """The position of a population that a reservation of `charge` would find.

    Requires: `charged` are the charged releases of the population, in their order; `part`, if
    any, is of their division; `promise` adds up with theirs; `series`, if any, is charged as its
    earlier releases were.
    Raises: ValueError if the promises do not add up, or the charges of a series.
    """
    common_promise([*(run.promise for run in charged), promise])
    before = spent_on(charged)
    added = None
    if series is not None:
        charges = [run.as_charge for run in charged]
        after = population_total([*charges, Charge(charge, promise, None, series)])
        added = Budget(after.epsilon - before.epsilon, after.delta - before.delta)
    return LedgerPosition(
        population=population,
        cap=cap,
        spent_before=before,
        spent_now=charge,
        earlier_releases=tuple(run.release_id for run in charged),
        divided=_divided(charged, part),
        promise=promise,
        added=added,
        reservation_hash=reservation_hash,
    )


def exceeds(position: LedgerPosition) -> bool:
    """Whether the new charge would go over the cap, compared exactly."""
    return position.left.epsilon < 0 or position.left.delta < 0


def _divided(charged: Sequence[RunRecord], part: DisjointPart | None) -> DividedAccount | None:
    division = division_of(charged) or part
    if division is None:
        return None
    whole, parts = sums_of_parts((run.as_charge for run in charged), division.parts)
    return DividedAccount(
        source=division.source,
        part=None if part is None else part.name,
        whole=whole,
        parts=parts,
    )


@dataclass(frozen=True)
class PopulationPosition:
    """Where a population stands now."""

    population: str
    cap: Budget | None
    """The cap of the latest reservation; None before the first."""
    spent: Budget
    runs: tuple[RunRecord, ...]
    """The latest reservation of every release, voided ones included."""
    divided: DividedAccount | None = None
    """What everybody and each part were charged, if parts were declared disjoint."""
    promise: Promise | None = None
    """The promise of its first charged release, which binds unit and neighbours; None if nothing
    is charged, or it was charged before ledgers kept promises."""
    series: tuple[SeriesAccount, ...] = ()
    """The series among its releases, and what each comes to."""

    @property
    def left(self) -> Budget | None:
        """What the cap still allows; None before the first reservation."""
        if self.cap is None:
            return None
        return Budget(self.cap.epsilon - self.spent.epsilon, self.cap.delta - self.spent.delta)
