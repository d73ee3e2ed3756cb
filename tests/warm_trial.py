"""A process that has loaded Arrow, and forks one for each Parquet file to be read on trial.

Verification reads a stranger's file in a process that it executes; loading Arrow is most of what
that takes for a small file. Here the same script runs in a fork, with the same limits, streams and
exit code; a small file that was read before, within the same limits, is not read again. That trials
are executed is tested in tests/faults/test_hostile_releases.py, and wherever commands are.
"""

import atexit
import functools
import importlib
import json
import os
import runpy
import select
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

SMALL_BYTES = 1 << 20


@functools.cache
def warm_process() -> str:
    """The socket of the process, which is started at the first trial and ended with this one."""
    place = tempfile.TemporaryDirectory(prefix="trials-")
    path = str(Path(place.name) / "socket")
    by_system = {"MALLOC_ARENA_MAX": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
    started = subprocess.Popen(
        [sys.executable, "-P", __file__, path],
        env={**os.environ, **by_system, "JE_ARROW_MALLOC_CONF": "background_thread:false"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert started.stdout is not None
    started.stdout.readline()  # it listens
    atexit.register(place.cleanup)
    atexit.register(started.communicate)
    return path


def warm(module: Any, *, path: str | None = None) -> SimpleNamespace:
    """What `module` needs of subprocess, its trials forked by the process at `path`."""

    def run(
        command: list[str], *, stdin: Any, timeout: float, **_: object
    ) -> subprocess.CompletedProcess[bytes]:
        with socket.socket(socket.AF_UNIX) as asked:
            asked.settimeout(timeout)
            asked.connect(path or warm_process())
            request = json.dumps(command[command.index(module.__file__) :]).encode()
            try:
                socket.send_fds(asked, [request], [stdin.fileno()])
                code, said = json.loads(asked.makefile().readline())
            except TimeoutError:
                raise subprocess.TimeoutExpired(command, timeout) from None
        return subprocess.CompletedProcess(command, code, said.encode())

    return SimpleNamespace(
        run=run,
        PIPE=subprocess.PIPE,
        DEVNULL=subprocess.DEVNULL,
        TimeoutExpired=subprocess.TimeoutExpired,
    )


def carried_out(words: list[str], descriptor: int) -> tuple[int, str]:
    """Exit code, negative for a signal, and output of a script in a process of its own."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.dup2(descriptor, 0)
            os.dup2(writing, 1)
            os.dup2(os.open(os.devnull, os.O_RDWR), 2)
            os.closerange(3, 100)
            sys.argv = words
            sys.stdout = os.fdopen(1, "w", closefd=False)
            runpy.run_path(words[0], run_name="__main__")
        finally:
            os._exit(99)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8", errors="replace") as said:
        told = said.read()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), told


def answer_to(request: bytes, descriptor: int, known: dict[tuple[bytes, bytes], bytes]) -> bytes:
    """What is said of a file: once more, if it is small and was read within the same limits."""
    content = os.pread(descriptor, SMALL_BYTES + 1, 0)
    said = known.get((request, content))
    if said is None:
        said = json.dumps(carried_out(json.loads(request), descriptor)).encode() + b"\n"
        if len(content) <= SMALL_BYTES:
            known[request, content] = said
    return said


def main() -> None:
    importlib.import_module("pyarrow.parquet")  # what each fork finds loaded
    known: dict[tuple[bytes, bytes], bytes] = {}
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(sys.argv[1])
        listening.listen()
        print(flush=True)
        while sys.stdin not in select.select([listening, sys.stdin], [], [])[0]:
            asked, _ = listening.accept()
            with asked:
                request, descriptors, _, _ = socket.recv_fds(asked, 1 << 16, 1)
                if not request:
                    continue
                answer = answer_to(request, descriptors[0], known)
                os.close(descriptors[0])
                try:
                    asked.sendall(answer)
                except OSError:
                    continue  # whoever asked is gone


if __name__ == "__main__":
    main()
