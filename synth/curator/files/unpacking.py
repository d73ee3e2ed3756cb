"""The bytes of a text file, whatever it is packed in; nothing of it lies on a disk again."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from synth.config.source_files import packing
from synth.errors import SourceError

CHUNK_BYTES = 1 << 20
NOT_A_MEMBER = "__MACOSX/"
"""Where some programs keep what is no content beside every member of an archive."""

_DAMAGE = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError, zipfile.BadZipFile)
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


class DamagedFileError(Exception):
    """A file that cannot be read to its end, for a reason that nobody is told."""


def unpacked(path: Path) -> Iterator[bytes]:
    """What a file holds, in chunks of at most CHUNK_BYTES, unpacked as its name says.

    Ensures: what is packed is checked to its end, as far as its format can tell.
    Raises: DamagedFileError where it is not whole; SourceError for an archive of several files, or
    one with a password; OSError of the file system.
    """
    with ExitStack() as opened:
        try:
            read = _reader(path, opened)
            while chunk := read(CHUNK_BYTES):
                yield chunk
        except _DAMAGE:
            raise DamagedFileError from None
        except OSError as error:  # those of the file system have a number
            if error.errno is not None:
                raise
            raise DamagedFileError from None


def _reader(path: Path, opened: ExitStack) -> Any:
    """What gives the next bytes; no more of them than are at hand."""
    kind = packing(path)
    stream: IO[bytes]
    if kind == ".zst":
        raw = opened.enter_context(path.open("rb"))
        if raw.read(len(_ZSTD_MAGIC)) != _ZSTD_MAGIC:
            raise DamagedFileError
        raw.seek(0)
        return opened.enter_context(pa.CompressedInputStream(pa.PythonFile(raw), "zstd")).read
    if kind == ".zip":
        stream = _only_member(opened.enter_context(zipfile.ZipFile(path)))
    else:
        openers: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
        stream = openers.get(kind, open)(path, "rb")
    found = opened.enter_context(stream)
    return found.read1  # type: ignore[attr-defined]


def _only_member(archive: zipfile.ZipFile) -> IO[bytes]:
    members = [
        each
        for each in archive.infolist()
        if not each.is_dir() and not each.filename.startswith(NOT_A_MEMBER)
    ]
    if len(members) != 1:
        raise SourceError(
            f"a zip archive of the source holds {'several files' if members else 'no file'}",
            why="which of them is the table cannot be told",
            fix="pack every file by itself, or unpack them and name them by a pattern",
        )
    try:
        return archive.open(members[0])
    except (RuntimeError, NotImplementedError):
        raise SourceError(
            "a zip archive of the source has a password, or is packed in a way that is not read",
            fix="unpack it, or pack it again without a password, by the usual method (deflate)",
        ) from None
