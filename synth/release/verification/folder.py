"""A folder that is not trusted: plain files only, sizes known before anything is read."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

MAX_FILES = 100
MAX_TEXT_BYTES = 64 << 20
"""The most that a text file of a release (manifest, schema, card) may have."""

UNKNOWN = "?"


class FolderError(ValueError):
    """A file cannot be read as part of a release; says which and why."""


class Folder:
    """The files of one folder, opened by name, links never followed."""

    def __init__(self, path: Path) -> None:
        """Look at the folder's entries without opening them. Raises: FolderError."""
        self.path = path
        self.sizes: dict[str, int] = {}
        self.problems: list[str] = []
        try:
            names = sorted(entry.name for entry in os.scandir(path))
        except FileNotFoundError:
            raise FolderError("there is no such folder") from None
        except NotADirectoryError:
            raise FolderError("is not a folder") from None
        except OSError as error:
            raise FolderError(f"cannot be read: {error.strerror}") from None
        if len(names) > MAX_FILES:
            raise FolderError(f"holds {len(names)} entries, more than any release")
        for name in names:
            status = (path / name).lstat()
            if stat.S_ISREG(status.st_mode):
                self.sizes[name] = status.st_size
            else:
                kind = "a symbolic link" if stat.S_ISLNK(status.st_mode) else "no plain file"
                self.problems.append(f"{name}: is {kind}; a release holds plain files only")

    def holds(self, name: str) -> bool:
        """Whether there is an entry of this name, of whatever kind."""
        return name in self.sizes or any(p.startswith(f"{name}: ") for p in self.problems)

    def open(self, name: str) -> BinaryIO:
        """Open a file for reading. Raises: FolderError."""
        if name not in self.sizes:
            raise FolderError(f"{name}: is missing")
        try:
            descriptor = os.open(
                self.path / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
            )
        except OSError as error:
            raise FolderError(f"{name}: cannot be opened: {error.strerror}") from None
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise FolderError(f"{name}: is no plain file")
        return os.fdopen(descriptor, "rb")

    def read(self, name: str, *, limit: int = MAX_TEXT_BYTES) -> bytes:
        """The bytes of a small file. Raises: FolderError, also if it is larger than `limit`."""
        with self.open(name) as file:
            content = file.read(limit + 1)
        if len(content) > limit:
            raise FolderError(f"{name}: is larger than {limit} bytes")
        return content
