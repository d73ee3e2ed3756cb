"""The book: every run and total, derived from the events and from nothing else.

Before anything is believed every event is checked, and every total is counted twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from synth.bookkeeping.file import (
    DIVIDED_SINCE,
    GENESIS,
    LOOKED_SINCE,
    PROMISED_SINCE,
    SCHEMA_VERSIONS,
    SERIES_SINCE,
    LedgerEvent,
    damaged,
)
from synth.bookkeeping.recount import recount
from synth.bookkeeping.run import (
    NEXT_STATE,
    RunRecord,
    RunState,
    differs_in_part,
    division_of,
    exceeds,
    has_look,
    position_for,
    same_division,
    spent_on,
    tables_from_plain,
)
from synth.config import SeriesPart
from synth.errors import BugError
from synth.privacy import Budget, Promise, total_budget
from synth.privacy.population import part_from_plain


class BrokenChainError(Exception):
    """An event that cannot stand where it stands; becomes a LedgerError with the file's name."""


@dataclass
class Book:
    """What the events up to `head` mean.

    `runs` holds the latest reservation of every release id, in the order of reservation;
    `voided` the reservations that were freed before the id was reserved anew.
    """

    seq: int = 0
    head: str = GENESIS
    runs: dict[str, RunRecord] = field(default_factory=dict)
    voided: list[RunRecord] = field(default_factory=list)
    hashes: set[str] = field(default_factory=set)
    """Those of all events."""
    schema_version: int = 0
    """That of the newest event which states one; 0 before the first event."""

    def fold(self, event: LedgerEvent) -> None:
        """Take in the next event; raises BrokenChainError if it does not follow."""
        if event.seq != self.seq + 1:
            raise BrokenChainError(f"event {self.seq + 1} is missing")
        if event.previous_hash != self.head or event.hash != event.expected_hash:
            raise BrokenChainError(f"the chain of hashes is broken at event {event.seq}")
        try:
            self._apply(event)
        except (ValueError, KeyError, TypeError, ZeroDivisionError) as error:
            raise BrokenChainError(f"event {event.seq} makes no sense here") from error
        self.seq, self.head = event.seq, event.hash
        self.hashes.add(event.hash)

    def charged(self, population: str) -> list[RunRecord]:
        """The runs that count against the population's cap, in the order of reservation."""
        return [
            run for run in self.runs.values() if run.population == population and run.is_charged
        ]

    def charged_populations(self) -> tuple[str, ...]:
        """The populations that a charge counts against, sorted."""
        return tuple(sorted({run.population for run in self.runs.values() if run.is_charged}))

    def spent(self, population: str) -> Budget:
        """What the population's charges come to; with disjoint parts, less than their sum."""
        return spent_on(self.charged(population))

    def _apply(self, event: LedgerEvent) -> None:
        payload = event.read()
        if event.kind == "created":
            if event.seq != 1 or payload["schema_version"] not in SCHEMA_VERSIONS:
                raise ValueError("not the first event of a known schema")
            self.schema_version = payload["schema_version"]
            return
        if event.seq == 1:
            raise ValueError("the first event must create the ledger")
        if event.kind == "migrated":
            if not self.schema_version < payload["schema_version"] <= SCHEMA_VERSIONS[-1]:
                raise ValueError("no step to a newer schema")
            self.schema_version = payload["schema_version"]
            return
        if event.kind == "reserve":
            self._reserve(event)
            return
        run = self.runs[event.release_id]
        if event.population != run.population:
            raise ValueError("another population")
        self.runs[event.release_id] = self._moved(run, event)

    def _reserve(self, event: LedgerEvent) -> None:
        payload = event.read()
        charge = Budget.from_plain(payload["charge"])
        earlier = self.runs.get(event.release_id)
        charged = self.charged(event.population)
        part = part_from_plain(payload["disjoint_part"]) if "disjoint_part" in payload else None
        division = division_of(charged)
        if part is not None and (
            self.schema_version < DIVIDED_SINCE
            or not (division is None or same_division(part, division))
        ):
            raise ValueError("a part of another division, or of none")
        promise = Promise.from_plain(payload["promise"]) if "promise" in payload else None
        if (promise is None) != (self.schema_version < PROMISED_SINCE):
            raise ValueError("a promise in an old ledger, or none in a new one")
        if part is not None and promise is not None and promise.neighbours != "add-remove":
            raise ValueError("a part of which somebody may be replaced by one of another")
        series = SeriesPart.from_plain(payload["series"]) if "series" in payload else None
        factorization = payload.get("factorization")
        if series is not None and self.schema_version < SERIES_SINCE:
            raise ValueError("a part of a series in an old ledger")
        if factorization is not None and series is None:
            raise ValueError("a charge of many periods without a series")
        position = position_for(
            charged,
            population=event.population,
            cap=Budget.from_plain(payload["cap"]),
            charge=charge,
            part=part,
            promise=promise,
            series=series,
            reservation_hash=event.hash,
        )
        run = RunRecord(
            release_id=event.release_id,
            configuration_hash=str(payload["configuration_hash"]),
            state=RunState.RESERVED,
            tables=tables_from_plain(payload["tables"]),
            charge=charge,
            position=position,
            reserved_on=event.day,
            token=str(payload["token"]),
            part=part,
            series=series,
            factorization=factorization,
        )
        if has_look(run.tables) and self.schema_version < LOOKED_SINCE:
            raise ValueError("a look in an old ledger")
        if any(differs_in_part(other, run) for other in charged):
            raise ValueError("a part of a series that is charged in two ways")
        if total_budget(run.tables, delta=charge.delta) != charge or exceeds(position):
            raise ValueError("the charge is not that of its tables, or is over the cap")
        if earlier is not None:
            if earlier.is_charged:
                raise ValueError("reserved twice")
            self.voided.append(self.runs.pop(event.release_id))
        self.runs[event.release_id] = run

    @staticmethod
    def _moved(run: RunRecord, event: LedgerEvent) -> RunRecord:
        payload = event.read()
        if event.kind in ("attempt", "void"):
            if run.state is not RunState.RESERVED:
                raise ValueError("only a reserved run")
            if event.kind == "attempt":
                return replace(run, attempts=run.attempts + 1)
            return replace(run, state=RunState.VOIDED, void_reason=str(payload["reason"]))
        state = RunState(event.kind)
        if NEXT_STATE.get(run.state) is not state:
            raise ValueError("no such step")
        details = {str(key): str(value) for key, value in payload["details"].items()}
        return replace(run, state=state, details={**(run.details or {}), state: details})


def fold_all(book: Book, events: Sequence[LedgerEvent], *, path: Path) -> None:
    """Take `events` into the book; raises LedgerError that names the first one that fails."""
    try:
        for event in events:
            book.fold(event)
        if book.seq == 0:
            raise BrokenChainError("event 1 is missing")
    except BrokenChainError as error:
        raise damaged(path, str(error)) from error


def check_totals(book: Book, events: Sequence[LedgerEvent]) -> None:
    """Compare the book's totals with the independent recount of all its events.

    Raises: BugError if they disagree: then one of the two is wrong, and nothing may be spent.
    """
    try:
        recounted = recount(events[: book.seq])
    except ValueError as error:
        raise BugError("a charge of the ledger does not cover its tables") from error
    for population, (epsilon, delta) in recounted.items():
        spent = book.spent(population)
        added = spent.epsilon.as_integer_ratio(), spent.delta.as_integer_ratio()
        if added != (epsilon, delta):
            raise BugError("two ways of adding up the ledger disagree")
