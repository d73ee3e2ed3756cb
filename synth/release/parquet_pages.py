"""Parquet from strangers: what its pages unpack to is known before one of them is unpacked.

The sizes in the footer are those that its writer wishes to state. What a reader allocates follows
from the header of every page, so all of them are read here, a few bytes each, and nothing else.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import IO, Any

from synth.release.compact_thrift import (
    BINARY,
    BYTE,
    INT,
    LIST,
    LONG,
    STRUCT,
    TRUE,
    CompactReader,
    Path,
    ThriftError,
)

MAGIC = b"PAR1"
WRITER = b"parquet-cpp-arrow "
"""What writes releases; for files of others, readers make exceptions that are not followed here."""

FOOTER_VALUES = 1 << 14
"""Values of a footer beside those of its columns and row groups."""
VALUES_PER_COLUMN = 256
"""The most values of one column: of its schema, or of its chunk in one row group."""
HEADER_VALUES = 64
HEADER_BYTES = 1 << 16

ENCODINGS = {0: "plain", 2: "dictionary", 3: "run lengths", 5: "differences", 8: "dictionary"}
"""Encodings in which the values of a page take no more bytes than the page states, or are numbers
of a fixed width; in that of common prefixes a page of a few bytes may stand for gigabytes."""

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
    **{(2, 0, 10, kind): STRUCT for kind in (1, 3, 10)},
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

DATA_PAGE, INDEX_PAGE, DICTIONARY_PAGE, DATA_PAGE_V2 = range(4)


class UnboundedParquetError(ValueError):
    """A file may unpack to more than its rows can need, or is not as the writer makes it."""


@dataclass(frozen=True)
class ParquetBounds:
    """What a file may hold: known from the configuration, or from what was rebuilt."""

    least_rows: int
    most_rows: int
    columns: int
    groups: int
    """The most row groups of so many rows."""
    rows_per_group: int
    bytes_per_row: int
    """The most that one row unpacks to, all columns together."""
    bytes_per_group: int
    """The most that null flags and dictionaries of one row group add, all columns together."""
    footer_bytes: int

    def unpacked_bytes(self, rows: int) -> int:
        """The most that the pages of so many rows unpack to."""
        return rows * self.bytes_per_row + self.groups * self.bytes_per_group


def require_bounded(file: IO[bytes], bounds: ParquetBounds) -> None:
    """Refuse a file whose pages would unpack to more than the bounds; unpacks nothing.

    Ensures: the position in the file is its beginning. Memory is a small multiple of the footer.
    Raises: UnboundedParquetError; OSError if unreadable.
    """
    try:
        footer, end = _footer(file, bounds)
        _check_rows(footer, bounds)
        unpacked, most = 0, bounds.unpacked_bytes(footer[3])
        for group in footer[4]:
            for column in group[1]:
                unpacked += _unpacked_bytes(file, column, group[3], end)
                if unpacked > most:
                    raise UnboundedParquetError(
                        f"unpacks to more than the {most} bytes that {footer[3]} rows can need"
                    )
    except ThriftError as error:
        raise UnboundedParquetError(f"is no Parquet that can be trusted: {error}") from None
    except (KeyError, TypeError, IndexError, AttributeError):
        raise UnboundedParquetError(
            "is no Parquet: a field is missing or of a wrong kind"
        ) from None
    file.seek(0)


def _footer(file: IO[bytes], bounds: ParquetBounds) -> tuple[dict[int, Any], int]:
    """The footer, and where it begins: behind the last page."""
    size = file.seek(0, os.SEEK_END)
    if size < 12:
        raise UnboundedParquetError("is no Parquet: it is too short")
    file.seek(size - 8)
    tail = file.read(8)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != MAGIC or length > size - 12:
        raise UnboundedParquetError("is no Parquet: its end is not that of such a file")
    if length > bounds.footer_bytes:
        raise UnboundedParquetError(f"has a footer of {length} bytes, more than it can need")
    file.seek(size - 8 - length)
    values = FOOTER_VALUES + VALUES_PER_COLUMN * bounds.columns * (1 + bounds.groups)
    footer = CompactReader(file.read(length), min(values, length), FOOTER_KINDS).struct()
    if not footer.get(6, b"").startswith(WRITER):
        raise UnboundedParquetError("is not written by the library that writes releases")
    return footer, size - 8 - length


def _check_rows(footer: dict[int, Any], bounds: ParquetBounds) -> None:
    total, rows = footer[3], [group[3] for group in footer[4]]
    if not bounds.least_rows <= total <= bounds.most_rows:
        expected = f"{bounds.least_rows}"
        if bounds.least_rows != bounds.most_rows:
            expected += f" to {bounds.most_rows}"
        raise UnboundedParquetError(f"holds {total} rows, expected {expected}")
    if len(rows) > bounds.groups:
        raise UnboundedParquetError(f"{len(rows)} row groups, more than were written")
    if any(not 0 <= number <= bounds.rows_per_group for number in rows):
        raise UnboundedParquetError(f"a row group states more than {bounds.rows_per_group} rows")
    if sum(rows) != total:
        raise UnboundedParquetError(f"its row groups state {sum(rows)} rows, not {total}")
    if any(len(group[1]) != bounds.columns for group in footer[4]):
        raise UnboundedParquetError(f"a row group has more or fewer than {bounds.columns} columns")


def _unpacked_bytes(file: IO[bytes], column: dict[int, Any], rows: int, end: int) -> int:
    """What the pages of one column in one row group state to unpack to."""
    if column.get(1) is not None or 8 in column or 9 in column:
        raise UnboundedParquetError("a column lies in another file, or is encrypted")
    chunk = column[3]
    start, size = chunk[9], chunk[7]
    if 11 in chunk and 0 < chunk[11] < start:
        start = chunk[11]
    if start < 4 or size < 0 or start + size > end:
        raise UnboundedParquetError("a column reaches beyond the file")
    if chunk[5] != rows:
        raise UnboundedParquetError("a column has more or fewer values than rows")
    place, values, unpacked = start, 0, 0
    while place < start + size:
        file.seek(place)
        head = file.read(min(HEADER_BYTES, start + size - place))
        reader = CompactReader(head, HEADER_VALUES, PAGE_KINDS)
        header = reader.struct()
        if header[2] < 0 or header[3] < 0:
            raise UnboundedParquetError("a page has a negative size")
        values += _page_values(header)
        unpacked += header[2]
        place += reader.position + header[3]
    if place != start + size or values != rows:
        raise UnboundedParquetError("the pages of a column do not hold its rows")
    return unpacked


def _page_values(header: dict[int, Any]) -> int:
    """How many of the column's rows are in a page; none in that of its dictionary."""
    kind = header[1]
    field = {DATA_PAGE: 5, DICTIONARY_PAGE: 7, DATA_PAGE_V2: 8}.get(kind)
    if field is None:
        raise UnboundedParquetError("a page of a kind that no release has")
    page = header[field]
    encoding = page[4 if kind == DATA_PAGE_V2 else 2]
    if encoding not in ENCODINGS:
        raise UnboundedParquetError(f"a page in encoding {encoding}, which no release has")
    number = page[1]
    if number < 0 or (kind == DICTIONARY_PAGE and number > header[2]):
        raise UnboundedParquetError("a page states more values than it has room for")
    return 0 if kind == DICTIONARY_PAGE else int(number)
