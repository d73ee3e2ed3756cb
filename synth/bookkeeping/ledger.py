"""The ledger: charges before any record is read, and how far each run has come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, NotRequired, TypedDict, Unpack

from synth.bookkeeping.book import Book, check_totals, fold_all
from synth.bookkeeping.file import (
    LOOKED_SINCE,
    PROMISED_SINCE,
    SERIES_SINCE,
    LedgerEvent,
    LedgerFile,
    create_ledger_file,
    damaged,
)
from synth.bookkeeping.refusal import (
    check_division,
    check_done_once,
    check_order,
    check_promise,
    check_same_release,
    check_series,
    check_spelling,
    check_step,
    check_voidable,
    ledger_behind,
    ledger_gone,
    over_the_cap,
)
from synth.bookkeeping.run import (
    NEXT_STATE,
    PopulationPosition,
    RunRecord,
    RunState,
    divided_account,
    division_of,
    exceeds,
    has_look,
    position_for,
    promise_of,
    tables_to_plain,
)
from synth.bookkeeping.run_directory import (
    RunLock,
    Trace,
    keep_head,
    new_token,
    noise_exists,
    require_token,
    traces_beside,
)
from synth.config import DisjointPart, SeriesPart
from synth.errors import BugError, LedgerError
from synth.measurements.receipt import LedgerPosition
from synth.privacy import Budget, PrivacyEvent, Promise, total_budget
from synth.privacy.population import part_to_plain, series_accounts

BUSY_TIMEOUT_SECONDS = 30.0
NO_DELTA = Fraction(0)


def utc_day() -> str:
    """Today in UTC, ISO 8601: the finest time that the ledger keeps."""
    return datetime.now(UTC).date().isoformat()


class ChargeRequest(TypedDict):
    """What a release asks of the ledger; see `Ledger.reserve`."""

    release_id: str
    configuration_hash: str
    population: str
    cap: Budget
    events: Sequence[PrivacyEvent]
    promise: Promise
    delta: NotRequired[Fraction]
    disjoint_part: NotRequired[DisjointPart | None]
    series: NotRequired[SeriesPart | None]
    """The part of a series that the charge pays for."""
    factorization: NotRequired[Mapping[str, Any] | None]
    """How a charge for a horizon is spent over its periods, in plain values."""


class SeriesPlan(NamedTuple):
    """What the first charge of a part of a series bound all later ones to."""

    events: tuple[PrivacyEvent, ...]
    factorization: Mapping[str, Any] | None


class Ledger:
    """An open ledger file, for any number of populations and runs.

    Every state and total is derived from the hash-chained events; opening checks the whole
    chain and recounts the totals with independent code.
    """

    def __init__(self, file: LedgerFile, *, today: Callable[[], str] = utc_day) -> None:
        """Read and check every event; use `open` or `open_existing` instead."""
        self._file = file
        self._today = today
        self._book = Book()
        traces = traces_beside(file.path)  # before the events: nobody takes an event back
        with file.reading():
            self._follow()
            check_totals(self._book, file.events_after(0))
            version = file.schema_version()
        if version != self._book.schema_version:
            raise damaged(file.path, "its schema is not the one that its events tell of")
        self._require_whole(traces)

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        today: Callable[[], str] = utc_day,
        busy_timeout_seconds: float = BUSY_TIMEOUT_SECONDS,
    ) -> Ledger:
        """Open the ledger at `path`, making it if nothing is there.

        Raises: LedgerError if the file is damaged, foreign or of another schema, or if it is gone
        and runs beside it were charged; OutputError if it cannot be made; BusyError.
        """
        if not path.exists():
            _require_never_made(path)
            create_ledger_file(path, day=today())
        return cls.open_existing(path, today=today, busy_timeout_seconds=busy_timeout_seconds)

    @classmethod
    def open_existing(
        cls,
        path: Path,
        *,
        today: Callable[[], str] = utc_day,
        busy_timeout_seconds: float = BUSY_TIMEOUT_SECONDS,
    ) -> Ledger:
        """Open the ledger at `path`; raises LedgerError if nothing is there."""
        file = LedgerFile(path, busy_timeout_seconds=busy_timeout_seconds)
        try:
            return cls(file, today=today)
        except BaseException:
            file.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @classmethod
    def require_room(cls, path: Path, **asked: Unpack[ChargeRequest]) -> RunState | None:
        """Refuse what `reserve` would refuse now; charge nothing, and make no ledger.

        For what comes before a charge: between the two another release may take the room, so
        `reserve` decides anew.
        Ensures: returns the state of a release that is charged already; None for one that is not.
        Raises: as `open` and `reserve`.
        """
        book = Book()
        if path.exists():
            with cls.open_existing(path) as ledger:
                book = ledger._book
        else:
            _require_never_made(path)
        known = _admitted(book, path, asked)
        return None if known is None else known.state

    def reserve(self, **asked: Unpack[ChargeRequest]) -> tuple[RunState, LedgerPosition]:
        """Charge a release to its population, durably, before any record may be read.

        Privacy: the filter of the publisher. A charge that would bring the sum of all charges
        of the population over `cap` is refused; the comparison is exact. The first charge of a
        population binds it to the unit and the neighbours of its `promise`: charges in other
        terms would not add up. Events with Gaussian
        noise are charged at `delta`; pure events alone cost none. With a `disjoint_part` it is
        charged to that part alone, and the largest part counts; see `parallel_total`. With a
        `series` its charges come together by the rule of the series; see `series_total`.
        Ensures: a release that is known with the same configuration is charged no second
        time; its state is returned with the position of its reservation. If it is still
        `reserved`, this start is recorded as a further attempt: no noise has left its process but
        a look, which the run's directory keeps and this start takes up.
        Raises: BudgetRefusedError, also for another promise or a part of another division than
        those which earlier releases of the population were charged by, and for a new population
        that differs from one that is there in its spelling alone; PublishedDifferentlyError if
        the release id is taken by another configuration, population or set of tables;
        OutputError if the run's directory is not the one of the reservation.
        """
        release_id, population = asked["release_id"], asked["population"]
        with self._file.writing():
            self._follow()
            known = _admitted(self._book, self._file.path, asked)
            if known is None:
                payload = {
                    "token": new_token(self._file.path, release_id),
                    "configuration_hash": asked["configuration_hash"],
                    "charge": _cost(asked).to_plain(),
                    "cap": asked["cap"].to_plain(),
                    "tables": tables_to_plain(asked["events"]),
                    "promise": asked["promise"].to_plain(),
                }
                part = asked.get("disjoint_part")
                if part is not None:
                    payload["disjoint_part"] = part_to_plain(part)
                series, factorization = asked.get("series"), asked.get("factorization")
                if series is not None:
                    payload["series"] = series.to_plain()
                if factorization is not None:
                    payload["factorization"] = dict(factorization)
                needed = LOOKED_SINCE if has_look(asked["events"]) else PROMISED_SINCE
                self._migrate(needed if series is None else SERIES_SINCE)
                self._append("reserve", population, release_id, payload)
            elif known.state is RunState.RESERVED:
                self._append("attempt", population, release_id, {})
        self._keep_head(release_id)
        run = self._book.runs[release_id]
        return run.state, run.position

    def state(self, release_id: str, population: str | None = None) -> RunRecord | None:
        """The latest reservation of a release, or None if it is only planned."""
        self._follow()
        run = self._book.runs.get(release_id)
        if run is None or population not in (None, run.population):
            return None
        return run

    def series_plan(self, name: str, part: int) -> SeriesPlan | None:
        """What an earlier release of the part was charged for, which later ones must be as well.

        So a newer version of synth, or another machine, never plans anew within a part. None if
        nothing is charged for it.
        """
        self._follow()
        for run in self._book.runs.values():
            if run.is_charged and run.series and (run.series.name, run.series.part) == (name, part):
                return SeriesPlan(run.tables, run.factorization)
        return None

    def advance(
        self, release_id: str, state: RunState, details: Mapping[str, str] | None = None
    ) -> None:
        """Record that a run has reached `state`, one step behind the state it is in.

        Ensures: nothing changes if the run is in `state` already. Then `details` must be left
        out or equal those recorded: other details would mean that the step was done twice.
        Raises: LedgerError for any other step.
        """
        with self._file.writing():
            self._follow()
            run = self._known(release_id)
            if run.state is state and state in NEXT_STATE.values():
                check_done_once(run, dict(details or {}))
                return
            check_step(run, state)
            payload = {"details": dict(details or {})}
            self._append(state.value, run.population, release_id, payload)
        self._keep_head(release_id)

    def void(self, release_id: str, reason: str) -> None:
        """Free the charge of a run that never reached `measured`, for a stated reason.

        Privacy: allowed because no noise of such a run has left its process; not once it has taken
        a look. The run's lock
        is taken meanwhile, so that a run under way cannot be voided; and measurements found in
        the run's directory count, even if the run stopped before it could record them.
        Raises: LedgerError if the run was measured, is voided or unknown, or if the reason is
        empty; BusyError if the run is under way.
        """
        if not reason.strip():
            raise LedgerError("a run is voided for a reason", fix='give one: --reason "..."')
        self._known(release_id)
        lock = RunLock.for_run(self._file.path, release_id)
        with lock:
            with self._file.writing():
                self._follow()
                run = self._known(release_id)
                check_voidable(run, noise_exists=noise_exists(lock.path.parent))
                require_token(self._file.path, run)
                self._append("void", run.population, release_id, {"reason": reason})
            self._keep_head(release_id)

    def history(self, population: str | None = None) -> list[LedgerEvent]:
        """All events in order, or those of one population."""
        self._follow()
        return [
            event
            for event in self._file.events_after(0)
            if population is None or event.population == population
        ]

    def position(self, population: str) -> PopulationPosition:
        """What the population has spent, on what, and what is left."""
        self._follow()
        runs = tuple(run for run in self._book.runs.values() if run.population == population)
        return PopulationPosition(
            population=population,
            cap=runs[-1].position.cap if runs else None,
            spent=self._book.spent(population),
            runs=runs,
            divided=divided_account(self._book.charged(population)),
            promise=promise_of(self._book.charged(population)),
            series=series_accounts(run.as_charge for run in self._book.charged(population)),
        )

    def populations(self) -> tuple[str, ...]:
        """All populations that were ever charged, sorted."""
        self._follow()
        return tuple(sorted({run.population for run in self._book.runs.values()}))

    def verify_chain(self) -> None:
        """Check every event from the first on, and recount all totals.

        Raises: LedgerError that names the first event which does not hold.
        """
        events = self._file.events_after(0)
        book = Book()
        fold_all(book, events, path=self._file.path)
        if book.seq < self._book.seq:
            raise damaged(self._file.path, f"event {book.seq + 1} is missing")
        self._book = book
        check_totals(book, events)

    def _follow(self) -> None:
        fold_all(self._book, self._file.events_after(self._book.seq), path=self._file.path)

    def _keep_head(self, release_id: str) -> None:
        """Note in the run's directory how far the chain has come, once that is durable."""
        self._follow()
        keep_head(self._file.path, release_id, self._book.head)

    def _require_whole(self, traces: Iterable[Trace]) -> None:
        """Refuse a ledger that lacks what run directories beside it hold traces of."""
        for trace in traces:
            if trace.head is None:
                is_known = not trace.noise_exists or trace.release_id in self._book.runs
            else:
                is_known = trace.head in self._book.hashes
            if not is_known:
                raise ledger_behind(self._file.path, trace.release_id)

    def _migrate(self, version: int) -> None:
        """Bring an older ledger to the schema that a reservation needs, in this transaction."""
        if self._book.schema_version >= version:
            return
        self._file.migrate(self._next("migrated", "", "", {"schema_version": version}), version)

    def _append(
        self, kind: str, population: str, release_id: str, payload: Mapping[str, Any]
    ) -> None:
        self._file.append(self._next(kind, population, release_id, payload))

    def _next(
        self, kind: str, population: str, release_id: str, payload: Mapping[str, Any]
    ) -> LedgerEvent:
        """The event behind the last one of the file, which this transaction may have appended."""
        seq, head = self._file.last()
        return LedgerEvent.chained(
            seq=seq + 1,
            previous_hash=head,
            kind=kind,
            population=population,
            release_id=release_id,
            day=self._today(),
            payload=payload,
        )

    def _known(self, release_id: str) -> RunRecord:
        run = self.state(release_id)
        if run is None:
            raise LedgerError(
                f"release {release_id} is not in the ledger",
                fix="`synth ledger CONFIG` lists the releases that are",
            )
        return run


def _require_never_made(path: Path) -> None:
    """Refuse to begin a ledger where one was and is gone. Requires: nothing was at `path`.

    Runs beside it that show charges tell of a ledger: it is made before any of them is. So if one
    is there by now, another process has made it, and what was found may be that one's.
    """
    journal = path.with_name(f"{path.name}-journal").exists()
    traces = traces_beside(path)
    if path.exists():
        return
    if journal:
        raise damaged(path, "the file is gone, its journal is still there")
    if traces:
        raise ledger_gone(path, traces[0].release_id)


def _cost(asked: ChargeRequest) -> Budget:
    return total_budget(asked["events"], delta=asked.get("delta", NO_DELTA))


def _admitted(book: Book, path: Path, asked: ChargeRequest) -> RunRecord | None:
    """The run, if it is charged already; otherwise None, and the book has room for its charge.

    Raises: what `Ledger.reserve` raises for a charge that is refused.
    """
    population, part, promise = asked["population"], asked.get("disjoint_part"), asked["promise"]
    cost = _cost(asked)
    if cost.epsilon <= 0:
        raise BugError("a release without measured tables cannot be charged")
    if part is not None and promise.neighbours != "add-remove":
        raise BugError("parts are disjoint only if neighbours are one added or removed")
    run = book.runs.get(asked["release_id"])
    if run is None or not run.is_charged:
        charged = book.charged(population)
        check_spelling(book.charged_populations(), population)
        check_promise(charged, promise, population)
        check_division(division_of(charged), part, population)
        series = asked.get("series")
        if series is not None:
            events, factorization = tuple(asked["events"]), asked.get("factorization")
            check_series(charged, series, events, factorization, cost)
            check_order(book.runs.values(), series, promise)
        position = position_for(
            charged,
            population=population,
            cap=asked["cap"],
            charge=cost,
            part=part,
            promise=promise,
            series=series,
        )
        if exceeds(position):
            raise over_the_cap(position)
        return None
    check_same_release(
        run, asked["configuration_hash"], population, tuple(asked["events"]), part, promise
    )
    if run.state is RunState.RESERVED:
        require_token(path, run)
    return run
