"""A folder that is not trusted: plain files only, sizes known before anything is read.

What its manifest says is taken from here unverified: of which configuration it is, who signed it.
"""

from __future__ import annotations

import os
import stat
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from synth.errors import VerificationError
from synth.release.contents import MANIFEST, SIGNATURE
from synth.release.noisy_tables import TABLES
from synth.release.signing import MAX_BYTES, parse_signature
from synth.signatures import PublicKey
from synth.strict_json import JsonError, canonical_hash, parse_json

MAX_FILES = {"": 100, TABLES: 1_000}
"""The most entries of the folder, and of the one in it."""
MAX_TEXT_BYTES = 64 << 20
"""The most that a text file of a release (manifest, schema, card) may have."""

UNKNOWN = "?"


class FolderError(ValueError):
    """A file cannot be read as part of a release; says which and why."""


class Folder:
    """The files of one folder, and of `TABLES` in it, opened by name, links never followed."""

    def __init__(self, path: Path) -> None:
        """Look at the folder's entries without opening them. Raises: FolderError."""
        self.path = path
        self.sizes: dict[str, int] = {}
        """The size of every plain file; those in the folder inside as `tables/NAME`."""
        self.problems: list[str] = []
        try:
            self._look("", path)
        except FileNotFoundError:
            raise FolderError("there is no such folder") from None
        except NotADirectoryError:
            raise FolderError("is not a folder") from None
        except OSError as error:
            raise FolderError(f"cannot be read: {error.strerror}") from None

    def _look(self, inside: str, place: Path) -> None:
        most = MAX_FILES[inside]
        with os.scandir(place) as entries:
            names = sorted(entry.name for entry in islice(entries, most + 1))
        if len(names) > most:
            where = f"{inside}/ " if inside else ""
            raise FolderError(f"{where}holds more than {most} entries, more than any release")
        if inside and not names:
            self.problems.append(f"{inside}: is an empty folder; no release has one")
        for name in names:
            status, path = (place / name).lstat(), f"{inside}/{name}" if inside else name
            if stat.S_ISREG(status.st_mode):
                self.sizes[path] = status.st_size
            elif stat.S_ISDIR(status.st_mode) and path == TABLES:
                self._look(TABLES, place / name)
            else:
                kind = "a symbolic link" if stat.S_ISLNK(status.st_mode) else "no plain file"
                self.problems.append(f"{path}: is {kind}; a release holds plain files only")

    def holds(self, name: str) -> bool:
        """Whether there is an entry of this name, of whatever kind."""
        return name in self.sizes or any(p.startswith(f"{name}: ") for p in self.problems)

    def open(self, name: str) -> BinaryIO:
        """Open a file for reading. Raises: FolderError."""
        if name not in self.sizes:
            raise FolderError(f"{name}: is missing")
        inside, _, own = name.rpartition("/")
        reading, no_link = os.O_RDONLY | os.O_CLOEXEC, os.O_NOFOLLOW
        try:
            folder = os.open(
                self.path / inside, reading | os.O_DIRECTORY | (no_link if inside else 0)
            )
            try:
                descriptor = os.open(own, reading | no_link | os.O_NONBLOCK, dir_fd=folder)
            finally:
                os.close(folder)
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


def published_configuration_hash(folder: Path) -> str | None:
    """The hash of the configuration in a release's manifest.

    Ensures: None just if `folder` is not a release, such as a file or an empty directory.
    """
    try:
        manifest = parse_json(Folder(folder).read(MANIFEST))
    except (FolderError, JsonError):
        return None
    if not isinstance(manifest, dict) or "manifest_version" not in manifest:
        return None
    if not isinstance(manifest.get("configuration"), dict):
        return None
    return canonical_hash(manifest["configuration"])


def published_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a release, unverified.

    Raises: VerificationError if `folder` is not a release.
    """
    try:
        manifest = parse_json(Folder(folder).read(MANIFEST))
    except (FolderError, JsonError):
        manifest = None
    if not isinstance(manifest, dict) or "manifest_version" not in manifest:
        raise VerificationError(
            folder.name, ["there is no release here"], fix=VerificationError.NO_RELEASE
        )
    return manifest


def published_signer(folder: Path) -> PublicKey | None:
    """The key whose signature of the manifest is in a release folder; None if there is none."""
    try:
        opened = Folder(folder)
        found = parse_signature(opened.read(SIGNATURE, limit=MAX_BYTES))
        return found.key if found.fits(opened.read(MANIFEST)) else None
    except (FolderError, ValueError):
        return None
