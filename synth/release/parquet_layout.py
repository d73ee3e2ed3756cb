"""Where every byte of a Parquet file belongs, and whether writing it again gives the same bytes.

Readers skip what they do not know: bytes between pages, further keys and fields, what stands
behind a compressed frame. A release leaves no room for it.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any

from synth.release.compact_thrift import CompactReader, ThriftError
from synth.release.parquet_pages import FOOTER_KINDS, MAGIC, PAGE_KINDS, WRITER

Write = Callable[[Any], None]
"""Writes a whole Parquet file into a stream."""

CREATED_BY = re.compile(WRITER + rb"version [0-9]{1,4}\.[0-9]{1,4}\.[0-9]{1,4}")
SPOOLED_BYTES = 1 << 26
HEADER_BYTES = 1 << 16
ZSTANDARD = 6
_FRAME = b"\x28\xb5\x2f\xfd"
_HALF_READABLE = "is not laid out as the library that writes releases does it"


class LayoutError(ValueError):
    """A byte of the file belongs to nothing that a reader of the rows would look at."""


@dataclass(frozen=True)
class Layout:
    """What a file says of itself beside its values, without offsets and sizes.

    These are not kept because they are checked: pages follow each other from the first byte behind
    the magic to the footer, and every size is the sum of what it counts.
    """

    created_by: bytes
    footer: dict[int, Any]
    pages: str
    """A hash over what every page unpacks to, and its header; empty if nothing was unpacked."""


def read_layout(file: IO[bytes], *, unpack: bool = False) -> Layout:
    """Account for every byte of a file whose sizes were looked at (`require_bounded`).

    Raises: LayoutError for a byte that is no page, header of a page, footer or magic, and for a
    number written with more bytes than it needs; OSError.
    """
    import pyarrow as pa

    try:
        return _layout(file, hashlib.sha256() if unpack else None)
    except pa.ArrowException:
        raise LayoutError("holds a page that does not unpack to what it says") from None
    except (ThriftError, KeyError, TypeError, IndexError, AttributeError):
        raise LayoutError(_HALF_READABLE) from None


def _layout(file: IO[bytes], pages: hashlib._Hash | None) -> Layout:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 8))
    length = int.from_bytes(file.read(4), "little")
    end = size - 8 - length
    if end < 4:
        raise LayoutError("does not end as a Parquet file does")
    file.seek(0)
    if file.read(4) != MAGIC:
        raise LayoutError("does not begin as a Parquet file does")
    file.seek(end)
    footer = _whole_struct(file.read(length), dict(FOOTER_KINDS))
    created_by = footer.pop(6)
    if not CREATED_BY.fullmatch(created_by):
        raise LayoutError("has a writer's name that no release has")
    place = 4
    for group in footer[4]:
        start, unpacked, packed = place, 0, 0
        for column in group[1]:
            place = _column(file, column, place, pages)
            unpacked, packed = unpacked + column[3].pop(6), packed + column[3].pop(7)
        if (group.pop(2), group.pop(6), group.pop(5)) != (unpacked, packed, start):
            raise LayoutError("states sizes or places of a row group that are not its own")
    if place != end:
        raise LayoutError(f"holds {end - place} bytes between its last page and its footer")
    return Layout(created_by, footer, pages.hexdigest() if pages else "")


def _whole_struct(content: bytes, kinds: dict[Any, int]) -> dict[int, Any]:
    reader = CompactReader(content, len(content), kinds, sparing=True)
    found = reader.struct()
    if reader.position != len(content):
        raise LayoutError("holds bytes behind its footer's last field")
    return found


def _column(
    file: IO[bytes], column: dict[int, Any], place: int, pages: hashlib._Hash | None
) -> int:
    """Where the pages of a column end; what was checked is taken out of its entry."""
    import pyarrow as pa

    codec = pa.Codec("zstd")
    chunk = column[3]
    if chunk[4] != ZSTANDARD:
        raise LayoutError("holds a column that is not compressed as a release is")
    first, unpacked, at = place, 0, place
    data, dictionary = chunk.pop(9), chunk.pop(11, None)
    end = place + chunk[7]
    if place != (data if dictionary is None else dictionary):
        raise LayoutError("holds bytes between its pages, or pages elsewhere than it says")
    seen_data = None
    while at < end:
        file.seek(at)
        reader = CompactReader(file.read(HEADER_BYTES), HEADER_BYTES, PAGE_KINDS, sparing=True)
        header = reader.struct()
        unpacked_size, packed_size, kind = header.pop(2), header.pop(3), header[1]
        start = at + reader.position
        if kind == 0 and seen_data is None:
            seen_data = at
        _require_one_frame(file, start, packed_size)
        if pages is not None:
            file.seek(start)
            packed = file.read(packed_size)
            content = codec.decompress(packed, unpacked_size, asbytes=True)
            pages.update(repr((sorted(header.items()), unpacked_size)).encode() + content)
        unpacked += reader.position + unpacked_size
        at = start + packed_size
    if at != end or data != seen_data or dictionary != (None if first == data else first):
        raise LayoutError("holds bytes between its pages, or pages elsewhere than it says")
    if unpacked != chunk[6]:
        raise LayoutError("states sizes of a column that are not its own")
    return at


def _require_one_frame(file: IO[bytes], start: int, size: int) -> None:
    """A page is one frame of Zstandard from its first byte to its last (RFC 8878, 3.1.1)."""
    file.seek(start)
    head = file.read(min(size, 18))
    if head[:4] != _FRAME or len(head) < 6 or head[4] & 0b11011:
        raise LayoutError("holds a page that is not one compressed frame")
    flags = head[4]
    single = flags >> 5 & 1
    content_size = (single, 2, 4, 8)[flags >> 6]
    at, end, last = 5 + (1 - single) + content_size, size - 4 * (flags >> 2 & 1), False
    while not last and at + 3 <= end:
        file.seek(start + at)
        block = int.from_bytes(file.read(3), "little")
        last, kind = bool(block & 1), block >> 1 & 3
        at += 3 + (1 if kind == 1 else block >> 3)
    if not last or at != end:
        raise LayoutError("holds a page with bytes behind its compressed frame")


def rewriting_findings(file: IO[bytes], write: Write) -> tuple[list[str], str]:
    """What is in the file that writing its values again does not give; and how it was compared.

    If the installed library wrote it, every byte must be the same, and the second text is empty.
    Otherwise its layout must leave no room, and its footer and unpacked pages must be what the
    installed library gives; the text then tells that this was all.
    Raises: OSError.
    """
    import pyarrow as pa

    own = WRITER + f"version {pa.cpp_version}".encode()
    try:
        found = read_layout(file)
    except LayoutError as error:
        return [str(error)], ""
    if found.created_by == own:
        compared = _Compared(file)
        write(compared)
        return compared.findings(), ""
    with tempfile.SpooledTemporaryFile(max_size=SPOOLED_BYTES) as again:
        write(again)
        expected = read_layout(again, unpack=True)
    try:
        found = read_layout(file, unpack=True)
    except LayoutError as error:
        return [str(error)], ""
    told = found.created_by.removeprefix(WRITER + b"version ").decode()
    if found.footer != expected.footer or found.pages != expected.pages:
        return [
            "says more, or other things, of its values than writing them again gives; it was "
            f"written by pyarrow {told}: verify with that version"
        ], ""
    return [], (
        f"was written by pyarrow {told}, not {pa.cpp_version} as installed here: all that its "
        "pages and its footer hold was compared, but not how the pages are compressed"
    )


class _Compared:
    """A stream that holds what is written into it against a file, and keeps nothing."""

    def __init__(self, file: IO[bytes]) -> None:
        file.seek(0)
        self._file, self._place, self._apart = file, 0, -1

    closed = False

    def write(self, content: Any) -> int:
        wanted = bytes(content)
        if self._apart < 0:
            found = self._file.read(len(wanted))
            if found != wanted:
                pairs = enumerate(zip(found, wanted, strict=False))
                short = min(len(found), len(wanted))
                self._apart = self._place + next((n for n, (a, b) in pairs if a != b), short)
        self._place += len(wanted)
        return len(wanted)

    def tell(self) -> int:
        return self._place

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        """The file belongs to who opened it."""

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def findings(self) -> list[str]:
        if self._apart < 0 and self._file.read(1):
            self._apart = self._place
        if self._apart < 0:
            return []
        return [f"byte {self._apart + 1} is not what writing its values again gives"]
