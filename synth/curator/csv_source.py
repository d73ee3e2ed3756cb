"""CSV files as tables of text, read as Latin-1 so that no byte is invalid."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from synth.config.source_files import is_gzip
from synth.config.types import Dialect
from synth.curator.columns import require_columns
from synth.errors import SourceError

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


@dataclass(frozen=True)
class CsvScan:
    """Files with one header: how DuckDB reads them, and where the needed columns are."""

    statement: str
    """Selects the needed columns by their configured names, as text."""


def open_csv(
    shown: str, files: Sequence[Path], columns: Sequence[str], dialect: Dialect
) -> list[CsvScan]:
    """The named columns of every file as text; `shown` is the configured name of the source.

    Privacy: one scanner reads the file from its beginning. A parallel one starts in the middle
    and may take the inside of a quoted field for records, so that one record could change many.
    A record with too few fields, or of more than two million bytes, is left out; further
    fields are ignored: each rule looks at one record.
    Raises: SourceError if a file has no header, lacks a column, or is damaged.
    """
    texts = [as_read(column, dialect.encoding) for column in columns]
    alike: dict[tuple[bool, tuple[str, ...]], list[Path]] = {}
    for path in files:
        if is_gzip(path):
            _require_whole_gzip(path, shown)
        header = _read_header(path, dialect, shown)
        require_columns(texts, columns, header, source=shown)
        alike.setdefault((is_gzip(path), tuple(header)), []).append(path)
    scans = []
    for (packed, names), paths in alike.items():
        fields = ", ".join(
            f"c{names.index(text)} AS {quoted_name(column)}"
            for column, text in zip(columns, texts, strict=True)
        )
        scan = _scan(paths, len(names), dialect, packed=packed)
        scans.append(CsvScan(f"SELECT {fields} FROM {scan}"))
    return scans


def _scan(files: Sequence[Path], width: int, dialect: Dialect, *, packed: bool) -> str:
    names = ", ".join(quoted_text(str(path)) for path in files)
    fields = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(width))
    return (
        f"read_csv([{names}], header = true, auto_detect = false, columns = {{{fields}}}, "
        f"delim = {quoted_text(dialect.delimiter)}, quote = {quoted_text(dialect.quote)}, "
        f"escape = {quoted_text(dialect.escape)}, encoding = 'latin-1', "
        f"compression = '{'gzip' if packed else 'none'}', hive_partitioning = false, "
        "ignore_errors = true, strict_mode = false, parallel = false)"
    )


def quoted_text(text: str) -> str:
    """A text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def quoted_name(name: str) -> str:
    """A name of SQL."""
    return '"' + name.replace('"', '""') + '"'


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
