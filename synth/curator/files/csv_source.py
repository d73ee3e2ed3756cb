"""CSV files as tables of text: decoded and split into records here."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pyarrow as pa

from synth.config import Dialect
from synth.config.source_files import PACKINGS
from synth.curator.engine import require_columns
from synth.curator.files.csv_records import FieldParser, RecordSplitter
from synth.curator.files.readable_texts import UNDECODABLE, cut_texts, readable_utf8
from synth.curator.files.unpacking import DamagedFileError, unpacked
from synth.errors import SourceError

HEADER_BYTES = 1 << 20


@dataclass
class CsvFile:
    """One file, read as UTF-8; nothing of it lies on a disk again."""

    path: Path
    dialect: Dialect
    is_damaged: bool = False
    """It could not be read to its end. What was read before is not to be used."""

    def chunks(self) -> Iterator[bytes]:
        """The text; it ends early where the file is damaged."""
        codec = "utf-8-sig" if self.dialect.encoding == "utf-8" else self.dialect.encoding
        decoder = codecs.getincrementaldecoder(codec)(UNDECODABLE)
        try:
            for raw in unpacked(self.path):
                yield readable_utf8(decoder.decode(raw))
        except DamagedFileError:
            self.is_damaged = True
        yield readable_utf8(decoder.decode(b"", final=True))


@dataclass
class CsvStream:
    """The needed columns of all files as text, one file after the other."""

    files: tuple[CsvFile, ...]
    columns: tuple[str, ...]
    parsers: tuple[FieldParser, ...]
    """One for each file: where the columns are is said by its header."""
    too_long: int = 0
    """How many records were left out for their length. Secret; see `FieldParser.short`."""

    def reader(self) -> pa.RecordBatchReader:
        """The records of all files as Arrow."""
        schema = pa.schema([pa.field(column, pa.large_string()) for column in self.columns])
        return pa.RecordBatchReader.from_batches(schema, self._batches(schema))

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        for file, parser in zip(self.files, self.parsers, strict=True):
            rest = file.chunks() if file.dialect.header is not None else _cut_header(file)[1]
            for block in RecordSplitter(file.dialect).blocks(rest, self._count_too_long):
                for batch in parser.table(block).to_batches():
                    texts = [cut_texts(column) for column in batch.columns]
                    yield pa.RecordBatch.from_arrays(texts, schema=schema)
            if file.is_damaged:
                return

    def _count_too_long(self) -> None:
        self.too_long += 1


def open_csv(
    shown: str, files: Sequence[Path], columns: Sequence[str], dialect: Dialect
) -> CsvStream:
    """The named columns of every file as text; `shown` is the configured name of the source.

    Privacy: what becomes of a record depends on that record alone: `RecordSplitter` says where
    it ends and leaves out what is too long, `FieldParser` what has too few fields.
    Raises: SourceError if a file has no header or lacks a column.
    """
    opened = tuple(CsvFile(path, dialect) for path in files)
    parsers = []
    for file in opened:
        header = read_header(file, shown)
        require_columns(columns, columns, header, source=shown)
        places = tuple(header.index(name) for name in columns)
        parsers.append(FieldParser(dialect, len(header), places))
    return CsvStream(opened, tuple(columns), tuple(parsers))


def require_whole(files: Sequence[CsvFile], shown: str) -> None:
    """Refuse what could not be read to its end, such as gzip with a wrong checksum.

    Requires: every file was taken to its end.
    """
    if any(file.is_damaged for file in files):
        raise SourceError(
            f"the source {shown} holds a damaged or incomplete file",
            fix="copy or compress it again; a file that is not packed must not be called so "
            f"({', '.join(PACKINGS)})",
        )


def read_header(file: CsvFile, shown: str) -> list[str]:
    """The column names of a file; nothing that comes after them decides anything.

    A file without a header has the names that the configuration lists; nothing of it is read.
    Raises: SourceError if it has no readable header line.
    """
    if file.dialect.header is not None:
        return list(file.dialect.header)
    line, _ = _cut_header(file)
    require_whole([file], shown)
    dialect = file.dialect
    is_doubled = dialect.escape == dialect.quote
    lines = csv.reader(
        io.StringIO(line.decode(), newline=""),
        delimiter=dialect.delimiter,
        quotechar=dialect.quote or None,
        doublequote=is_doubled,
        escapechar=None if is_doubled else dialect.escape,
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


def _cut_header(file: CsvFile) -> tuple[bytes, Iterator[bytes]]:
    """The first record of a file, empty if there is none of at most HEADER_BYTES, and the rest.

    No more is read than what comes with its end.
    """
    chunks, text, header = file.chunks(), b"", b""
    splitter = RecordSplitter(file.dialect)
    for chunk in chunks:
        text += chunk
        header = splitter.first_record(text)
        if header or len(text) > HEADER_BYTES:
            break
    else:
        text = splitter.completed(text)
        header = splitter.first_record(text)
    return header, chain([text[len(header) :]], chunks)
