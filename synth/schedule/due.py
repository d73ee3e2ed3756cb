"""Publishing what is due: every period that has ended and is not published yet, oldest first.

Safe to start at any time, by any scheduler, as often as it likes: a period is charged and measured
once, whatever stopped the start before, and a period that failed is tried by the next start.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from synth.bookkeeping import RunLock
from synth.config import Config, Given, load_config
from synth.errors import BusyError, DeliveryError, OutputError, SynthError, told_as
from synth.job.afterwards import after_publication, write_index
from synth.job.log import JsonLog, Log, Record, StageLog
from synth.job.pipeline import run
from synth.job.remembered import Failure, changing, recall, state_file, without
from synth.measurements.durable import make_private_directory, translate_write_errors
from synth.schedule.outlook import Outlook, ending, lock_of, series_config, utc_date

STAGES_OF_SUCCESS = ("renewal",)
"""Said although nothing went wrong: a person has to decide something."""


class DueLog(StageLog):
    """Says nothing while all goes well; one message for each release that failed."""

    def write(self, record: Record) -> None:
        """Print what went wrong, or a person has to know, with the release that it is about."""
        is_trouble = record.exit_code is not None or record.error is not None
        if not is_trouble and record.stage not in STAGES_OF_SUCCESS:
            return
        named = record.release is not None and not record.message.startswith(record.release)
        message = f"{record.release}: {record.message}" if named else record.message
        super().write(replace(record, message=message))


@dataclass(frozen=True)
class DueOutcome:
    """What a start did."""

    published: tuple[Path, ...]
    """The folders of the releases that it published, oldest first."""
    failures: tuple[tuple[str, SynthError], ...]
    """The releases that failed, with what went wrong."""
    is_busy: bool = False
    """Whether another start was under way, which does what is to be done."""

    @property
    def exit_code(self) -> int:
        """That of the first failure; 0 without one."""
        return self.failures[0][1].exit_code if self.failures else 0


def due(
    config: Given,
    *,
    today: date | None = None,
    log: Log | None = None,
    policy: Path | None = None,
    sign_key: Path | None = None,
) -> DueOutcome:
    """Publish every period of a series that is due and not published, oldest first.

    `today` is a UTC day, else that of the clock. A series that goes in order stops at its first
    failure, since a release rests on those before; of any other later periods are tried, too. What
    was published before and not delivered yet is delivered.
    Ensures: two starts at once do the work once; a failure is remembered for `synth status`.
    Raises: ConfigError; SynthError if the ledger cannot be read. What fails for one release is
    in the outcome instead.
    """
    log = log or DueLog()
    first, series = series_config(config)
    log.release = first.release.id
    lock = lock_of(first)
    with ExitStack() as held:
        if not _take(lock, held):
            log.done("note", f"{series.name}: another start is under way and does what is due")
            return DueOutcome((), (), is_busy=True)
        work = _Work(config, first, log, policy, sign_key)
        work.do(Outlook.of(first, series, today or utc_date()))
        work.warn(Outlook.of(first, series, today or utc_date()))
    return DueOutcome(tuple(work.published), tuple(work.failures))


def _take(lock: RunLock, held: ExitStack) -> bool:
    """Whether the lock is held now; `synth status` may hold it for an instant to look at it."""
    for seconds in (0.1, 0.3, 1.0, 0.0):
        try:
            held.enter_context(lock)
        except BusyError:
            time.sleep(seconds)
        else:
            return True
    return False


class _Work:
    """One start, and what came of it so far."""

    def __init__(
        self, given: Given, first: Config, log: Log, policy: Path | None, sign_key: Path | None
    ) -> None:
        self._given = given
        self._file = state_file(first)
        self._log = log
        self._policy = policy
        self._sign_key = sign_key
        self.published: list[Path] = []
        self.failures: list[tuple[str, SynthError]] = []

    def do(self, outlook: Outlook) -> None:
        """Deliver what is published and publish what is due, as far as it goes."""
        series = outlook.series
        self._forget(outlook.folder(index).name for index in outlook.published)
        for index in sorted((*outlook.due, *outlook.unfinished)):
            label, folder = series.label(index), outlook.folder(index)
            self._log.release = folder.name
            if index in outlook.unfinished:
                self._finish(label, folder)
            elif not self._publish(label, folder) and series.goes_in_order:
                break
        if outlook.outdated:
            self._log.release = series.name
            write_index(outlook.folder(1).parent, log=self._log)

    def _finish(self, label: str, folder: Path) -> None:
        try:
            after_publication(load_config(self._given, period=label), folder, log=self._log)
        except Exception as error:
            self._failed(folder.name, told_as(error))

    def _publish(self, label: str, folder: Path) -> bool:
        """Whether the release of a period is published now."""
        release_id = folder.name
        begun = None
        try:
            begun = self._begin(release_id)
            config = load_config(self._given, period=label)
            run(config, log=self._log, policy=self._policy, sign_key=self._sign_key)
        except DeliveryError as error:
            self._failed(release_id, error)
        except Exception as error:
            told = told_as(error)
            self._failed(release_id, told)
            self._remember(release_id, None if begun is None else begun.ended(told))
            return False
        self._remember(release_id, None)
        self.published.append(folder)
        return True

    def _failed(self, release_id: str, error: SynthError) -> None:
        self.failures.append((release_id, error))
        self._log.release = release_id
        self._log.failed(error)

    def _begin(self, release_id: str) -> Failure:
        """Note that an attempt begins, so that one which is killed is known as well."""
        with changing(self._file) as state:
            begun = Failure.begun(state[0].failed.get(release_id))
            state[0] = replace(state[0], failed={**state[0].failed, release_id: begun})
        return begun

    def _remember(self, release_id: str, failure: Failure | None) -> None:
        """Keep how an attempt ended; that it cannot be kept is no reason to stop."""
        try:
            with changing(self._file) as state:
                others = without(state[0].failed, release_id)
                kept = others if failure is None else {**others, release_id: failure}
                state[0] = replace(state[0], failed=kept)
        except OutputError:
            self._log.done("note", "how this attempt ended could not be noted for `synth status`")

    def _forget(self, published: Iterable[str]) -> None:
        """Drop failures of releases that are published: a start may be killed in between."""
        done = recall(self._file).failed.keys() & set(published)
        for release_id in done:
            self._remember(release_id, None)

    def warn(self, outlook: Outlook) -> None:
        """Say once for each published period that the series is about to end, if it is."""
        newest = outlook.newest
        release_id = outlook.series.release_id(newest) if newest else ""
        if not newest or release_id in outlook.remembered.warned:
            return
        warnings: Sequence[str] = ending(outlook).warnings
        self._log.release = release_id
        for warning in warnings:
            self._log.done("renewal", warning)
        if warnings:
            with changing(self._file) as state:
                state[0] = replace(state[0], warned=(*state[0].warned, release_id))


class AlsoToFile(Log):
    """Passes every line on, and appends it to a file as JSON.

    A line that cannot be appended later, because the disk is full, say, stops no job.
    """

    def __init__(self, log: Log, command: str, path: Path) -> None:
        """Open the file, mode 0600, and make its directory, mode 0700, if there is none.

        Raises: OutputError if that fails.
        """
        self._log = log
        with translate_write_errors(f"the log {path.name}"):
            make_private_directory(path.absolute().parent)
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            self._stream = os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8")
        self._file = JsonLog(command, self._stream)

    def write(self, record: Record) -> None:
        """Write the line in both places."""
        self._log.write(record)
        with suppress(OSError):
            self._file.write(record)

    def doing(self, what: str) -> AbstractContextManager[None]:
        """As the log does that is written to."""
        return self._log.doing(what)
