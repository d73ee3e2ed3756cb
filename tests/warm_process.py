"""A process that has loaded everything, and forks one for each command that it is asked for.

A command is one of `synth`, or a program as after `python -c`, which may alter `synth` first.

Run as a script by `tests.command_line`, it reads requests from standard input, one JSON object a
line, and answers each with the exit code of the command. Whoever needs a process that can be
stopped, or several at once, asks through a socket and sends its streams (`tests/warm_client.py`).
A command has a process, arguments, environment, directory and files of its own, as if it had been
executed; only the start of the interpreter and the loading of libraries are left out, which is most
of what a small run takes.
"""

import contextlib
import functools
import json
import os
import select
import signal
import socket
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import typer.main
from fault_harness import forked_job
from warm_trial import warm

from synth.cli import app
from synth.job import preconditions
from synth.noise import table_sampler
from synth.release.verification import trial_reading

ALSO_LOADED = (
    "matplotlib.pyplot", "openpyxl", "pandas", "psycopg", "pyreadstat", "scipy.stats",
    "synth.api.keeper", "synth.audit", "synth.drafting", "synth.evaluation", "synth.reading",
)  # fmt: skip


def warm_up(configuration: Path) -> None:
    """Do one small job, and load what other commands need.

    The noise was tested by that job; forks test it no more, nor tabulate its laws again, nor read
    the signatures of all commands.
    """
    preconditions.self_test = functools.cache(preconditions.self_test)
    table_sampler._table = functools.cache(table_sampler._table)
    os.environ.setdefault("MPLBACKEND", "Agg")
    for name in ALSO_LOADED:
        __import__(name)
    typer.main.get_command = functools.cache(typer.main.get_command)
    typer.main.get_command(app)
    forked_job.warm_up(configuration)


def started(request: dict, streams: Sequence[int] = ()) -> int:
    """The process id of a command in a process of its own."""
    pid = os.fork()
    if pid == 0:
        try:
            enter(request, streams)
            program = request["program"] and compile(request["program"], "<program>", "exec")
            forked_job.become(
                request["words"],
                program=program and functools.partial(exec, program, {"__name__": "__main__"}),
            )
        finally:
            os._exit(99)
    return pid


def enter(request: dict, streams: Sequence[int]) -> None:
    """Take on directory, environment, mask and streams."""
    for number in (signal.SIGINT, signal.SIGTERM):  # until the command sets its own
        signal.signal(number, signal.SIG_DFL)
    os.chdir(request["directory"])
    os.umask(request["mask"])
    os.environ.clear()
    os.environ.update(request["environment"])
    tempfile.tempdir = None
    if not streams:
        names = (os.devnull, request["output"], request["errors"])
        streams = [os.open(name, os.O_RDWR) for name in names]
    for target, stream in enumerate(streams):
        os.dup2(stream, target)


def answer(asked: socket.socket) -> None:
    """Carry out what a client asks for, with its streams: tell the process id, then the code.

    A client that is killed kills the command.
    """
    received, streams, _, _ = socket.recv_fds(asked, 1 << 20, 3)
    while received and not received.endswith(b"\n"):
        received += asked.recv(1 << 20)
    pid = started(json.loads(received), streams)
    for stream in streams:
        os.close(stream)
    with contextlib.suppress(OSError):  # whoever asked is gone
        asked.sendall(f"{pid}\n".encode())
    if asked in select.select([asked, os.pidfd_open(pid)], [], [])[0]:
        os.kill(pid, signal.SIGKILL)
    code = forked_job.end_of(pid)
    with contextlib.suppress(OSError):
        asked.sendall(f"{code}\n".encode())


def answer_clients(listening: socket.socket, other: int) -> None:
    """Answer each client in a process of its own, until the process `other` ends."""
    running = {os.pidfd_open(other): other}
    while other in running.values():
        ready = select.select([listening, *running], [], [])[0]
        if listening in ready:
            ready.remove(listening)
            asked, _ = listening.accept()
            pid = os.fork()
            if pid == 0:
                try:
                    forked_job.adopt_orphans()
                    answer(asked)
                finally:
                    os._exit(0)
            asked.close()
            running[os.pidfd_open(pid)] = pid
        for ended in ready:
            os.waitpid(running.pop(ended), 0)
            os.close(ended)


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # nothing that a library prints is an answer
    trial_reading.subprocess = warm(trial_reading, path=sys.argv[2])
    warm_up(Path(sys.argv[1]))
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(sys.argv[3])
        listening.listen()
        pid = os.fork()
        if pid:
            answer_clients(listening, pid)
            return
    forked_job.adopt_orphans()
    for line in sys.stdin:
        print(forked_job.end_of(started(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
