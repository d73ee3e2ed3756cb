"""CSV files as tables of text, read as Latin-1 so that no byte is invalid."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from synth.config.source_files import is_gzip
from synth.config.types import Dialect
from synth.curator.columns import require_columns
from synth.errors import SourceError

if TYPE_CHECKING:
    import ibis
    from ibis.backends.duckdb import Backend

HEADER_BYTES = 1 << 20
CHUNK_BYTES = 1 << 20


def as_read(text: str, encoding: str) -> str:
    """How a configured text looks in a CSV column that was read as Latin-1.

    Reading bytes as Latin-1 never fails, and two texts are equal just if their bytes are. Text
    that the encoding cannot write cannot occur in the file; it maps to a string that no file
    can hold.
    """
    try:
        return text.encode(encoding).decode("latin-1")
    except UnicodeEncodeError:
        return f"\N{REPLACEMENT CHARACTER}{text}"


def open_csv(
    connection: Backend, shown: str, path: Path, columns: Sequence[str], dialect: Dialect
) -> ibis.Table:
    """The named columns of one file as text; `shown` is the configured name of the source.

    Privacy: one scanner reads the file from its beginning. A parallel one starts in the middle
    and may take the inside of a quoted field for records, so that one record could change many.
    A record with too few fields, or of more than two million bytes, is left out; further
    fields are ignored: each rule looks at one record.
    Raises: SourceError if the file has no header, lacks a column, or is damaged.
    """
    if is_gzip(path):
        _require_whole_gzip(path, shown)
    header = _read_header(path, dialect, shown)
    texts = [as_read(column, dialect.encoding) for column in columns]
    require_columns(texts, columns, header, source=shown)
    table = connection.read_csv(
        str(path),
        header=True,
        auto_detect=False,
        columns={f"c{i}": "VARCHAR" for i in range(len(header))},
        delim=dialect.delimiter,
        quote=dialect.quote,
        escape=dialect.escape,
        encoding="latin-1",
        compression="gzip" if is_gzip(path) else "none",
        hive_partitioning=False,
        ignore_errors=True,
        strict_mode=False,
        parallel=False,
    )
    return table.select(
        **{
            column: table[f"c{header.index(text)}"]
            for column, text in zip(columns, texts, strict=True)
        }
    )


def _require_whole_gzip(path: Path, shown: str) -> None:
    """Refuse a gzip file whose checksum is wrong; the engine would count what it could read."""
    try:
        with gzip.open(path, "rb") as stream:
            while stream.read(CHUNK_BYTES):
                pass
    except (EOFError, zlib.error, gzip.BadGzipFile):
        damaged = True
    else:
        damaged = False
    if damaged:
        raise SourceError(
            f"the source {shown} holds a damaged or incomplete gzip file",
            fix="copy or compress it again; a file that is not gzipped must not end in .gz",
        )


def _read_header(path: Path, dialect: Dialect, shown: str) -> list[str]:
    opener = gzip.open if is_gzip(path) else open
    with opener(path, "rb") as stream:
        start = stream.read(HEADER_BYTES)
    text = start.removeprefix(b"\xef\xbb\xbf").decode("latin-1")
    lines = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=dialect.delimiter,
        quotechar=dialect.quote or None,
        doublequote=dialect.escape == dialect.quote,
        escapechar=dialect.escape if dialect.escape != dialect.quote else None,
        quoting=csv.QUOTE_MINIMAL if dialect.quote else csv.QUOTE_NONE,
    )
    try:
        header = next(lines, [])
    except csv.Error:
        header = []
    if not header:
        raise SourceError(
            f"the source {shown} has no readable header line",
            why="columns are found by their names in the first line of every file",
            fix="give complete files that begin with a line of column names",
        )
    return header
