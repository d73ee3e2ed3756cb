"""The measuring process is sealed: no core dump, no readable file, no life of its own."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.command_line import synth

SEALED = """
import ctypes, os, resource, sys, time
from synth.curator import seal_process
from synth.curator.seal import core_dumps_are_off
assert not core_dumps_are_off() or resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)
seal_process(dies_with_parent=True)
print(resource.getrlimit(resource.RLIMIT_CORE), ctypes.CDLL(None).prctl(3, 0, 0, 0, 0),
      oct(os.umask(0)), core_dumps_are_off(), os.getpid(), flush=True)
time.sleep(60)
"""


def test_a_process_that_is_not_sealed_does_not_say_that_it_is():
    code = (
        "import resource; from synth.curator.seal import core_dumps_are_off as off;"
        "resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); print(off())"
    )
    assert synth(program=code).stdout.strip() == "False", "still dumpable"


def test_a_process_whose_limit_allows_a_dump_does_not_say_that_it_is():
    """Not dumpable alone is not enough: whoever may write its settings could make it so again."""
    code = (
        "import resource; from synth.curator import seal_process;"
        "from synth.curator.seal import core_dumps_are_off as off;"
        "seal_process(dies_with_parent=False); sealed = off();"
        "resource.getrlimit = lambda _: (0, 1); print(sealed, off())"
    )
    assert synth(program=code).stdout.split() == ["True", "False"]


def test_it_has_no_core_dumps_tracing_or_open_modes_and_dies_with_the_process_that_started_it():
    middle = (
        "import subprocess, sys\n"
        "with subprocess.Popen([sys.executable, '-c', sys.argv[1]], stdout=subprocess.PIPE) as p:\n"
        "    print(p.stdout.readline().decode(), end='', flush=True)\n"
        "    p.wait()\n"
    )
    command = [sys.executable, "-c", middle, SEALED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        said, _, number = parent.stdout.readline().strip().rpartition(" ")
        number = int(number)
        os.kill(number, 0)
        parent.send_signal(signal.SIGKILL)
    assert said == "(0, 0) 0 0o77 True"
    deadline = time.monotonic() + 20
    while Path(f"/proc/{number}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not Path(f"/proc/{number}").exists()


def test_it_ends_if_its_parent_is_gone_before_it_is_sealed(tmp_path):
    """The signal of the parent's death comes only to who asked for it before."""
    code = (
        "import sys; from pathlib import Path; from synth.curator import seal_process\n"
        "sys.stdin.readline(); seal_process(dies_with_parent=True)\n"
        "Path(sys.argv[1]).write_text('went on')\n"
    )
    went_on = tmp_path / "went on"
    for parent_is_there in (False, True):
        child = subprocess.Popen(
            [sys.executable, "-c", code, str(went_on)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        if not parent_is_there:
            child.stdout.close()
        child.stdin.write(b"go\n")
        child.stdin.close()
        assert child.wait() == (0 if parent_is_there else -signal.SIGKILL)
        assert went_on.exists() == parent_is_there
        child.stdout.close()
