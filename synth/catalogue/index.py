"""The index of a directory, written anew: one lock, public files read, three files by rename."""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from synth.catalogue.document import (
    FEED_FILE,
    SERIES_FILE,
    Release,
    build_document,
    earlier_document,
    new_feed_id,
    render_feed,
    write_document,
)
from synth.catalogue.folders import (
    MALFORMED,
    Found,
    LeftOut,
    NotAReleaseError,
    read_manifest,
    release_facts,
    release_folders,
)
from synth.catalogue.page import PAGE_FILE, render_page
from synth.catalogue.tables import UNREADABLE_NOW, one_way_tables
from synth.errors import BusyError, OutputError
from synth.measurements.durable import sync_directory, translate_write_errors
from synth.release.write import FILE_MODE

INDEX_FILES = (PAGE_FILE, FEED_FILE, SERIES_FILE)
"""In the order in which they are written: the last one is what the next index starts from."""

MARKS = {PAGE_FILE: b'content="synth index"', FEED_FILE: b"<generator>synth", SERIES_FILE: b""}
"""What the first bytes of each hold, so that no file of somebody else is written over."""

MARK_BYTES = 4096
PARTIAL_PREFIX = ".index-"
WAIT_SECONDS = 120
LOOK_AGAIN_SECONDS = 0.05


@dataclass(frozen=True)
class Rebuilt:
    """What was done: the page, how many releases it shows, and how many of them were read anew."""

    page: Path
    releases: int
    read: int
    left_out: tuple[LeftOut, ...]
    """Folders that are in no index, with the reason; also those that only the publisher is told."""

    def to_plain(self) -> dict[str, Any]:
        """The same in JSON values."""
        return {
            "page": str(self.page),
            "releases": self.releases,
            "read": self.read,
            "left_out": [{"folder": each.folder, "why": each.why} for each in self.left_out],
        }


def rebuild(directory: str | Path) -> Rebuilt:
    """Write `index.html`, `feed.xml` and `series.json` over all releases of a directory.

    Privacy: reads manifests, hashes, signatures and noisy measurements of release folders and the
    index before, nothing else; what it writes is a function of these, without any time or path.
    Ensures: a reader sees each file whole, the old or the new one; the same folders give the same
    bytes, and files that would be the same are not touched; of releases that the index before
    knows by the hash of their manifest only that is read; nobody's file is written over.
    Raises: OutputError if the directory cannot be read or written, or holds another's index;
    BusyError if another process has been at it for two minutes.
    """
    place = Path(directory)
    with translate_write_errors("the index of releases"), _lock(place):
        for leftover in place.glob(f"{PARTIAL_PREFIX}*"):
            leftover.unlink(missing_ok=True)
        for name in INDEX_FILES:
            _require_ours(place / name)
        known = earlier_document(place)
        try:
            rebuilt, contents = _made(place, known)
        except MALFORMED:  # an earlier index that only looked like one
            if "releases" not in known:
                raise
            rebuilt, contents = _made(place, {"feed_id": known["feed_id"]})
        if not rebuilt.releases and not known:
            raise _nothing_there(rebuilt.left_out)
        for name, content in zip(INDEX_FILES, contents, strict=True):
            _replace(place / name, content)
        sync_directory(place)
    return rebuilt


def listed(directory: Path) -> frozenset[str]:
    """The folders that the index of a directory holds; none if there is no index."""
    return frozenset(earlier_document(directory).get("releases", {}))


def _made(place: Path, known: dict[str, Any]) -> tuple[Rebuilt, tuple[bytes, ...]]:
    """The contents of the files, in order."""
    left_out: list[LeftOut] = []
    releases, read = _collected(place, known.get("releases", {}), left_out)
    feed_id = known.get("feed_id") or new_feed_id(releases)
    document = build_document(releases, left_out, feed_id=feed_id)
    contents = render_page(document), render_feed(document), write_document(document)
    return Rebuilt(place / PAGE_FILE, len(releases), read, tuple(left_out)), contents


def _collected(
    place: Path, known: dict[str, Release], left_out: list[LeftOut]
) -> tuple[list[Release], int]:
    """All releases, and how many of them were not known before."""
    releases, read = [], 0
    for found in release_folders(place, left_out):
        before = known.get(found.name)
        if before is not None and _still_true(before, found):
            releases.append(before)
            continue
        try:
            manifest = read_manifest(found)
            facts = release_facts(found, manifest)
        except NotAReleaseError as error:
            left_out.append(LeftOut(found.name, str(error)))
            continue
        tables = one_way_tables(found, manifest)
        if found.folder.path.is_dir():  # else it was moved away meanwhile
            releases.append(facts | tables)
            read += 1
    return releases, read


def _still_true(before: Release, found: Found) -> bool:
    """Whether what an earlier index says of a release need not be read again."""
    return before["manifest_sha256"] == found.sha256 and before.get("why") != UNREADABLE_NOW


def _nothing_there(left_out: tuple[LeftOut, ...]) -> OutputError:
    seen = "; ".join(f"{each.folder} {each.why}" for each in left_out[:5])
    return OutputError(
        "the directory holds no release, so there is nothing to make an index of",
        why=seen,
        fix="name the directory that holds the release folders (output.directory)",
    )


@contextmanager
def _lock(place: Path) -> Iterator[None]:
    """One process at a time; the kernel lets go when it dies. No file is made for it."""
    try:
        descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise OutputError(
            f"there is no directory {place.name}",
            fix="name the directory that holds the release folders (output.directory)",
        ) from None
    try:
        until = time.monotonic() + WAIT_SECONDS
        while not _locked(descriptor):
            if time.monotonic() > until:
                raise BusyError(
                    "another process is making the index of these releases",
                    fix="start the same command again when it has ended",
                )
            time.sleep(LOOK_AGAIN_SECONDS)
        yield
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: files are still replaced whole
        return True
    return True


def _require_ours(path: Path) -> None:
    """Refuse to write over a file that was not written here. An empty one is nobody's."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    except OSError:
        raise _others(path) from None
    try:
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        first = os.read(descriptor, MARK_BYTES) if is_file else b""
    finally:
        os.close(descriptor)
    if not is_file or (first and MARKS[path.name] not in first):
        raise _others(path)


def _others(path: Path) -> OutputError:
    return OutputError(
        f"{path.name} in the directory of releases is not one that synth wrote",
        why="it would be lost",
        fix=f"move it away; the index of releases is called {path.name}",
    )


def _replace(path: Path, content: bytes) -> None:
    """The file holds the old or the whole new content, readable by everybody."""
    if _holds(path, content):
        return
    partial = path.parent / f"{PARTIAL_PREFIX}{secrets.token_hex(8)}"
    descriptor = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), FILE_MODE)
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _holds(path: Path, content: bytes) -> bool:
    try:
        return path.stat().st_size == len(content) and path.read_bytes() == content
    except OSError:
        return False
