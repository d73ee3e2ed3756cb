"""The lock of a run: one process at a time works on a release."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType

from synth.errors import BusyError, OutputError
from synth.ledger.token import run_directory_of
from synth.measurements.durable import make_private_directory, require_private_directory

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class RunLock:
    """An exclusive lock on an empty file, mode 0600; the kernel frees it when the holder dies.

    The file stays: removing it would let a second process lock a new one while a child of the
    first still holds the old. A child that inherits `fileno()` (`pass_fds`) shares the lock,
    which then stays held until both are gone.

    Raises: BusyError on entry if another process holds it, OutputError if the file cannot be
    made.
    """

    def __init__(self, path: Path, *, private: tuple[Path, ...] = ()) -> None:
        """Name the lock and the directories that must be this user's; touches nothing yet."""
        self.path = path
        self._private = private
        self._descriptor: int | None = None

    @staticmethod
    def for_run(ledger_path: Path, release_id: str) -> RunLock:
        """The lock of one release of one ledger, in the run's directory beside it."""
        directory = run_directory_of(ledger_path, release_id)
        return RunLock(directory / "lock", private=(directory.parent, directory))

    def fileno(self) -> int:
        """The descriptor that holds the lock; raises ValueError while it is not held."""
        if self._descriptor is None:
            raise ValueError("the lock is not held")
        return self._descriptor

    def __enter__(self) -> RunLock:
        if self._descriptor is not None:
            raise ValueError("the lock is held already")
        self._descriptor = self._take()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self.fileno())
        self._descriptor = None

    def _take(self) -> int:
        try:
            make_private_directory(self.path.parent)
            for directory in self._private:
                require_private_directory(directory)
            descriptor = os.open(self.path, _FLAGS, 0o600)
        except OSError as error:
            raise OutputError(
                f"{self.path}: the lock of the run cannot be made ({error.strerror})",
                fix="make the directory of the ledger writable",
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.fchmod(descriptor, 0o600)
        except BlockingIOError:
            os.close(descriptor)
            raise BusyError(
                f"{self.path}: another process is working on this release",
                why="two runs at once could draw noise twice for one charge",
                fix="wait until it is done and start again",
            ) from None
        except OSError as error:
            os.close(descriptor)
            raise OutputError(
                f"{self.path}: the lock of the run cannot be taken ({error.strerror})",
                why="without a lock two runs at once could draw noise twice for one charge",
                fix="keep the ledger on a file system that knows locks (flock)",
            ) from error
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor
