"""Private files: readable by their owner alone, never written over another file."""

from __future__ import annotations

import codecs
import os
from contextlib import suppress
from pathlib import Path

from synth.errors import OutputError


def require_new(path: Path) -> None:
    """Refuse, before anything is read, a path at which a private file cannot be made.

    Raises: OutputError.
    """
    if os.path.lexists(path):
        raise OutputError(
            f"there is a file {path.name} already",
            fix="choose another name with -o; nothing is written over",
        )
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise OutputError(
            f"{path.name} cannot be written in that directory",
            fix="choose a directory that exists and may be written to",
        )


def require_outside_releases(path: Path, release: Path) -> None:
    """Refuse a path inside this release folder, or inside any other.

    Raises: OutputError.
    """
    directory = path.parent.resolve()
    for folder in (directory, *directory.parents):
        if folder == release.resolve() or (folder / "manifest.json").exists():
            raise OutputError(
                f"{path.name} would lie inside a release folder",
                why="everything in there is published, and the report is not private",
                fix="choose a file outside with -o",
            )


def write_private(path: Path, content: str) -> None:
    """Write a new file with mode 0600.

    Ensures: the file holds all of the content, or is not there.
    Raises: OutputError if something stands at the path, or it cannot be written.
    """
    require_new(path)
    made = False
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        made = True
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            os.fchmod(descriptor, 0o600)
            file.write(content)
            file.flush()
            os.fsync(descriptor)
    except BaseException as error:
        if made:
            with suppress(OSError):
                path.unlink()
        if isinstance(error, OSError):
            raise OutputError(
                f"{path.name} cannot be written: {error.strerror}",
                fix="choose a directory that exists and has room",
            ) from None
        raise


def replace_private(path: Path, content: str, *, before: str) -> None:
    """Put other content into a file, in one step and with mode 0600.

    Ensures: the file holds all of either content, whatever happens; nothing else is left.
    Raises: OutputError if the file no longer holds `before`, or cannot be written.
    """
    target = path.resolve()
    beside = target.with_name(f".{target.name}.answered")
    try:
        if target.read_bytes().removeprefix(codecs.BOM_UTF8) != before.encode():
            raise OutputError(
                f"{path.name} was changed by somebody else meanwhile, so nothing was written",
                fix="start the same command again; what was answered before is kept",
            )
        beside.unlink(missing_ok=True)
        try:
            write_private(beside, content)
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(
            f"{path.name} cannot be written: {error.strerror}",
            fix="make file and directory writable for this user, and start the same command again",
        ) from None
