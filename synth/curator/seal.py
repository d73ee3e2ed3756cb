"""Sealing the measuring process: no core dump, no stray output, no readable file."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import resource
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

PR_SET_PDEATHSIG = 1
PR_GET_DUMPABLE = 3
PR_SET_DUMPABLE = 4


def seal_process(*, dies_with_parent: bool) -> None:
    """Forbid core dumps, tracing by other users and files that others can read.

    With `dies_with_parent` a killed job leaves no measuring process behind: neither one whose
    parent dies later, nor one whose parent was gone before it came this far. Outside Linux only the
    portable parts apply.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.umask(0o077)
    faulthandler.disable()
    if sys.platform == "linux":
        prctl = ctypes.CDLL(None, use_errno=True).prctl
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
        if dies_with_parent:
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if _nobody_reads(sys.stderr.fileno()):
                os.kill(os.getpid(), signal.SIGKILL)


def _nobody_reads(descriptor: int) -> bool:
    """Whether this is a pipe whose other end is gone, as the parent's is when it has died."""
    poll = select.poll()
    poll.register(descriptor, select.POLLERR)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def core_dumps_are_off() -> bool:
    """Whether the system says that this process cannot leave a core dump."""
    if resource.getrlimit(resource.RLIMIT_CORE) != (0, 0):
        return False
    if sys.platform != "linux":
        return True
    return bool(ctypes.CDLL(None).prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0)


def _flush() -> None:
    """Flush the buffers of Python and of the C library."""
    sys.stdout.flush()
    sys.stderr.flush()
    ctypes.CDLL(None).fflush(None)


@contextmanager
def silenced_output() -> Iterator[None]:
    """Send standard output and error to nowhere while raw data are open.

    A library that prints a warning about a value, even from native code, reaches nobody.
    """
    _flush()
    saved = [(descriptor, os.dup(descriptor)) for descriptor in (1, 2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        for descriptor, _ in saved:
            os.dup2(nowhere, descriptor)
        yield
    finally:
        _flush()  # what is still buffered must not come out once the streams are back
        for descriptor, copy in saved:
            os.dup2(copy, descriptor)
            os.close(copy)
        os.close(nowhere)
