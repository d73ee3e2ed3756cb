"""The measuring process: started by `synth run`, and heard through one pipe.

Through another pipe, its standard input, it gets the configuration as the run accepted it: so both
carry out the same one, whether it came from a file or not, and whatever becomes of that file.

What it tells its parent are JSON lines of four forms, written and read here:

    {"line": {...}}                      a line of the log, see `Record`
    {"failed": [text, {...}]}            how it failed: in words, and in JSON values
    {"entered": ["NOISE", 1, 3]}         the step under way, or null
    {"advanced": [250, 1000, "cells"]}   how far it is

The last two hold nothing but names of stages and numbers of the public plan; see `synth.progress`
for what may be told while raw data are open. They are sent only where somebody watches.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import asdict, replace
from pathlib import Path
from threading import Thread
from typing import Any, BinaryIO, cast, get_args

from synth import errors, progress
from synth.config import Config, FrameSource, PersonUnit
from synth.config.source_files import RecordsInMemory
from synth.curator.files.frames import ArrivingTable, send
from synth.errors import BugError, SynthError
from synth.job.log import Log, Record
from synth.progress import Stage, Step, Unit, Watcher

SECONDS_BETWEEN_REPORTS = 0.1


class MeasuringProcessError(SynthError):
    """The measuring process failed: what it said of that."""

    def __init__(self, text: str, plain: dict[str, Any]) -> None:
        """Keep the text of the error, and the error in JSON values."""
        SynthError.__init__(self, plain["sentence"], why=plain["why"], fix=plain["fix"])
        self.exit_code = plain["exit_code"]
        self._text, self._plain = text, plain

    def __str__(self) -> str:
        return self._text

    def to_plain(self) -> dict[str, Any]:
        """As the process itself would have said it."""
        return self._plain


def told_error(text: str, plain: dict[str, Any]) -> MeasuringProcessError:
    """The error, of the class that it had there as well: who catches that one catches it."""
    kind = getattr(errors, str(plain["error"]), None)
    if not isinstance(kind, type) or not issubclass(kind, SynthError):
        return MeasuringProcessError(text, plain)
    told = type(kind.__name__, (MeasuringProcessError, kind), {})
    return cast("MeasuringProcessError", told(text, plain))


class ToldParent(Log):
    """The log of a measuring process, which also watches its progress where that is wanted.

    It writes whole lines to a descriptor of its own, past the silence of the curator: that sends
    the standard ones to nowhere while raw data are open, and libraries know of no other.
    A parent that is gone is no reason to stop measuring.
    """

    def __init__(self, descriptor: int, *, is_watched: bool) -> None:
        """Write to a copy of this descriptor."""
        self._descriptor = os.dup(descriptor)
        self._is_watched = is_watched
        self._next = 0.0

    def write(self, record: Record) -> None:
        """Tell a line of the log."""
        self._tell("line", asdict(record))

    def failed(self, error: SynthError) -> None:
        """Tell how this process failed."""
        self._tell("failed", [str(error), error.to_plain()])

    def doing(self, what: str) -> AbstractContextManager[None]:  # noqa: ARG002
        """Report progress while the context lasts, if somebody watches."""
        return progress.watched_by(self) if self._is_watched else nullcontext()

    def entered(self, step: Step | None) -> None:
        """Report the step under way."""
        self._next = 0.0
        self._tell("entered", step and [step.stage.name, step.part, step.parts])

    def advanced(self, done: int, total: int, unit: Unit) -> None:
        """Report how far it is, if the last report was not just now."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + SECONDS_BETWEEN_REPORTS
            self._tell("advanced", [done, total, unit])

    def _tell(self, form: str, content: Any) -> None:
        with suppress(OSError):
            os.write(self._descriptor, f"{json.dumps({form: content})}\n".encode())


def pass_on(line: bytes, log: Log, watcher: Watcher | None) -> MeasuringProcessError | None:
    """Tell the log or the watcher what a line says; return the error that it tells of.

    A line of no such form, such as one that a library printed, reaches nobody.
    """
    try:
        told = json.loads(line)
    except ValueError:
        return None
    match told:
        case {"line": {"stage": str(), "message": str()} as fields}:
            log.write(Record(**fields))
        case {"failed": [str(text), dict(plain)]}:
            return told_error(text, plain)
        case {"entered": None} if watcher:
            watcher.entered(None)
        case {"entered": [str(name), int(part), int(parts)]} if watcher:
            if name in Stage.__members__:
                watcher.entered(Step(Stage[name], part, parts))
        case {"advanced": [int(done), int(total), str(unit)]} if watcher:
            for known in get_args(Unit):
                if known == unit and 0 <= done <= total:
                    watcher.advanced(done, total, known)
    return None


SECONDS_TO_END = 10.0
"""How long the process may clean up after it was told to end."""


def measure_in_own_process(
    config: Config, *, policy: Path | None, log: Log, table: RecordsInMemory | None = None
) -> None:
    """Run `synth measure` as a child that dies with this process; pass on what it says.

    A `table` in the memory of this process goes through the pipe, behind the configuration.

    Requires: what must hold before anything is spent was found to hold.
    Ensures: the child has ended when this returns or raises. One that is told to end and does
    not, because native code keeps it busy, is killed: the contract holds at any instant.
    Raises: MeasuringProcessError for what the child said; SynthError if it was stopped, could not
    be started, or failed without a word.
    """
    watcher = progress.current_watcher()
    command = [sys.executable, "-m", "synth", "measure", "--within-run"]
    command += [] if policy is None else ["--policy", str(policy)]
    command += [] if watcher is None else ["--report-progress"]
    command += ["--", config.name]
    unwanted = ("PYTHONFAULTHANDLER", "PYTHONINSPECT", "PYTHONDEVMODE", "PYTHONTRACEMALLOC")
    environment = {name: value for name, value in os.environ.items() if name not in unwanted}
    failure: MeasuringProcessError | None = None
    given, giving = os.pipe()
    try:
        started = _started(command, environment, given)
    except BaseException:
        os.close(giving)
        raise
    finally:
        os.close(given)
    with started as process:
        # In a thread, because a pipe holds little at once, and the child may speak meanwhile.
        Thread(target=_hand_over, args=(config, table, giving), daemon=True).start()
        try:
            for line in process.stdout or ():
                failure = pass_on(line, log, watcher) or failure
        except BaseException:
            _end(process)
            raise
    if process.returncode < 0:
        raise SynthError(
            f"the measuring process was stopped from outside (signal {-process.returncode})",
            why="often the machine ran out of memory",
            fix="start the same command again; nothing is charged twice",
        )
    if process.returncode:
        raise failure or SynthError(
            f"the measuring process ended without a word (exit code {process.returncode})",
            fix="start synth measure with the same configuration, to see what it says",
        )


def given_configuration(pipe: BinaryIO) -> Config:
    """The configuration that the run which started this process hands over.

    A table that comes behind it is attached to its source; nothing of it is read here.

    Requires: the other end of the pipe is `measure_in_own_process`, in a process of this user.
    Raises: BugError if none comes, because the command was typed.
    """
    try:
        given = pickle.load(pipe)  # noqa: S301 - written by the process that started this one
    except (EOFError, pickle.UnpicklingError):
        given = None
    match given:
        case Config() as config, bool() as has_table:
            if not has_table:
                return config
            return with_table(config, ArrivingTable(pipe, is_kept=config.is_added_up))
    raise BugError("--within-run is for the processes that synth run starts")


def with_table(config: Config, table: RecordsInMemory) -> Config:
    """The configuration with the records that it is about. Requires: they come from memory."""
    if not isinstance(config.source, FrameSource):
        raise BugError("a table was handed over for records that are elsewhere")
    return replace(config, source=replace(config.source, records=table))


def needed_columns(config: Config) -> list[str]:
    """The columns of the source that are counted, of the persons, and of the periods."""
    unit = config.privacy.unit
    person = [unit.column] if isinstance(unit, PersonUnit) else []
    selection = config.selection()
    period = [] if selection is None else [selection.column]
    return list(dict.fromkeys([*config.universe.names, *person, *period]))


def _hand_over(config: Config, table: RecordsInMemory | None, descriptor: int) -> None:
    """Write what `given_configuration` reads; a child that ends early is no reason to fail.

    Privacy: whatever goes wrong with a table is told by the child, which misses the rest of it: an
    exception could show a value.
    """
    with suppress(BaseException), os.fdopen(descriptor, "wb") as pipe:
        pickle.dump((config, table is not None), pipe)
        if table is not None:
            send(table, needed_columns(config), pipe)


def _started(
    command: Sequence[str], environment: Mapping[str, str], given: int
) -> subprocess.Popen[bytes]:
    """The child; raises SynthError if the machine has no room for another process."""
    try:
        return subprocess.Popen(
            command,
            env=environment,
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        raise SynthError(
            "the measuring process could not be started",
            why="often the machine has no memory left, or no process more is allowed",
            fix="start the same command again when there is room; nothing is charged twice",
        ) from None


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        process.kill()
