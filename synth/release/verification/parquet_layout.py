"""Where every byte of a Parquet file belongs, and whether writing it again gives the same bytes.

Readers skip what they do not know: bytes between pages, further keys and fields, what stands
behind a compressed frame. A release leaves no room for it. Footer and headers of pages are in the
compact protocol of Thrift, whose fields are found by number; it is read from strangers: a bounded
number of bounded values. See
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import IO, Any

import pyarrow as pa

from synth.release.files import Write
from synth.release.verification.findings import Compared

MAX_DEPTH = 16

TRUE, FALSE, BYTE, SHORT, INT, LONG, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)

BITS = {SHORT: 16, INT: 32, LONG: 64}
LARGEST_FIELD = (1 << 15) - 1

Path = tuple[int, ...]
"""The numbers of fields from the root on; 0 stands for the elements of a list."""


class ThriftError(ValueError):
    """The bytes are no struct of at most so many values."""


@dataclass
class CompactReader:
    """Bytes, a position in them, and how many values may still be read.

    Other readers know the kinds of some fields: one of another kind is no field for them, and the
    elements of a list are of the kind that they expect, whatever it says. They cut numbers down to
    the bits of their kind. So that they read the same, such fields and numbers are refused.
    """

    content: bytes
    values_left: int
    kinds: Mapping[Path, int] = field(default_factory=dict)
    """Of the fields that are known; any other may be of any kind."""
    position: int = 0
    sparing: bool = False
    """Whether fields that are not known, and all but the shortest form of a number, are refused."""

    def struct(self, path: Path = ()) -> dict[int, Any]:
        """The fields of the struct at the position, by number. Raises: ThriftError."""
        if len(path) > MAX_DEPTH:
            raise ThriftError("structs are nested too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            kind, step = head & 15, head >> 4
            before, number = number, number + step if step else self._zigzag()
            if self.sparing and not step and 0 < number - before < 16:
                raise ThriftError("a field's number takes more bytes than it needs")
            if not 0 < number <= LARGEST_FIELD:
                raise ThriftError("a field has a number that none can have")
            if number in fields:
                raise ThriftError("a field is there twice")
            place = (*path, number)
            self._check_kind(kind, place)
            fields[number] = kind == TRUE if kind in (TRUE, FALSE) else self._value(kind, place)
        return fields

    def _check_kind(self, kind: int, path: Path) -> None:
        known = self.kinds.get(path)
        if known is None and self.sparing:
            raise ThriftError("a field that no release has")
        if known not in (None, kind) and not {known, kind} <= {TRUE, FALSE}:
            raise ThriftError("a field is of another kind than it must be")

    def _value(self, kind: int, path: Path) -> Any:
        self.values_left -= 1
        if self.values_left < 0:
            raise ThriftError("more values than can be needed")
        if kind in (TRUE, FALSE, BYTE):  # in a list a truth value takes a byte
            return self._byte()
        if kind in BITS:
            number = self._zigzag()
            if not -1 << BITS[kind] - 1 <= number < 1 << BITS[kind] - 1:
                raise ThriftError("a number has more bits than its kind")
            return number
        if kind == DOUBLE:
            return self._bytes(8)
        if kind == BINARY:
            return self._bytes(self._varint())
        if kind in (LIST, SET):
            return self._list((*path, 0))
        if kind == STRUCT:
            return self.struct(path)
        raise ThriftError("a value of a kind that Parquet does not use")

    def _list(self, path: Path) -> list[Any]:
        head = self._byte()
        size, kind = head >> 4, head & 15
        self._check_kind(kind, path)
        if size == 15:
            size = self._varint()
            if self.sparing and size < 15:
                raise ThriftError("a list's length takes more bytes than it needs")
        if size > self.values_left:
            raise ThriftError("more values than can be needed")
        if len(path) > MAX_DEPTH:
            raise ThriftError("lists are nested too deeply")
        return [self._value(kind, path) for _ in range(size)]

    def _byte(self) -> int:
        place = self.position
        if place >= len(self.content):
            raise ThriftError("a struct is cut short")
        self.position = place + 1
        return self.content[place]

    def _bytes(self, size: int) -> bytes:
        end = self.position + size
        if end > len(self.content):
            raise ThriftError("a struct is cut short")
        found = self.content[self.position : end]
        self.position = end
        return found

    def _varint(self) -> int:
        value = self._byte()
        if value < 128:
            return value
        value &= 127
        for shift in range(7, 70, 7):
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                if self.sparing and not byte:
                    raise ThriftError("a number takes more bytes than it needs")
                return value
        raise ThriftError("a number of too many bytes")

    def _zigzag(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)


MAGIC = b"PAR1"
WRITER = b"parquet-cpp-arrow "
"""What writes releases, before its version."""

_CHUNK = (4, 0, 1, 0, 3)
"""Where the footer tells of a column in a row group."""


def _statistics(at: Path) -> dict[Path, int]:
    """Of a column or a page: least and largest value, and how many values are missing."""
    return {
        at: STRUCT,
        **{(*at, number): BINARY for number in (1, 2, 5, 6)},
        (*at, 3): LONG,
        **{(*at, number): TRUE for number in (7, 8)},
    }


FOOTER_KINDS: dict[Path, int] = {
    (1,): INT,
    **{(number,): LIST for number in (2, 4, 5, 7)},
    **{(number, 0): STRUCT for number in (2, 4, 5, 7)},
    **{(2, 0, number): INT for number in (1, 3, 5, 6)},
    (2, 0, 4): BINARY,
    (2, 0, 10): STRUCT,
    **{(2, 0, 10, kind): STRUCT for kind in (1, 3, 6, 8, 10)},
    (2, 0, 10, 8, 1): TRUE,
    (2, 0, 10, 8, 2): STRUCT,
    (2, 0, 10, 8, 2, 1): STRUCT,
    (2, 0, 10, 10, 1): BYTE,
    (2, 0, 10, 10, 2): TRUE,
    (3,): LONG,
    **{(5, 0, number): BINARY for number in (1, 2)},
    (6,): BINARY,
    (7, 0, 1): STRUCT,
    **{(4, 0, number): LIST for number in (1, 4)},
    **{(4, 0, number, 0): STRUCT for number in (1, 4)},
    **{(4, 0, number): LONG for number in (2, 3, 5, 6)},
    (4, 0, 1, 0, 1): BINARY,
    (4, 0, 1, 0, 2): LONG,
    _CHUNK: STRUCT,
    **{(*_CHUNK, number): INT for number in (1, 4)},
    **{(*_CHUNK, number): LONG for number in (5, 6, 7, 9, 11)},
    **{(*_CHUNK, number): LIST for number in (2, 3, 8, 13)},
    (*_CHUNK, 2, 0): INT,
    (*_CHUNK, 3, 0): BINARY,
    **_statistics((*_CHUNK, 12)),
    **{(*_CHUNK, number, 0): STRUCT for number in (8, 13)},
    **{(*_CHUNK, 13, 0, number): INT for number in (1, 2, 3)},
    (*_CHUNK, 16): STRUCT,
    (*_CHUNK, 16, 1): LONG,
    **{(*_CHUNK, 16, number): LIST for number in (2, 3)},
    **{(*_CHUNK, 16, number, 0): LONG for number in (2, 3)},
    (*_CHUNK, 17, 2): LIST,
    (*_CHUNK, 17, 2, 0): INT,
}
"""The kinds of all fields that the footer of a release has, and of every list in any footer; see
https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift."""

PAGE_KINDS: dict[Path, int] = {
    **{(number,): INT for number in (1, 2, 3)},
    **{(number,): STRUCT for number in (5, 7, 8)},
    **{(number, inner): INT for number in (5, 7) for inner in (1, 2)},
    **{(5, inner): INT for inner in (3, 4)},
    **_statistics((5, 5)),
    (7, 3): TRUE,
    **{(8, inner): INT for inner in (1, 4)},
}

CREATED_BY = re.compile(WRITER + rb"version [0-9]{1,4}\.[0-9]{1,4}\.[0-9]{1,4}")
FOOTER_GROWTH = 2
"""Another version may write a longer footer, but not so much longer."""
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
    """A hash over what every page unpacks to, and its header."""
    footer_bytes: int
    page_bytes: int
    """What the largest page unpacks to."""


@dataclass
class _Pages:
    """The hash over all pages so far, the largest of them, and the largest that there may be."""

    digest: hashlib._Hash
    largest: int = 0
    most: int | None = None


def read_layout(file: IO[bytes], *, like: Layout | None = None) -> Layout:
    """Account for every byte of a file.

    A stranger's must be `like` one that holds the same values: its footer is not much longer, and
    no page unpacks to more, so that neither is read where it could hurt.

    Raises: LayoutError for a byte that is no page, header of a page, footer or magic, and for a
    number written with more bytes than it needs; OSError.
    """
    try:
        return _layout(file, like)
    except (ThriftError, KeyError, TypeError, IndexError, AttributeError):
        raise LayoutError(_HALF_READABLE) from None


def _layout(file: IO[bytes], like: Layout | None) -> Layout:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 8))
    length = int.from_bytes(file.read(4), "little")
    end = size - 8 - length
    if end < 4:
        raise LayoutError("does not end as a Parquet file does")
    if like is not None and length > FOOTER_GROWTH * like.footer_bytes:
        raise LayoutError(f"has a footer of {length} bytes, more than it can need")
    file.seek(0)
    if file.read(4) != MAGIC:
        raise LayoutError("does not begin as a Parquet file does")
    file.seek(end)
    footer = _whole_struct(file.read(length), dict(FOOTER_KINDS))
    created_by = footer.pop(6)
    if not CREATED_BY.fullmatch(created_by):
        raise LayoutError("has a writer's name that no release has")
    place = 4
    pages = _Pages(hashlib.sha256(), most=None if like is None else like.page_bytes)
    for group in footer[4]:
        start, unpacked, packed = place, 0, 0
        for column in group[1]:
            place = _column(file, column, place, pages)
            unpacked, packed = unpacked + column[3].pop(6), packed + column[3].pop(7)
        if (group.pop(2), group.pop(6), group.pop(5)) != (unpacked, packed, start):
            raise LayoutError("states sizes or places of a row group that are not its own")
    if place != end:
        raise LayoutError(f"holds {end - place} bytes between its last page and its footer")
    return Layout(created_by, footer, pages.digest.hexdigest(), length, pages.largest)


def _whole_struct(content: bytes, kinds: dict[Any, int]) -> dict[int, Any]:
    reader = CompactReader(content, len(content), kinds, sparing=True)
    found = reader.struct()
    if reader.position != len(content):
        raise LayoutError("holds bytes behind its footer's last field")
    return found


def _column(file: IO[bytes], column: dict[int, Any], place: int, pages: _Pages) -> int:
    """Where the pages of a column end; what was checked is taken out of its entry."""
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
        if unpacked_size < 0 or packed_size < 0:
            raise LayoutError("holds a page of a negative size")
        _require_one_frame(file, start, packed_size)
        if pages.most is not None and unpacked_size > pages.most:
            raise LayoutError(f"unpacks a page to {unpacked_size} bytes, more than it can need")
        pages.largest = max(pages.largest, unpacked_size)
        file.seek(start)
        packed = file.read(packed_size)
        try:
            content = codec.decompress(packed, unpacked_size, asbytes=True)
        except (pa.ArrowException, OSError):
            raise LayoutError("holds a page that does not unpack to what it says") from None
        pages.digest.update(repr((sorted(header.items()), unpacked_size)).encode() + content)
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

    If every byte is the same, both are empty. If another version of the installed library wrote
    it, its layout must leave no room, and its footer and unpacked pages must be what the installed
    one gives; the text then tells that this was all.
    Raises: OSError.
    """
    compared = Compared(file)
    write(compared)
    apart = compared.findings()
    if not apart:
        return [], ""
    with tempfile.TemporaryFile() as again:
        write(again)
        expected = read_layout(again)
    try:
        found = read_layout(file, like=expected)
    except LayoutError as error:
        return [str(error)], ""
    if found.created_by == expected.created_by:
        return apart, ""
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
