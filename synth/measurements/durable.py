"""Files that appear whole, on stable storage, or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from synth.errors import OutputError

Writer = Callable[[BinaryIO], object]
"""Writes the content into a stream."""

PARTIAL_PREFIX = ".partial-"
"""Names of files that a killed process may leave behind; whoever holds the run's lock removes
them."""


@contextmanager
def translate_write_errors(what: str) -> Iterator[None]:
    """Turn an operating-system error while writing `what` into an OutputError."""
    try:
        yield
    except OSError as error:
        raise _output_error(what, error) from None


def _output_error(what: str, error: OSError) -> OutputError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return OutputError(
            f"{what} could not be written: the disk is full",
            why="nothing half-written was kept",
            fix="free some space and start the same command again; nothing is charged twice",
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return OutputError(
            f"{what} could not be written: permission denied",
            fix="make the directory writable for this user and start the same command again",
        )
    reason = os.strerror(error.errno) if error.errno else "an unknown error"
    return OutputError(
        f"{what} could not be written: {reason}",
        fix="mend that and start the same command again; nothing is charged twice",
    )


def make_private_directory(path: Path) -> None:
    """Create `path` (and parents) for this user alone; an existing directory is left as it is."""
    missing = [p for p in (path, *path.parents) if not p.exists()]
    for directory in reversed(missing):
        with suppress(FileExistsError):
            directory.mkdir(mode=0o700)
            directory.chmod(0o700)


def require_private_directory(path: Path) -> None:
    """Refuse a directory in which somebody else could plant or exchange files.

    Raises: OutputError if it is a link, belongs to another user, or others may write in it.
    """
    status = path.lstat()
    if (
        stat.S_ISDIR(status.st_mode)
        and status.st_uid == os.geteuid()
        and not status.st_mode & 0o022
    ):
        return
    raise OutputError(
        f"the directory {path.name} beside the ledger is not this user's alone",
        why="whoever can write there could plant measurements, or name files for deletion",
        fix=f"make it a directory of this user with mode 0700: {path}",
    )


def sync_directory(path: Path) -> None:
    """Force the directory's entries to stable storage."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def create_durably(path: Path, write: Writer) -> None:
    """Create `path` (mode 0600) in one step; it must not exist yet.

    Ensures: the content is first written to a file without a name and forced to storage, then
    linked into place. A process that dies before the link leaves nothing at all behind, where
    the file system knows nameless files (ext4, xfs, btrfs, tmpfs); elsewhere it may leave a
    `.partial-` file, mode 0600, which the next run removes unread.
    Raises: FileExistsError; OSError when the disk is full or the directory cannot be written.
    """
    try:
        descriptor = os.open(path.parent, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL):
            raise
        _create_by_link(path, write)
        return
    with os.fdopen(descriptor, "w+b") as stream:
        write(stream)
        _force(stream)
        root = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
        try:  # src_dir_fd makes CPython use linkat with AT_SYMLINK_FOLLOW
            os.link(f"/proc/self/fd/{descriptor}", path, src_dir_fd=root, follow_symlinks=True)
        finally:
            os.close(root)
    sync_directory(path.parent)


def replace_durably(path: Path, write: Writer) -> None:
    """Write `path` (mode 0600) so that it holds either its old or its whole new content."""
    partial = _write_partial(path, write)
    try:
        partial.replace(path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def remove_partial_files(directory: Path) -> None:
    """Remove what a killed process left half-written in `directory`; it is never read."""
    for leftover in directory.glob(f"{PARTIAL_PREFIX}*"):
        leftover.unlink(missing_ok=True)


def _create_by_link(path: Path, write: Writer) -> None:
    partial = _write_partial(path, write)
    try:
        os.link(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    sync_directory(path.parent)


def _write_partial(path: Path, write: Writer) -> Path:
    partial = path.parent / f"{PARTIAL_PREFIX}{secrets.token_hex(8)}"
    descriptor = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w+b") as stream:
            write(stream)
            _force(stream)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    return partial


def _force(stream: BinaryIO) -> None:
    stream.flush()
    os.fchmod(stream.fileno(), 0o600)
    os.fsync(stream.fileno())
