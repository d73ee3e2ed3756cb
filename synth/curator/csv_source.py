"""CSV files as tables of text: decoded here, so that no byte is invalid, and read by DuckDB."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from synth.config.source_files import is_gzip
from synth.config.types import Dialect
from synth.curator.columns import require_columns
from synth.curator.invalid_bytes import KEEP_BYTES
from synth.errors import SourceError

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

HEADER_CHARACTERS = 1 << 20
CHUNK_BYTES = 1 << 16
BATCH_ROWS = 1 << 16


@dataclass
class CsvFile:
    """One file, sent as UTF-8 through a pipe of its own; nothing of it lies on a disk again."""

    path: Path
    dialect: Dialect
    is_damaged: bool = False
    _ends: list[int] = field(default_factory=list)
    _thread: Thread | None = None

    def open(self) -> str:
        """Start to send; returns the name under which this process can read."""
        read_end, write_end = os.pipe()
        self._ends = [read_end]
        self._thread = Thread(target=self._send, args=(write_end,), daemon=True)
        self._thread.start()
        return f"/dev/fd/{read_end}"

    def close(self) -> None:
        """Let go of the pipe. Without a reader the sender stops."""
        while self._ends:
            os.close(self._ends.pop())

    def finish(self) -> None:
        """Wait for the sender, after everything was taken."""
        if self._thread is not None:
            self._thread.join()

    def _send(self, write_end: int) -> None:
        """Send everything, and end whatever happens: a reader would wait for what is left out."""
        try:
            for chunk in _decoded(self.path, self.dialect.encoding):
                _write_whole(write_end, chunk.encode())
        except BrokenPipeError:
            return
        except Exception:
            self.is_damaged = True
        finally:
            os.close(write_end)


def _write_whole(descriptor: int, content: bytes) -> None:
    """Write all of it, however little is taken at once."""
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]


def _decoded(path: Path, encoding: str) -> Iterator[str]:
    """The text of a file; bytes that are none in its encoding are replaced where they stand."""
    decoder = codecs.getincrementaldecoder(_codec(encoding))(KEEP_BYTES)
    opener = gzip.open if is_gzip(path) else open
    with opener(path, "rb") as stream:
        while chunk := stream.read(CHUNK_BYTES):
            yield decoder.decode(chunk)
    yield decoder.decode(b"", final=True)


def _codec(encoding: str) -> str:
    return "utf-8-sig" if encoding == "utf-8" else encoding


@dataclass
class CsvStream:
    """The needed columns of all files as text, one file after the other."""

    files: tuple[CsvFile, ...]
    columns: tuple[str, ...]
    positions: tuple[tuple[int, ...], ...]
    """For each file, where the columns are in its header, and last the width of the header."""

    def reader(self, scanner: duckdb.DuckDBPyConnection) -> pa.RecordBatchReader:
        """The records of all files as Arrow; `scanner` is used for nothing else."""
        import pyarrow as pa

        schema = pa.schema([pa.field(column, pa.string()) for column in self.columns])
        return pa.RecordBatchReader.from_batches(schema, self._batches(schema, scanner))

    def _batches(
        self, schema: pa.Schema, scanner: duckdb.DuckDBPyConnection
    ) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for file, (*places, width) in zip(self.files, self.positions, strict=True):
            fields = ", ".join(f"c{place}" for place in places)
            try:
                statement = f"SELECT {fields} FROM {_scan(file, width)}"
                for batch in scanner.sql(statement).to_arrow_reader(BATCH_ROWS):
                    yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)
            finally:
                file.close()
            file.finish()
            if file.is_damaged:
                return


def open_csv(
    shown: str, files: Sequence[Path], columns: Sequence[str], dialect: Dialect
) -> CsvStream:
    """The named columns of every file as text; `shown` is the configured name of the source.

    Privacy: one scanner reads a file from its beginning. A parallel one starts in the middle
    and may take the inside of a quoted field for records, so that one record could change many.
    A record with too few fields, or of more than two million bytes, is left out; further
    fields are ignored: each rule looks at one record.
    Raises: SourceError if a file has no header or lacks a column.
    """
    sent = tuple(CsvFile(path, dialect) for path in files)
    positions = []
    for file in sent:
        header = read_header(file, shown)
        require_columns(columns, columns, header, source=shown)
        positions.append((*(header.index(name) for name in columns), len(header)))
    return CsvStream(sent, tuple(columns), tuple(positions))


def require_whole(files: Sequence[CsvFile], shown: str) -> None:
    """Refuse what could not be read to its end, such as gzip with a wrong checksum.

    Requires: every file was taken to its end, or closed.
    """
    if any(file.is_damaged for file in files):
        raise SourceError(
            f"the source {shown} holds a damaged or incomplete file",
            fix="copy or compress it again; a file that is not gzipped must not end in .gz",
        )


def _scan(file: CsvFile, width: int) -> str:
    dialect = file.dialect
    fields = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(width))
    return (
        f"read_csv({_quoted(file.open())}, header = true, auto_detect = false, "
        f"columns = {{{fields}}}, delim = {_quoted(dialect.delimiter)}, "
        f"quote = {_quoted(dialect.quote)}, escape = {_quoted(dialect.escape)}, "
        "encoding = 'utf-8', compression = 'none', hive_partitioning = false, "
        "ignore_errors = true, strict_mode = false, parallel = false)"
    )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def read_header(file: CsvFile, shown: str) -> list[str]:
    """The column names of a file. Raises: SourceError if it has no readable header line."""
    dialect = file.dialect
    text = ""
    try:
        for chunk in _decoded(file.path, dialect.encoding):
            text += chunk
            if len(text) > HEADER_CHARACTERS:
                break
    except (EOFError, zlib.error, gzip.BadGzipFile):
        file.is_damaged = True
    require_whole([file], shown)
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
