"""Publishing: a private directory beside the release, then one rename that replaces nothing."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from synth.errors import OutputError
from synth.measurements.durable import sync_directory, translate_write_errors

FILE_MODE = 0o644
FOLDER_MODE = 0o755


STAGING_PREFIX = ".staging-"


def publish_release(staging: Path, final: Path) -> None:
    """Make the verified directory `staging` appear as `final`, readable by everybody.

    Requires: both are in one file system.
    Ensures: `final` is there whole, and on stable storage, or was not touched; modes do not
    depend on the umask.
    Raises: OutputError if `final` exists in any form, or the file system refuses.
    """
    with translate_write_errors("the release"):
        folders = [staging, *(path for path in staging.iterdir() if path.is_dir())]
        for folder in reversed(folders):
            for path in folder.iterdir():
                if path not in folders:
                    path.chmod(FILE_MODE)
            folder.chmod(FOLDER_MODE)
            sync_directory(folder)
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


@contextmanager
def staging_directory(folder: Path) -> Iterator[Path]:
    """A directory (mode 0700) beside `folder`, removed in the end unless it was renamed.

    Requires: the caller holds the run's lock, so leftovers belong to killed runs; they are
    removed first.
    """
    prefix = f"{STAGING_PREFIX}{folder.name}-"
    for leftover in folder.parent.glob(f"{prefix}*"):
        shutil.rmtree(leftover)
    staging = Path(tempfile.mkdtemp(prefix=prefix, dir=folder.parent))
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        sync_directory(folder.parent)


def make_public_directory(path: Path) -> None:
    """Create `path` and its parents, mode 0755 whatever the umask; an existing one stays.

    Raises: OSError.
    """
    for directory in reversed([p for p in (path, *path.parents) if not p.exists()]):
        directory.mkdir(exist_ok=True)
        directory.chmod(0o755)
    path.mkdir(exist_ok=True)


def require_writable(directory: Path) -> None:
    """Find out, before anything is spent, that a release can be written here.

    Raises: OSError.
    """
    make_public_directory(directory)
    with tempfile.TemporaryFile(dir=directory) as probe:
        probe.write(bytes(1 << 20))
        probe.flush()
        os.fsync(probe.fileno())
