"""Files whose values are read as texts, as those of CSV files are: in this process, row by row.

Each kind of file is one class with the same few words. What all have in common is here: columns
are found by their names, a file that cannot be read to its end is damaged, whatever its library
says of it, and no value stops a run. The simplest kind stands at the end: JSON lines, one
object in every line of UTF-8, each a record by itself.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from synth.config import FileSource
from synth.config.source_files import EXCEL, JSON_LINES, file_kind
from synth.curator.engine import require_columns
from synth.curator.files.csv_records import RECORD_LIMIT_BYTES
from synth.curator.files.readable_texts import texts
from synth.curator.files.unpacking import unpacked
from synth.errors import SourceError, SynthError


@dataclass(frozen=True)
class FileCodebook:
    """What a file says of a column beside its records, in texts of the kind that records have."""

    title: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    """Value and label."""
    missing: tuple[str, ...] = ()
    """Values that are declared missing, ranges of whole numbers written out."""


class TextTable(Protocol):
    """One file of records whose values become texts; nothing is opened before it is asked."""

    states_its_columns: bool
    """Whether the file says which columns it has before its first record."""
    left_out: int
    """How many records could not be read as one. Secret, as `FieldParser.short` is."""

    def names(self) -> list[str]:
        """The columns in their order; where a file does not state them, of its first records."""

    def uncountable(self) -> list[str]:
        """Columns in a type of which a value could stop a run; none where no types are declared."""
        return []

    def batches(self, columns: Sequence[str]) -> Iterator[list[pa.Array]]:
        """The named columns as large strings, in batches of bounded size, from the beginning."""

    def codebook(self) -> dict[str, FileCodebook]:
        """What the file says of its columns, by their names; empty where it says nothing."""
        return {}


@dataclass
class TextTables:
    """The needed columns of all files, one file after the other."""

    tables: tuple[TextTable, ...]
    columns: tuple[str, ...]
    is_damaged: bool = False
    """A file could not be read to its end. What was read before is not to be used."""

    def reader(self) -> pa.RecordBatchReader:
        """The records of all files as Arrow; read once."""
        schema = pa.schema([pa.field(name, pa.large_string()) for name in self.columns])
        return pa.RecordBatchReader.from_batches(schema, self._batches(schema))

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        try:
            for table in self.tables:
                for arrays in table.batches(self.columns):
                    yield pa.RecordBatch.from_arrays(arrays, schema=schema)
        except (SynthError, OSError, MemoryError):
            raise
        except Exception:  # of many libraries, and it may quote what they read
            self.is_damaged = True

    @property
    def left_out(self) -> int:
        """How many records were left out. Secret."""
        return sum(table.left_out for table in self.tables)


def open_text_tables(
    source: FileSource, files: Sequence[Path], columns: Sequence[str]
) -> TextTables:
    """The named columns of every file; no record is read.

    Raises: SourceError if a file is none of its kind, lacks a column, or has one that cannot be
    counted.
    """
    tables = tuple(text_table(source, path) for path in files)
    for table in tables:
        if table.states_its_columns:
            require_columns(columns, columns, names_of(table, source), source=source.shown)
        refused = [repr(name) for name in table.uncountable() if name in columns]
        if refused:
            raise SourceError(
                f"the source {source.shown} holds {', '.join(refused)} as texts of any length "
                "(strL), which cannot be counted",
                fix="make them texts of a fixed length in Stata: compress, or recast str100 NAME",
            )
    return TextTables(tables, tuple(columns))


def text_table(source: FileSource, path: Path) -> TextTable:
    """One file. Its class is loaded when a source needs it: each knows what is here."""
    kind = file_kind(path)
    if kind == JSON_LINES:
        return JsonLines(path)
    if kind == EXCEL:
        from synth.curator.files.workbook import Workbook

        return Workbook(path, source.sheet)
    from synth.curator.files.statistics_file import StatisticsFile

    return StatisticsFile(path)


def names_of(table: TextTable, source: FileSource) -> list[str]:
    """The columns of a file. Raises: SourceError if it is none of its kind, or has none."""
    found: list[str] = []
    try:
        found = table.names()
    except (SynthError, OSError, MemoryError):
        raise
    except Exception:  # see `TextTables`
        found = []
    if not found:
        raise SourceError(
            f"the source {source.shown} holds a file without columns, or no file of its kind",
            why="it cannot be read as what its name says it is",
            fix="open it with the program that wrote it, and save it again",
        )
    return found


def require_whole_tables(opened: TextTables, shown: str) -> None:
    """Refuse what could not be read to its end. Requires: it was read as far as it goes."""
    if opened.is_damaged:
        raise SourceError(
            f"the source {shown} holds a damaged or incomplete file",
            fix="copy it again, or open it with the program that wrote it and save it again",
        )


BATCH_RECORDS = 1 << 14
LOOKED_AT = 1_000
"""So many records at the beginning say which columns there are, where that is asked."""


@dataclass
class JsonLines(TextTable):
    """One file; see `text_tables.TextTable`.

    Privacy: a line that is no object, or is longer than a record may be, is left out for what it
    is itself; an object without a key has no value there. Numbers stay as they are written.
    """

    path: Path
    states_its_columns: bool = False
    left_out: int = 0

    def names(self) -> list[str]:
        """The keys of the first records, in the order in which they come up."""
        found: dict[str, None] = {}
        for keys in islice(self._records(list), LOOKED_AT):
            found |= dict.fromkeys(keys)
        return list(found)

    def batches(self, columns: Sequence[str]) -> Iterator[list[pa.Array]]:
        """See `TextTable.batches`."""
        self.left_out = 0
        records = self._records(lambda record: [_plain(record.get(column)) for column in columns])
        while rows := list(islice(records, BATCH_RECORDS)):
            yield [texts(row[place] for row in rows) for place in range(len(columns))]

    def _records(self, take: Callable[[dict[str, Any]], list[Any]]) -> Iterator[list[Any]]:
        """What is taken out of every object.

        An object is read and taken from at once: one that is nested too deeply for either is none.
        """
        for line in self._lines():
            if not line.strip():
                continue
            taken = None
            try:
                text = line.decode()
                found = json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
                taken = take(found) if isinstance(found, dict) else None
            except (ValueError, RecursionError):
                pass
            if taken is None:
                self.left_out += 1
            else:
                yield taken

    def _lines(self) -> Iterator[bytes]:
        """The lines; of one that is too long the first bytes, which are no object."""
        kept: list[bytes] = []
        size, is_first = 0, True
        for chunk in unpacked(self.path):
            text = chunk.removeprefix(codecs.BOM_UTF8) if is_first else chunk
            head, *others = text.split(b"\n")
            is_first = False
            size += len(head)
            kept = [*kept, head] if size <= RECORD_LIMIT_BYTES else [b"-"]
            for other in others:
                yield b"".join(kept)
                kept, size = [other], len(other)
        yield b"".join(kept)


def _plain(value: Any) -> Any:
    """A value as a text has it: what holds other values is written as JSON, and is no level."""
    return json.dumps(value) if isinstance(value, dict | list) else value
