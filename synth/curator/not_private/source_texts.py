"""What a draft looks at: the columns of a source as text, wherever its records lie.

Of a source with many periods the records of some are seen: the same that a run counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol

import ibis
import pyarrow as pa
import pyarrow.types as types

from synth.config import Dialect, FileSource, FrameSource, PostgresSource, SourceConfig
from synth.config.series import PeriodSelection
from synth.config.source_files import ARROW, CSV, PARQUET
from synth.curator.counting.lookup import record_codes
from synth.curator.counting.moments import iso_text
from synth.curator.counting.selection import first_looked_at, period_attribute
from synth.curator.engine import Records
from synth.curator.files.csv_source import CsvFile, CsvStream, open_csv, read_header, require_whole
from synth.curator.files.duckdb_engine import DuckDBEngine, as_number, duckdb_engine
from synth.curator.files.parquet_source import declared_schema, open_frame, open_parquet
from synth.curator.files.text_tables import (
    FileCodebook,
    TextTables,
    names_of,
    open_text_tables,
    require_whole_tables,
    text_table,
)
from synth.domain import Universe
from synth.errors import BugError, SourceError

ELSEWHERE = FileSource(Path("table"), Dialect(), "keep", "")
"""For the DuckDB that only looks at what another engine sends."""


@dataclass(frozen=True)
class FoundColumns:
    """The columns of a source in their order: those that can be counted, and the others."""

    names: tuple[str, ...]
    uncountable: tuple[str, ...] = ()
    """Of a type that cannot be counted, or not to be read by this user."""
    repeated: tuple[str, ...] = ()

    @classmethod
    def judged(cls, names: Iterable[str], require: Callable[[str], object]) -> FoundColumns:
        """The columns as `require` judges them: SourceError says that one cannot be counted."""
        countable: list[str] = []
        uncountable: list[str] = []
        for name in names:
            try:
                require(name)
            except SourceError:
                uncountable.append(name)
            else:
                countable.append(name)
        return cls(tuple(countable), tuple(uncountable))


@dataclass(frozen=True)
class LeftOut:
    """How many records of files do not count, or hold more than is read. Secret."""

    too_few_fields: int = 0
    too_long: int = 0
    more_fields: int = 0
    """Those are read; what is beyond the columns of the header is not."""
    unreadable: int = 0
    """Lines of JSON that are no object, or too long."""


def counted_kind(declared: pa.DataType) -> pa.DataType:
    """The kind in which an engine counts a column of a file or a table."""
    if types.is_integer(declared):
        return pa.int64()
    return pa.float64() if types.is_floating(declared) else pa.large_string()


class SourceTexts(Protocol):
    """An open source whose columns can be read, as often as needed.

    A table says nothing of its columns beside their types, and its rows have all fields.
    """

    def find_columns(self) -> FoundColumns:
        """The names of the columns; no record is read.

        Raises: SourceError if the source is not there or cannot be counted as a whole.
        """

    def codebooks(self) -> dict[str, FileCodebook]:
        """What the source says of its columns beside their types, by their names."""
        return {}

    @property
    def left_out(self) -> LeftOut:
        """What the streams that were read last have left out."""
        return LeftOut()

    def streams(
        self, names: Sequence[str]
    ) -> AbstractContextManager[Sequence[pa.RecordBatchReader]]:
        """The named columns of all records, as texts or numbers, in bounded batches.

        Raises: SourceError if a part of the source lacks a column, or cannot be read to its end.
        """


@contextmanager
def open_texts(
    source: SourceConfig, files: Sequence[Path], spill: Path, *, as_counted: bool = False
) -> Iterator[SourceTexts]:
    """The columns of a source; `files` are those that it names, `spill` is for what spills.

    With `as_counted` they come in the kinds in which a run counts them, under its conditions.
    """
    if isinstance(source, FileSource):
        yield FileTexts(source, files)
    elif isinstance(source, FrameSource):
        yield FrameTexts(source)
    elif isinstance(source, PostgresSource):
        from synth.curator.not_private.postgres_texts import PostgresTexts

        yield PostgresTexts(source, as_counted=as_counted)
    else:
        from synth.curator.not_private.spark_texts import spark_texts

        with spark_texts(source, spill) as texts:
            yield texts


class FileTexts:
    """Files; the first one says which columns there are."""

    def __init__(self, source: FileSource, files: Sequence[Path]) -> None:
        """Nothing is opened yet."""
        self._source, self._files = source, files
        self._is_typed = source.kind in (PARQUET, ARROW)
        self._csv: CsvStream | None = None
        self._read: TextTables | None = None

    def find_columns(self) -> FoundColumns:
        """See `SourceTexts.find_columns`."""
        found = self._names()
        repeated = tuple(dict.fromkeys(name for name in found if found.count(name) > 1))
        single = [name for name in found if name not in repeated]
        uncountable = self._uncountable(single)
        names = tuple(name for name in single if name not in uncountable)
        return FoundColumns(names, uncountable, repeated)

    @contextmanager
    def streams(self, names: Sequence[str]) -> Iterator[Sequence[pa.RecordBatchReader]]:
        """See `SourceTexts.streams`."""
        shown = self._source.shown
        if self._is_typed:
            opened = open_parquet(shown, self._files, names, person_column=None)
            yield [stream.reader() for stream in opened]
            return
        if self._source.kind != CSV:
            self._read = open_text_tables(self._source, self._files, names)
            yield [self._read.reader()]
            require_whole_tables(self._read, shown)
            return
        csv = open_csv(shown, self._files, names, self._source.dialect)
        self._csv = csv
        yield [csv.reader()]
        require_whole(csv.files, shown)

    def codebooks(self) -> dict[str, FileCodebook]:
        """See `SourceTexts.codebooks`; those of the first file."""
        if self._source.kind in (PARQUET, ARROW, CSV):
            return {}
        return text_table(self._source, self._files[0]).codebook()

    @property
    def left_out(self) -> LeftOut:
        """See `SourceTexts.left_out`."""
        if self._read is not None:
            return LeftOut(unreadable=self._read.left_out)
        if self._csv is None:
            return LeftOut()
        parsers = self._csv.parsers
        return LeftOut(
            sum(parser.short for parser in parsers),
            self._csv.too_long,
            sum(parser.long for parser in parsers),
        )

    def _names(self) -> list[str]:
        if self._source.kind not in (PARQUET, ARROW, CSV):
            return names_of(text_table(self._source, self._files[0]), self._source)
        if not self._is_typed:
            first = CsvFile(self._files[0], self._source.dialect)
            return read_header(first, self._source.shown)
        try:
            found: list[str] = declared_schema(self._files[0]).names
        except pa.ArrowException:
            found = []
        if not found:
            raise SourceError(
                f"the source {self._source.shown} is no readable "
                f"{self._source.kind.capitalize()} file with columns",
                fix="check that the file is complete and in the format of its name",
            )
        return found

    def _uncountable(self, names: Sequence[str]) -> tuple[str, ...]:
        if self._is_typed:
            return tuple(name for name in names if not self._is_countable(name))
        if self._source.kind == CSV:
            return ()
        refused = text_table(self._source, self._files[0]).uncountable()
        return tuple(name for name in names if name in refused)

    def _is_countable(self, name: str) -> bool:
        try:
            open_parquet(self._source.shown, self._files[:1], [name], person_column=None)
        except SourceError:
            return False
        return True


class FrameTexts(SourceTexts):
    """A table in memory."""

    def __init__(self, source: FrameSource) -> None:
        """Nothing is read yet."""
        if source.records is None:
            raise BugError("no table was handed over to be looked at")
        self._records, self._shown = source.records, source.shown

    def find_columns(self) -> FoundColumns:
        """See `SourceTexts.find_columns`."""
        return FoundColumns.judged(
            self._records.schema.names,
            lambda name: open_frame(self._shown, self._records, [name], person_column=None),
        )

    @contextmanager
    def streams(self, names: Sequence[str]) -> Iterator[Sequence[pa.RecordBatchReader]]:
        """See `SourceTexts.streams`."""
        yield [open_frame(self._shown, self._records, names, person_column=None).reader()]


VALUES = "dates_of_a_batch"


class SelectedTexts:
    """An open source, of which only the records of some periods are seen."""

    def __init__(self, texts: SourceTexts, selection: PeriodSelection, spill: Path) -> None:
        """Nothing is read yet."""
        self._texts, self._selection, self._spill = texts, selection, spill
        self.of_other_periods = 0
        """How many records the streams read last have left out by their dates. Secret."""
        self.undated = 0
        """How many of them hold no date at all. Secret."""

    def find_columns(self) -> FoundColumns:
        """See `SourceTexts.find_columns`."""
        return self._texts.find_columns()

    def codebooks(self) -> dict[str, FileCodebook]:
        """See `SourceTexts.codebooks`."""
        return self._texts.codebooks()

    @property
    def left_out(self) -> LeftOut:
        """See `SourceTexts.left_out`."""
        return self._texts.left_out

    @contextmanager
    def streams(self, names: Sequence[str]) -> Iterator[Sequence[pa.RecordBatchReader]]:
        """See `SourceTexts.streams`."""
        self.of_other_periods = self.undated = 0
        place = self._spill / "selection"
        place.mkdir(exist_ok=True)
        needed = list(dict.fromkeys([*names, self._selection.column]))
        with (
            duckdb_engine(ELSEWHERE, (), place) as engine,
            self._texts.streams(needed) as readers,
        ):
            yield [self._selected(reader, list(names), engine) for reader in readers]

    def _selected(
        self, reader: pa.RecordBatchReader, names: list[str], engine: DuckDBEngine
    ) -> pa.RecordBatchReader:
        def batches() -> Iterator[pa.RecordBatch]:
            for batch in reader:
                column = batch.column(self._selection.column).dictionary_encode()
                inside, dated = self._judged(column.dictionary, engine)
                place = column.indices.fill_null(len(inside) - 1)
                chosen = pa.array(inside).take(place)
                has_date = pa.array(dated).take(place)
                self.undated += has_date.false_count
                self.of_other_periods += chosen.false_count - has_date.false_count
                yield batch.select(names).filter(chosen)

        schema = pa.schema([reader.schema.field(name) for name in names])
        return pa.RecordBatchReader.from_batches(schema, batches())

    def _judged(self, values: pa.Array, engine: DuckDBEngine) -> tuple[list[bool], list[bool]]:
        """Whether each value is in a period of the selection, and whether it is a date.

        One more of both, for nulls, is False.
        """
        attribute = replace(period_attribute(self._selection), name="date")
        held = pa.table(
            {
                "date": values.cast(counted_kind(values.type)),
                "place": pa.array(range(len(values)), pa.int64()),
            }
        )
        engine.connection.register(VALUES, held)
        table = ibis.table(ibis.Schema.from_pyarrow(held.schema), name=VALUES)
        is_date = iso_text(table.date, self._selection.calendar).notnull()
        coded = record_codes(
            engine,
            Records(table, partial(as_number, table)),
            Universe(()),
            {"place": table.place, "is_date": is_date},
            period=attribute,
        )
        periods = {number for number, _ in self._selection.weights}
        first = first_looked_at(self._selection)
        inside, dated = [False] * (len(values) + 1), [False] * (len(values) + 1)
        for batch in engine.batches(
            coded.select(**{n: coded[n].cast("int64") for n in coded.columns})
        ):
            for row in batch.to_pylist():
                inside[row["place"]] = first + row["period"] in periods
                dated[row["place"]] = bool(row["is_date"])
        engine.connection.unregister(VALUES)
        return inside, dated
