"""Staging: the private directory beside a release in which it is written and checked."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from synth.measurements.durable import sync_directory

STAGING_PREFIX = ".staging-"


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
