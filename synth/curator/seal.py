"""The seal around raw data: no core dump, no stray output, no readable file, no telling error.

`seal_process` is for a whole process; `with_source_open` for what is done while raw data are open;
`Sensitive` for a value that was computed from them.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import logging
import os
import resource
import secrets
import select
import shutil
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, NoReturn, TypeVar

import duckdb

from synth.errors import BugError, SourceError, SynthError

PR_SET_PDEATHSIG = 1
PR_GET_DUMPABLE = 3
PR_SET_DUMPABLE = 4

SPILL_PREFIX = "scratch-"

Result = TypeVar("Result")


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
            if _nobody_reads(sys.stdout.fileno()):
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


def with_source_open(directory: Path, work: Callable[[Path], Result]) -> Result:
    """Do what opens the source, with a directory for what spills, and let nothing else out.

    Privacy: nothing is printed or logged meanwhile. An exception is raised afresh, in words of
    the configuration, without cause, context or reference to anything that was read.
    Ensures: the private directory under `directory` is gone when this returns or raises.
    """
    failure: BaseException
    try:
        with silenced_output(), quiet_libraries(), spill_directory(directory) as spill:
            return work(spill)
    except BaseException as error:  # everything is scrubbed, whatever it is
        failure = scrubbed(error)
    gc.collect()
    raise failure


def scrubbed(error: BaseException) -> BaseException:
    """A new exception that says what failed in words of the configuration alone."""
    if isinstance(error, SynthError):
        return type(error)(error.sentence, why=error.why, fix=error.fix)
    if isinstance(error, KeyboardInterrupt):
        return KeyboardInterrupt()
    if isinstance(error, MemoryError | duckdb.OutOfMemoryException):
        return no_memory()
    if isinstance(error, OSError | duckdb.Error | UnicodeDecodeError):
        return SourceError.cut_short()
    return BugError(
        f"measuring failed with an internal error ({type(error).__name__})",
        fix="report it with the configuration; nothing of the data was kept",
    )


def no_memory() -> SynthError:
    """What a run says that has no room left to count in."""
    return SynthError(
        "there was not enough memory or spill space to count the records",
        fix="run on a larger machine, or declare fewer or coarser attributes",
    )


@contextmanager
def spill_directory(directory: Path) -> Iterator[Path]:
    """A private directory (mode 0700) for spilled data, removed whatever happens."""
    spill = directory / f"{SPILL_PREFIX}{secrets.token_hex(8)}"
    try:
        spill.mkdir(mode=0o700)  # within, so that no stop can come between it and its removal
        yield spill
    finally:
        shutil.rmtree(spill, ignore_errors=True)


def remove_spilled(directory: Path) -> None:
    """Remove what a killed measuring process may have spilled; it is never read."""
    for leftover in directory.glob(f"{SPILL_PREFIX}*"):
        shutil.rmtree(leftover)


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Switch off the log messages and warnings of every library while raw data are open."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


T_co = TypeVar("T_co", covariant=True)


class Sensitive(Generic[T_co]):
    """Holds a value computed from raw data until it is consumed, once, at the noise boundary.

    Printing shows that it is withheld; comparing, measuring, iterating, copying and pickling
    are refused, so that no log line, assertion message or cache can carry the value.
    """

    __slots__ = ("__value",)

    def __init__(self, value: T_co) -> None:
        """Take the value over; the caller should keep no other reference."""
        self.__value: list[T_co] = [value]

    def consume(self) -> T_co:
        """Give the value out and forget it; a second call is refused."""
        if not self.__value:
            raise RuntimeError("a sensitive value was consumed twice")
        return self.__value.pop()

    def __repr__(self) -> str:
        return "Sensitive(withheld)"

    def __refuse(self, *_: object) -> NoReturn:
        raise TypeError("a sensitive value cannot be inspected, compared, copied or stored")

    __len__ = __iter__ = __bool__ = __getitem__ = __contains__ = __refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = __refuse
    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = __getstate__ = __refuse
    __int__ = __float__ = __index__ = __array__ = __format__ = __refuse
