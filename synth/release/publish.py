"""Publishing: one rename that never replaces anything."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from pathlib import Path

from synth.errors import OutputError
from synth.measurements.durable import sync_directory, translate_write_errors

FILE_MODE = 0o644
FOLDER_MODE = 0o755

_AT_FDCWD = -100
_RENAME_NOREPLACE = 1
_NOT_SUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM)


def publish_release(staging: Path, final: Path) -> None:
    """Make the verified directory `staging` appear as `final`, readable by everybody.

    Requires: both are in one file system.
    Ensures: `final` is there whole, and on stable storage, or was not touched; modes do not
    depend on the umask.
    Raises: OutputError if `final` exists in any form, or the file system refuses.
    """
    with translate_write_errors("the release"):
        for path in sorted(staging.iterdir()):
            path.chmod(FILE_MODE)
        staging.chmod(FOLDER_MODE)
        sync_directory(staging)
        if os.path.lexists(final):
            raise _taken(final)
        try:
            _rename_without_replacing(staging, final)
        except (FileExistsError, NotADirectoryError):
            raise _taken(final) from None
        except OSError as error:
            if error.errno == errno.ENOTEMPTY:
                raise _taken(final) from None
            raise
        sync_directory(final.parent)


def _taken(final: Path) -> OutputError:
    return OutputError(
        f"{final.name} is already there",
        why="a release is never overwritten",
        fix="choose another release.id, or move away what stands there",
    )


def _rename_without_replacing(source: Path, target: Path) -> None:
    """Rename a directory; FileExistsError if `target` exists, even as an empty directory.

    Linux can do this in one step. Where it cannot, the rename that POSIX knows replaces nothing
    but an empty directory, which loses nothing.
    """
    renameat2 = None
    if sys.platform == "linux":
        renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is not None:
        arguments = (_AT_FDCWD, os.fsencode(source), _AT_FDCWD, os.fsencode(target))
        if renameat2(*arguments, ctypes.c_uint(_RENAME_NOREPLACE)) == 0:
            return
        code = ctypes.get_errno()
        if code not in _NOT_SUPPORTED:
            raise OSError(code, os.strerror(code), str(target))
    source.rename(target)
