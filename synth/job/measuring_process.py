"""The measuring process: started by `synth run`, and heard through one pipe (`messages`).

Through another pipe, its standard input, it gets the configuration as the run accepted it: so both
carry out the same one, whether it came from a file or not, and whatever becomes of that file.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import BinaryIO

from synth import progress
from synth.config import Config, FrameSource, PersonUnit
from synth.config.source_files import RecordsInMemory
from synth.curator.files.frames import ArrivingTable, send
from synth.errors import BugError, SynthError
from synth.job.log import Log
from synth.job.messages import MeasuringProcessError, pass_on

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
            is_added_up = config.series is not None and config.series.is_continual
            return with_table(config, ArrivingTable(pipe, is_kept=is_added_up))
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
