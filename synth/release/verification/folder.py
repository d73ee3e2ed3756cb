"""A folder that is not trusted: plain files only, sizes known before anything is read.

Whether their bytes are those that were listed, and who signed them. What its manifest says is taken
from here unverified: of which configuration it is, who signed it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from synth.errors import VerificationError
from synth.release.contents import (
    CHECKSUMS,
    CSV,
    MANIFEST,
    MAX_BYTES,
    MEASUREMENTS,
    PARQUET,
    QUALITY,
    REPLICATES,
    SIGNATURE,
    file_sha256,
    parse_checksums,
    parse_signature,
)
from synth.release.noisy_tables import TABLES
from synth.release.verification.findings import Findings, Signature
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

    def sha256(self, name: str) -> str:
        """The hash of a file as large as it was; a byte more makes it another one."""
        with self.open(name) as file:
            return file_sha256(file, most_bytes=self.sizes[name] + 1)

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
    manifest = _unverified(folder) or {}
    if not isinstance(manifest.get("configuration"), dict):
        return None
    return canonical_hash(manifest["configuration"])


def published_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a release, unverified.

    Raises: VerificationError if `folder` is not a release.
    """
    manifest = _unverified(folder)
    if manifest is None:
        raise VerificationError(
            folder.name, ["there is no release here"], fix=VerificationError.NO_RELEASE
        )
    return manifest


def _unverified(folder: Path) -> dict[str, Any] | None:
    try:
        manifest = parse_json(Folder(folder).read(MANIFEST))
    except (FolderError, JsonError):
        return None
    is_one = isinstance(manifest, dict) and "manifest_version" in manifest
    return manifest if is_one else None


def published_signer(folder: Path) -> PublicKey | None:
    """The key whose signature of the manifest is in a release folder; None if there is none."""
    try:
        opened = Folder(folder)
        found = parse_signature(opened.read(SIGNATURE, limit=MAX_BYTES))
        return found.key if found.fits(opened.read(MANIFEST)) else None
    except (FolderError, ValueError):
        return None


MAX_CHECKSUM_BYTES = 1 << 16

DATA = {CSV, PARQUET, MEASUREMENTS, REPLICATES, QUALITY}
"""Files that may be as large as they are; all others are texts."""


def check_files(folder: Folder, findings: Findings) -> None:
    """Compare the folder with SHA256SUMS: the set of files, and the bytes of each."""
    findings.conclude("the folder holds plain files only", folder.problems)
    for name in sorted(folder.sizes.keys() - DATA):
        if folder.sizes[name] > MAX_TEXT_BYTES:  # and is not read to the end to say so
            raise FolderError(f"{name}: is larger than {MAX_TEXT_BYTES} bytes")
    content = folder.read(CHECKSUMS, limit=MAX_CHECKSUM_BYTES)
    listed = parse_checksums(content)
    if listed is None:
        findings.found.append(
            f"{CHECKSUMS}: is not as `sha256sum` writes it, sorted by name, one line per file"
        )
        return
    present = folder.sizes.keys() - {CHECKSUMS}
    extra, absent = sorted(present - listed.keys()), sorted(listed.keys() - present)
    findings.conclude(
        f"{CHECKSUMS} lists every file and no other",
        [f"{name}: is in the folder but not in {CHECKSUMS}" for name in extra]
        + [f"{name}: is missing" for name in absent],
    )
    wrong, stated, sizes = [], _stated(folder, "sha256"), _stated(folder, "bytes")
    for name in sorted(present & sizes.keys()):
        if folder.sizes[name] > MAX_TEXT_BYTES + 2 * sizes[name]:  # a file of holes costs nothing
            raise FolderError(
                f"{name}: has {folder.sizes[name]} bytes, {MANIFEST} says {sizes[name]}"
            )
    for name in sorted(present & listed.keys()):
        digest = folder.sha256(name)
        if digest == stated.get(name) != listed[name]:
            wrong.append(
                f"{CHECKSUMS}: the line of {name} was changed: found {listed[name]}, expected "
                f"{digest}"
            )
        elif digest != listed[name]:
            wrong.append(
                f"{name}: its bytes were changed: SHA-256 is {digest}, {CHECKSUMS} says "
                f"{listed[name]}"
            )
    findings.conclude("the bytes of every file are those listed", wrong)


def _stated(folder: Folder, field: str) -> dict[str, Any]:
    """A field of every file in the manifest, as a second witness; empty if it cannot be read."""
    kind = {"sha256": str, "bytes": int}[field]
    try:
        files = parse_json(folder.read(MANIFEST))["files"]
        return {str(e["path"]): e[field] for e in files if type(e[field]) is kind}
    except (FolderError, JsonError, KeyError, TypeError):
        return {}


def check_signature(folder: Folder, findings: Findings, trusted: Sequence[PublicKey]) -> None:
    """Check the signature if there is one, or the manifest says so; demand one of trusted keys.

    Without trusted keys a valid signature says only who claims to have signed: anybody can make
    a key. The report says so, and it is no check that was passed. Raises: FolderError.
    """
    promised = _promised(folder)
    if not folder.holds(SIGNATURE):
        if promised is not None:
            findings.found.append(
                f"{SIGNATURE}: is missing; {MANIFEST} says that the key {promised} signed it"
            )
        if trusted:
            findings.found.append(
                f"{SIGNATURE}: is missing; the release is not signed, and a signature of "
                f"{_names(trusted)} was asked for"
            )
        return
    try:
        found = parse_signature(folder.read(SIGNATURE, limit=MAX_BYTES))
    except ValueError as error:
        findings.found.append(f"{SIGNATURE}: {error}")
        return
    if not found.fits(folder.read(MANIFEST)):
        findings.found.append(
            f"{SIGNATURE}: is no signature of {MANIFEST} as it is now by the key {found.key.key_id}"
        )
    elif promised != found.key.key_id:
        said = "names no key" if promised is None else f"names the key {promised:.80}"
        findings.found.append(
            f"{SIGNATURE}: is by the key {found.key.key_id}, and {MANIFEST} {said}"
        )
    elif not trusted:
        findings.signature = Signature("not compared", found.key.key_id)
    else:
        findings.signature = Signature("trusted", found.key.key_id)
        findings.conclude(
            f"{MANIFEST} is signed by the trusted key {found.key.key_id}",
            []
            if found.key in trusted
            else [
                f"{SIGNATURE}: is by the key {found.key.key_id}, and a signature of "
                f"{_names(trusted)} was asked for"
            ],
        )


def _promised(folder: Folder) -> str | None:
    """The key that the manifest says it was signed by, if it can be read and says so."""
    try:
        key_id = parse_json(folder.read(MANIFEST))["identity"]["signature_key_id"]
    except (FolderError, JsonError, KeyError, TypeError):
        return None
    return key_id if isinstance(key_id, str) else None


def _names(keys: Sequence[PublicKey]) -> str:
    return " or ".join(key.key_id for key in keys)
