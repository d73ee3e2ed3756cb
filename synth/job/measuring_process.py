"""The measuring process: started by `synth run`, and heard through one pipe (`messages`)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from synth import progress
from synth.errors import SynthError
from synth.job.log import Log
from synth.job.messages import MeasuringProcessError, pass_on

SECONDS_TO_END = 10.0
"""How long the process may clean up after it was told to end."""


def measure_in_own_process(
    path: Path, *, period: str | None, policy: Path | None, log: Log
) -> None:
    """Run `synth measure` as a child that dies with this process; pass on what it says.

    Requires: what must hold before anything is spent was found to hold.
    Ensures: the child has ended when this returns or raises. One that is told to end and does
    not, because native code keeps it busy, is killed: the contract holds at any instant.
    Raises: MeasuringProcessError for what the child said; SynthError if it was stopped, could not
    be started, or failed without a word.
    """
    watcher = progress.current_watcher()
    command = [sys.executable, "-m", "synth", "measure", str(path), "--within-run"]
    command += [] if period is None else ["--period", period]
    command += [] if policy is None else ["--policy", str(policy)]
    command += [] if watcher is None else ["--report-progress"]
    unwanted = ("PYTHONFAULTHANDLER", "PYTHONINSPECT", "PYTHONDEVMODE", "PYTHONTRACEMALLOC")
    environment = {name: value for name, value in os.environ.items() if name not in unwanted}
    failure: MeasuringProcessError | None = None
    with _started(command, environment) as process:
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


def _started(command: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """The child; raises SynthError if the machine has no room for another process."""
    try:
        return subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
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
