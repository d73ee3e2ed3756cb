"""Sources: files opened as one Ibis table of text columns, without any guess about types."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from synth.config.source_files import is_gzip, is_parquet
from synth.config.types import Dialect
from synth.errors import SourceError

if TYPE_CHECKING:
    import ibis
    from ibis.backends.duckdb import Backend

HEADER_BYTES = 1 << 20


@dataclass(frozen=True)
class OpenFile:
    """The needed columns of one file, and how a configured text looks in them."""

    records: ibis.Table
    as_read: Callable[[str], str]


def open_source(
    connection: Backend, files: Sequence[Path], columns: Sequence[str], dialect: Dialect
) -> list[OpenFile]:
    """The named columns of every file; values as text (CSV) or their declared type (Parquet).

    Requires: `columns` comes from the configuration.
    Ensures: a CSV record whose line has too few fields is left out, further fields are ignored,
    and bytes that are no text in the declared encoding stay as they are: each such rule looks
    at one record only, and none stops the run.
    Raises: SourceError, in words of the configuration, for what concerns a whole file.
    """
    opened = []
    for path in files:
        if is_parquet(path):
            table = connection.read_parquet(str(path))
            _require_columns(columns, columns, table.columns, path)
            opened.append(OpenFile(table.select(*columns), lambda text: text))
        else:
            table = _open_csv(connection, path, columns, dialect)
            opened.append(OpenFile(table, partial(as_read, encoding=dialect.encoding)))
    return opened


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


def _open_csv(
    connection: Backend, path: Path, columns: Sequence[str], dialect: Dialect
) -> ibis.Table:
    header = _read_header(path, dialect)
    texts = [as_read(column, dialect.encoding) for column in columns]
    _require_columns(texts, columns, header, path)
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
        ignore_errors=True,
        strict_mode=False,
    )
    return table.select(
        **{
            column: table[f"c{header.index(text)}"]
            for column, text in zip(columns, texts, strict=True)
        }
    )


def _read_header(path: Path, dialect: Dialect) -> list[str]:
    try:
        opener = gzip.open if is_gzip(path) else open
        with opener(path, "rb") as stream:
            start = stream.read(HEADER_BYTES)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        start = b""
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
        header = next((line for line in lines if line), [])
    except csv.Error:
        header = []
    if not header:
        raise SourceError(
            f"the source {path.name} has no readable header line",
            why="columns are found by their names in the first line",
            fix="give a complete file, gzipped if and only if its name ends in .gz",
        )
    return header


def _require_columns(
    columns: Sequence[str], shown: Sequence[str], found: Sequence[str], path: Path
) -> None:
    """Refuse a file that lacks a column or has it twice; `shown` are the configured names."""
    counts = {name: found.count(column) for column, name in zip(columns, shown, strict=True)}
    missing = [repr(name) for name, count in counts.items() if count == 0]
    twice = [repr(name) for name, count in counts.items() if count > 1]
    if missing:
        raise SourceError(
            f"the source {path.name} has no column {', '.join(missing)}",
            why="every configured column must be in every source file",
            fix="correct `domain` or `source` (delimiter, quote, encoding), or give the right file",
        )
    if twice:
        raise SourceError(
            f"the source {path.name} has more than one column {', '.join(twice)}",
            fix="give each column of the source a name of its own",
        )
