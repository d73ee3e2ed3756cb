"""Publishing: one rename that never replaces anything."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from synth.errors import OutputError
from synth.measurements.durable import sync_directory, translate_write_errors

FILE_MODE = 0o644
FOLDER_MODE = 0o755


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
            staging.rename(final)  # replaces nothing but an empty directory: nothing is lost
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
