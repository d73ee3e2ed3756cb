"""The lock of a run: one holder, freed by the kernel."""

import errno
import fcntl
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from synth.bookkeeping import RunLock
from synth.errors import BusyError, OutputError

HOLD = """
import sys, time
from pathlib import Path
from synth.bookkeeping import RunLock
with RunLock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_one_holder_at_a_time(path):
    with RunLock.for_run(path, "a"):
        with pytest.raises(BusyError) as refusal, RunLock.for_run(path, "a"):
            pass
        assert refusal.value.exit_code == 1
        with RunLock.for_run(path, "b"):
            pass
    with RunLock.for_run(path, "a"):
        pass


def test_the_lock_is_private_whatever_the_umask(path):
    before = os.umask(0)
    try:
        with RunLock.for_run(path, "a") as lock:
            assert stat.S_IMODE(lock.path.stat().st_mode) == 0o600
            assert stat.S_IMODE(lock.path.parent.stat().st_mode) == 0o700
    finally:
        os.umask(before)


def test_a_file_system_without_locks_is_an_expected_failure(path, monkeypatch):
    def no_locks(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", no_locks)
        before = len(list(Path("/proc/self/fd").iterdir()))
        with pytest.raises(OutputError, match="No locks available") as refusal:
            RunLock.for_run(path, "a").__enter__()
        assert "knows locks" in refusal.value.fix
        assert len(list(Path("/proc/self/fd").iterdir())) == before
    with RunLock.for_run(path, "a"):
        pass


def test_a_killed_holder_frees_the_lock(path):
    lock = RunLock.for_run(path, "a")
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(lock.path)], stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(BusyError), lock:
            pass
        holder.kill()
    with lock:
        pass


def test_a_child_that_inherits_the_descriptor_keeps_the_lock(path):
    lock = RunLock.for_run(path, "a")
    with lock:
        child = subprocess.Popen(["sleep", "60"], pass_fds=[lock.fileno()])
    try:
        with pytest.raises(BusyError), lock:
            pass
    finally:
        child.kill()
        child.wait()
    with lock:
        pass


def test_misuse_is_an_error(path):
    lock = RunLock.for_run(path, "a")
    with pytest.raises(ValueError, match="not held"):
        lock.fileno()
    with lock, pytest.raises(ValueError, match="held already"):
        lock.__enter__()
