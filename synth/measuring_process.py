"""The measuring process: started by `synth run`, and heard through one pipe.

What the process says are lines for the log. When the parent shows progress on a terminal, the
process also reports where it is, in lines of a fixed form that hold nothing but names of stages
and numbers of the public plan; see `synth.progress` for what may be told while raw data are
open. A scheduled job asks for no such reports, and nothing of them reaches its log.

It is started early: while it loads what it needs and plans, the parent still looks whether the
run may go on at all. It goes no further than that before it has heard so, through its standard
input. While the child measures, the parent loads what it needs itself afterwards.
"""

from __future__ import annotations

import importlib
import locale
import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import get_args

from synth import progress
from synth.errors import SynthError
from synth.json_log import JsonLog
from synth.progress import Stage, Step, Unit, Watcher
from synth.stage_log import Log, StageLog

REPORT = "progress: "
"""Begins every report. No line of a log does."""

CLEARED = b"\n"
"""What the parent writes once the run may go on."""

PIPE_BYTES = 1 << 16

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
    require: Callable[[], None],
    needed_afterwards: Sequence[str] = (),
) -> None:
    """Run `synth measure` as a child that dies with this process; pass on what it says.

    `require` is called while the child gets ready; unless it returns, the child measures nothing.
    The modules `needed_afterwards` are imported while nothing is to be heard of the child.

    Ensures: the child has ended when this returns or raises. One that is told to end and does
    not, because native code keeps it busy, is killed: the contract holds at any instant.
    Raises: what `require` raises; SynthError if the child was stopped or could not be started;
    MeasuringProcessError with its exit code if it failed.
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
            require()
            _clear(process)
            for line in _lines(process, needed_afterwards):
                pass_on(line, log, watcher)
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
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
    except OSError:
        raise SynthError(
            "the measuring process could not be started",
            why="often the machine has no memory left, or no process more is allowed",
            fix="start the same command again when there is room; nothing is charged twice",
        ) from None


def _clear(process: subprocess.Popen[bytes]) -> None:
    """Tell the child that it may measure; one that has ended already has said why."""
    if process.stdin is not None:
        with suppress(BrokenPipeError), process.stdin as pipe:
            pipe.write(CLEARED)


def wait_until_cleared() -> None:
    """Wait, in the measuring process, for the word of its parent.

    Raises: SynthError if the parent has ended without it.
    """
    if sys.stdin is None or os.read(sys.stdin.fileno(), len(CLEARED)) != CLEARED:
        raise SynthError(
            "the run ended before anything was measured",
            why="its preconditions do not hold, or it was stopped",
            fix="start synth run again",
        )


def _lines(process: subprocess.Popen[bytes], modules: Sequence[str]) -> Iterator[str]:
    """What the child says, line by line; while it is silent, one module after the other is loaded.

    A module takes less than a second, so nothing that the child says waits for longer.
    """
    if process.stderr is None:
        return
    pipe, left, rest = process.stderr.fileno(), iter(modules), b""
    heard = select.poll()
    heard.register(pipe, select.POLLIN)
    encoding = locale.getencoding()
    while True:
        while not heard.poll(0) and (module := next(left, None)):
            importlib.import_module(module)
        if not (found := os.read(pipe, PIPE_BYTES)):
            break
        *lines, rest = (rest + found).split(b"\n")
        yield from (line.decode(encoding, "replace") for line in lines)
    if rest:
        yield rest.decode(encoding, "replace")


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
