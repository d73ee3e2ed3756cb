"""A job as a real process with real files, started by a fork so that imports are paid once.

`warm_up` does a job in this process, so that everything is imported and what libraries keep in
memory is there; `start_job` then forks a process that carries out `python -m synth ARGUMENTS` as
the command line does. Its measuring process, which `synth run` starts by executing Python anew, is
forked too: process, pipe, signals and files are as they are there, only the start of the
interpreter is left out.
"""

from __future__ import annotations

import ctypes
import gc
import io
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

from fault_harness import strike

PR_SET_CHILD_SUBREAPER = 36


def warm_up(configuration: Path) -> None:
    """Do the job of a configuration in this process.

    Ensures: this process may fork: DuckDB's threads ended with its connection, Arrow's start anew
    after a fork; orphans of jobs come to it.
    """
    from synth.cli import main  # noqa: F401 - what jobs begin with
    from synth.config import load_config
    from synth.job import pipeline
    from synth.job.log import StageLog

    config = load_config(configuration)
    log = StageLog(io.StringIO())
    pipeline.measure(config, log=log)
    pipeline.publish(config, log=log)
    gc.collect()
    gc.freeze()
    adopt_orphans()


def adopt_orphans() -> None:
    """Let orphans of jobs come to this process; one that it forks must ask for them itself."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def start_job(
    arguments: Sequence[str], *, place: Path, said: Path, plan: strike.Plan | None = None
) -> int:
    """Start `synth ARGUMENTS` as the leader of a process group of its own; its process id.

    What it says goes to `said`; its temporary files to `place`/tmp.
    """
    pid = os.fork()
    if pid:
        with suppress(OSError):  # the child did it already, or is gone
            os.setpgid(pid, pid)
        return pid
    os.setpgid(0, 0)
    for number in (signal.SIGINT, signal.SIGTERM):  # until the job sets its own
        signal.signal(number, signal.SIG_DFL)
    output = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.environ["TMPDIR"] = str(place / "tmp")
    tempfile.tempdir = None
    if plan is not None:
        strike.prepare(plan, role="run", place=place)
    become(arguments)
    return None


def end_of(pid: int) -> int:
    """Wait for the job and for every orphan that it left; the exit code, negative for a signal."""
    _, status = os.waitpid(pid, 0)
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    return os.waitstatus_to_exitcode(status)


def children_of(pid: int) -> list[int]:
    """The process ids of the living children."""
    try:
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def become(arguments: Sequence[str], *, program: Callable[[], object] | None = None) -> NoReturn:
    """Carry out the command line, or a program that calls it, in this process, and end it."""
    import synth.job.measuring_process as measuring
    from synth.cli import main

    measuring.subprocess = SimpleNamespace(  # type: ignore[attr-defined]
        Popen=_ForkedProcess,
        DEVNULL=subprocess.DEVNULL,
        PIPE=subprocess.PIPE,
        TimeoutExpired=subprocess.TimeoutExpired,
    )
    sys.argv = ["synth", *arguments]
    code: object = 3
    try:
        (program or main)()
    except SystemExit as leaving:
        code = leaving.code
    finally:
        with suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
            ctypes.CDLL(None).fflush(None)
        os._exit(code if isinstance(code, int) else 0)


class _ForkedProcess:
    """As much of subprocess.Popen as the pipeline uses; forks instead of executing."""

    def __init__(self, command: Sequence[str], *, stdin: int, **_: Any) -> None:
        heard, said = os.pipe()
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            os.close(heard)
            nowhere = os.open(os.devnull, os.O_RDWR)
            for descriptor, target in ((stdin, 0), (said, 1), (nowhere, 2)):
                os.dup2(descriptor, target)
            strike.enter_role("measure")
            become(command[command.index("synth") + 1 :])
        os.close(said)
        with strike.unheard():
            self.stdout = io.FileIO(heard)

    def __enter__(self) -> _ForkedProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.stdout.close()
        self.wait()

    def wait(self, seconds: float | None = None) -> int:
        """Wait for the end; subprocess.TimeoutExpired if that takes longer."""
        if self.returncode is None:
            ended = os.pidfd_open(self.pid)
            try:
                if not select.select([ended], [], [], seconds)[0]:
                    raise subprocess.TimeoutExpired("synth measure", seconds or 0)
            finally:
                os.close(ended)
            _, status = os.waitpid(self.pid, 0)
            self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def terminate(self) -> None:
        """Ask it to end."""
        if self.returncode is None:
            os.kill(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)
