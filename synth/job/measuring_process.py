"""The measuring process: started by `synth run`, and heard through one pipe.

What the process says are lines for the log. When the parent shows progress on a terminal, the
process also reports where it is, in lines of a fixed form that hold nothing but names of stages
and numbers of the public plan; see `synth.progress` for what may be told while raw data are
open. A scheduled job asks for no such reports, and nothing of them reaches its log.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import get_args

from synth import progress
from synth.errors import SynthError
from synth.job.log import JsonLog, Log, StageLog
from synth.progress import Stage, Step, Unit, Watcher

REPORT = "progress: "
"""Begins every report. No line of a log does."""

SECONDS_BETWEEN_REPORTS = 0.1

SECONDS_TO_END = 10.0
"""How long the process may clean up after it was told to end."""

_ENTERED = re.compile(r"progress: entered ([A-Z]+) (\d{1,9}) (\d{1,9})")
_ADVANCED = re.compile(r"progress: advanced (\d{1,19}) (\d{1,19}) ([a-z]+)")


class MeasuringProcessError(SynthError):
    """The measuring process failed; it has already said why."""

    def __init__(self, exit_code: int) -> None:
        """Keep the exit code of the process."""
        super().__init__("the measuring process failed")
        self.exit_code = exit_code


def measure_in_own_process(
    path: Path,
    period: str | None,
    log: Log,
    *,
    policy: Path | None = None,
) -> None:
    """Run `synth measure` as a child that dies with this process; pass on what it says.

    Ensures: the child has ended when this returns or raises. One that is told to end and does
    not, because native code keeps it busy, is killed: the contract holds at any instant.
    Raises: SynthError if the child was stopped or could not be started; MeasuringProcessError
    with its exit code if it failed.
    """
    watcher = progress.current_watcher()
    command = [sys.executable, "-m", "synth", "measure", str(path), "--within-run"]
    command += [] if period is None else ["--period", period]
    command += [] if policy is None else ["--policy", str(policy)]
    command += ["--log-json"] if isinstance(log, JsonLog) else []
    command += [] if watcher is None else ["--report-progress"]
    unwanted = ("PYTHONFAULTHANDLER", "PYTHONINSPECT", "PYTHONDEVMODE", "PYTHONTRACEMALLOC")
    environment = {name: value for name, value in os.environ.items() if name not in unwanted}
    with _started(command, environment) as process:
        try:
            for line in process.stderr or ():
                pass_on(line.decode(errors="replace").rstrip("\n"), log, watcher)
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
        raise MeasuringProcessError(process.returncode)


def _started(command: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """The child; raises SynthError if the machine has no room for another process."""
    try:
        return subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
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


def pass_on(line: str, log: Log, watcher: Watcher | None) -> None:
    """A report goes to the watcher, every other line to the log; a garbled report to nobody."""
    if not line.startswith(REPORT):
        log.done(line)
    elif watcher is None:
        return
    elif found := _ENTERED.fullmatch(line):
        if found[1] in Stage.__members__:
            watcher.entered(Step(Stage[found[1]], int(found[2]), int(found[3])))
    elif line == f"{REPORT}ended":
        watcher.entered(None)
    elif found := _ADVANCED.fullmatch(line):
        for unit in get_args(Unit):
            if unit == found[3]:
                watcher.advanced(int(found[1]), int(found[2]), unit)


class PipeWatcher:
    """Writes reports to a descriptor, whole lines at a time, and never fails."""

    def __init__(self, descriptor: int) -> None:
        """Report to this descriptor, which stays open."""
        self._descriptor = descriptor
        self._next = 0.0

    def entered(self, step: Step | None) -> None:
        """Report the step under way."""
        self._next = 0.0
        text = "ended" if step is None else f"entered {step.stage.name} {step.part} {step.parts}"
        self._write(text)

    def advanced(self, done: int, total: int, unit: Unit) -> None:
        """Report how far it is, if the last report was not just now."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + SECONDS_BETWEEN_REPORTS
            self._write(f"advanced {done} {total} {unit}")

    def _write(self, text: str) -> None:
        with suppress(OSError):  # nobody listens: not a reason to stop measuring
            os.write(self._descriptor, f"{REPORT}{text}\n".encode())


class ReportingLog(StageLog):
    """The log of a measuring process whose parent shows its progress."""

    def doing(self, what: str) -> AbstractContextManager[None]:  # noqa: ARG002
        """Report to the parent while the context lasts, past the silence of the curator.

        The reports go through a descriptor of their own: the curator sends the standard ones to
        nowhere while raw data are open, and libraries know of no other.
        """
        return _reporting()


@contextmanager
def _reporting() -> Iterator[None]:
    descriptor = os.dup(sys.stderr.fileno())
    try:
        with progress.watched_by(PipeWatcher(descriptor)):
            yield
    finally:
        os.close(descriptor)
