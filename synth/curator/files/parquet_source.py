"""Parquet, Arrow and tables in memory as streams of numbers and text; no value makes them fail.

Arrow believes its own files (Feather, version 2): places of texts that lie outside of one would be
read from the memory of this process. So every batch is checked before anything looks at it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as kinds

from synth.config.source_files import ARROW, RecordsInMemory, file_kind
from synth.curator.counting.lookup import TextCodes
from synth.curator.engine import require_columns
from synth.curator.files.readable_texts import readable_texts
from synth.errors import SourceError

FILE_MAGIC = b"ARROW1"


def arrow_schema(path: Path) -> pa.Schema:
    """The names and types of the columns; no batch is read.

    Raises: pa.ArrowException if this is no Arrow file.
    """
    with _opened(path) as reader:
        return reader.schema


def arrow_batches(path: Path, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
    """The named columns, at most so many records at a time.

    Ensures: memory holds one batch of the file, as its writer cut it.
    Raises: pa.ArrowException where the file is damaged.
    """
    with _opened(path) as reader:
        for number in range(getattr(reader, "num_record_batches", 0)):
            yield from _pieces(reader.get_batch(number), columns, rows)
        if isinstance(reader, pa.RecordBatchStreamReader):
            for batch in reader:
                yield from _pieces(batch, columns, rows)


def _pieces(batch: pa.RecordBatch, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
    chosen = batch.select(list(columns))
    for array in chosen.columns:
        _require_sound(array)
    for start in range(0, chosen.num_rows, rows):
        yield chosen.slice(start, rows)


@contextmanager
def _opened(path: Path) -> Iterator[pa.RecordBatchFileReader | pa.RecordBatchStreamReader]:
    """The file or, where it has no footer, the stream. Not mapped: it may be cut meanwhile."""
    with path.open("rb") as file:
        is_file = file.read(len(FILE_MAGIC)) == FILE_MAGIC
    with pa.OSFile(str(path)) as source:
        reader = pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)
        with reader:
            yield reader


def _require_sound(array: pa.Array) -> None:
    """Every place that the array refers to is there. What a value is does not matter.

    Arrow would also refuse the bytes of a text, a date with hours, and a decimal of more digits
    than are declared.
    """
    if kinds.is_dictionary(array.type):
        words = array.dictionary
        _require_sound(words)
        plain = pa.nulls(len(words), pa.int8())
        array = pa.DictionaryArray.from_arrays(array.indices, plain, safe=False)
    elif kinds.is_string(array.type):
        array = array.view(pa.binary())
    elif kinds.is_large_string(array.type):
        array = array.view(pa.large_binary())
    elif kinds.is_string_view(array.type):
        array = array.view(pa.binary_view())
    is_any_number = kinds.is_date64(array.type) or kinds.is_decimal(array.type)
    array.validate(full=not is_any_number)


PLAIN_SCALE = 6
"""Decimals with more digits after the point would be written with an exponent if small."""
BATCH_ROWS = 1 << 17
LARGE_COLUMN_BYTES = 1 << 30
LARGE_COLUMN_ROWS = 1 << 12
STORED_ONCE = {"PLAIN", "PLAIN_DICTIONARY", "RLE", "RLE_DICTIONARY", "BIT_PACKED"}
"""Encodings in which a column cannot hold more text than it takes in the file, unpacked."""

PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
FIRST_SECOND, LAST_SECOND = -62_135_596_800, 253_402_300_799
"""The years 1 to 9999, in seconds since 1970."""

MAGIC = b"PAR1"
ARROW_NOTE = b"ARROW:schema"
"""The name of the note in the footer, which comes behind all names of columns."""


@dataclass(frozen=True)
class ParquetStream:
    """Files that hold the needed columns in the same types: one stream of batches."""

    files: tuple[Path, ...]
    read_as: pa.Schema
    codes: Mapping[str, TextCodes] = field(default_factory=dict)
    """Columns of texts that are streamed as codes of 32 bits instead."""

    @property
    def schema(self) -> pa.Schema:
        """The types of the batches."""
        coded = [
            (each.name, pa.int32()) if each.name in self.codes else each for each in self.read_as
        ]
        return pa.schema(coded)

    def reader(self) -> pa.RecordBatchReader:
        """The records of all files, one batch after the other; read once."""
        return pa.RecordBatchReader.from_batches(self.schema, self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        for batch in self.read():
            yield self._streamed_batch(batch)

    def read(self) -> Iterator[pa.RecordBatch]:
        """The needed columns as they are in the files."""
        schema = self.schema
        texts = [each.name for each in self.read_as if _is_dictionary(each.type)]
        for path in self.files:
            if file_kind(path) == ARROW:
                yield from arrow_batches(path, schema.names, BATCH_ROWS)
                continue
            footer = _footer(path)
            once = _read_once(footer, texts)
            rows = BATCH_ROWS if once == texts else LARGE_COLUMN_ROWS
            # A buffered reader keeps what it has read: memory would grow with the file.
            with pq.ParquetFile(
                path,
                metadata=footer,
                read_dictionary=once,
                pre_buffer=False,
                coerce_int96_timestamp_unit="us",
            ) as file:
                yield from file.iter_batches(rows, columns=schema.names)

    def _streamed_batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        arrays = [self._streamed(batch.column(each.name), each) for each in self.read_as]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _streamed(self, values: pa.Array, column: pa.Field) -> pa.Array:
        """One column of a batch, in the type in which it is streamed."""
        texts = _as_declared(values, column.type)
        return self.codes[column.name].of(texts) if column.name in self.codes else texts


def open_parquet(
    shown: str,
    files: Sequence[Path],
    columns: Sequence[str],
    *,
    person_column: str | None,
    codes: Mapping[str, TextCodes] | None = None,
) -> list[ParquetStream]:
    """The named columns of every file; `shown` is the configured name of the source.

    Columns that hold texts, and are named in `codes`, come as codes; but not that of the persons.

    Ensures: columns are integers, floats or text (plain or dictionary-encoded). What else a
    column may hold (booleans, decimals, dates, timestamps) becomes text by its schema; a type that
    has no plain text is refused by its schema, never by a value. Texts are `readable_texts`.
    Raises: SourceError if a column is missing, twice, or of a type that cannot be counted, or
    if the person column is not of one kind (whole numbers or text) in all files.
    """
    files_of: dict[pa.Schema, list[Path]] = {}
    for path in files:
        schema = declared_schema(path)
        require_columns(columns, columns, schema.names, source=shown)
        files_of.setdefault(_streamed_schema(schema, columns, shown), []).append(path)
    _require_one_kind_of_person(shown, map(declared_schema, files), person_column)
    return [
        ParquetStream(tuple(paths), schema, _of_texts(schema, codes, person_column))
        for schema, paths in files_of.items()
    ]


@dataclass(frozen=True)
class FrameStream(ParquetStream):
    """The needed columns of a table in memory."""

    records: RecordsInMemory | None = None

    def read(self) -> Iterator[pa.RecordBatch]:
        """The needed columns as they are in the table."""
        if self.records is not None:
            yield from self.records.batches(self.read_as.names)


def open_frame(
    shown: str,
    records: RecordsInMemory,
    columns: Sequence[str],
    *,
    person_column: str | None,
    codes: Mapping[str, TextCodes] | None = None,
) -> ParquetStream:
    """The named columns of a table in memory, as `open_parquet` gives those of files.

    Raises: SourceError.
    """
    schema = records.schema
    require_columns(columns, columns, schema.names, source=shown)
    streamed = _streamed_schema(schema, columns, shown)
    _require_one_kind_of_person(shown, [schema], person_column)
    return FrameStream((), streamed, _of_texts(streamed, codes, person_column), records)


def _require_one_kind_of_person(
    shown: str, schemas: Iterable[pa.Schema], person_column: str | None
) -> None:
    """Refuse ids that are not written in one way: one person would count as two."""
    if person_column is None:
        return
    declared = [schema.field(person_column).type for schema in schemas]
    if len({_way_of_writing(kind) for kind in declared}) > 1 or any(
        kinds.is_floating(kind) for kind in declared
    ):
        raise SourceError(
            f"the source {shown} does not hold {person_column!r} as whole numbers, or as "
            "text, in all its files",
            why="one person written in two ways would count as two",
            fix="write the column with one type, whole numbers or text, in every file",
        )


def declared_schema(path: Path) -> pa.Schema:
    """The names and types of the columns of a Parquet or an Arrow file; no record is read."""
    return arrow_schema(path) if file_kind(path) == ARROW else pq.read_schema(path)


def _footer(path: Path) -> pq.FileMetaData:
    """The footer of a file without Arrow's note of the types that it was written from.

    Arrow would read every column that was a dictionary as one again, whatever its pages are. In
    some encodings it cannot, or not beyond 2 GiB: then the first record would decide the exit code.
    """
    footer = pq.read_metadata(path)
    if ARROW_NOTE not in (footer.metadata or {}):
        return footer
    with path.open("rb") as file:
        file.seek(-8, os.SEEK_END)
        size = int.from_bytes(file.read(4), "little")
        file.seek(-8 - size, os.SEEK_END)
        before, _, after = file.read().rpartition(ARROW_NOTE)
    return pq.read_metadata(pa.BufferReader(MAGIC + before + ARROW_NOTE.swapcase() + after))


def _read_once(metadata: pq.FileMetaData, columns: Sequence[str]) -> list[str]:
    """Those columns of texts that Arrow can read with each text stored once.

    It keeps all texts of a row group then, at most 2 GiB, and stops if there are more. A column
    that might hold more is read as it is, which has no such limit.
    """
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    names = [metadata.schema.column(place).path for place in range(metadata.num_columns)]
    return [
        name
        for name in columns
        if all(
            part.total_uncompressed_size < LARGE_COLUMN_BYTES
            and STORED_ONCE.issuperset(part.encodings)
            for part in (group.column(names.index(name)) for group in groups)
        )
    ]


def _of_texts(
    schema: pa.Schema, codes: Mapping[str, TextCodes] | None, person_column: str | None
) -> dict[str, TextCodes]:
    """The codes of those columns that hold texts, each stored once, but not of the persons'."""
    texts = {each.name for each in schema if _is_dictionary(each.type)} - {person_column}
    return {name: found for name, found in (codes or {}).items() if name in texts}


def _way_of_writing(kind: pa.DataType) -> str:
    """Equal for types in which equal values are written alike, as text."""
    if kinds.is_dictionary(kind):
        kind = kind.value_type
    if kinds.is_integer(kind):
        return "integer"
    if kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind):
        return "text"
    if kinds.is_decimal(kind):
        return f"decimal with {kind.scale} places"
    return str(kind)


def _is_dictionary(kind: pa.DataType) -> bool:
    return bool(kinds.is_dictionary(kind))


def _streamed_schema(schema: pa.Schema, columns: Sequence[str], shown: str) -> pa.Schema:
    fields = []
    for column in columns:
        kind = schema.field(column).type
        if kinds.is_dictionary(kind):
            kind = kind.value_type
        if kinds.is_integer(kind) and not kinds.is_uint64(kind):
            streamed = kind
        elif kinds.is_floating(kind):
            streamed = pa.float64()
        elif kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind):
            streamed = pa.dictionary(pa.int32(), pa.large_string())
        elif (
            kinds.is_boolean(kind)
            or kinds.is_decimal(kind)
            or kinds.is_date(kind)
            or kinds.is_timestamp(kind)
            or kinds.is_null(kind)
            or kinds.is_uint64(kind)
        ):
            streamed = pa.string()
        else:
            raise SourceError(
                f"the source {shown} holds {column!r} in a type that cannot be counted",
                fix="write the column as text, whole numbers, floats, decimals, dates, timestamps "
                "or booleans",
            )
        fields.append(pa.field(column, streamed))
    return pa.schema(fields)


def _as_declared(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """The column in its streamed type; total on every value of an accepted type."""
    if _is_dictionary(kind):
        if not _is_dictionary(values.type):
            return readable_texts(values).dictionary_encode()
        words = readable_texts(values.dictionary)
        return pa.DictionaryArray.from_arrays(values.indices.cast(pa.int32()), words)
    if _is_dictionary(values.type):
        values = values.dictionary_decode()
    if kinds.is_decimal(values.type) and values.type.scale > PLAIN_SCALE:
        texts = [None if value is None else format(value, "f") for value in values.to_pylist()]
        return pa.array(texts, kind)
    if kinds.is_timestamp(values.type):
        return _texts_of_instants(values)
    if kinds.is_date64(values.type):  # may hold hours, of which Arrow makes days before 1970 longer
        instants = _texts_of_instants(values.view(pa.timestamp("ms")))
        return pc.utf8_slice_codeunits(instants, 0, len("2020-01-31"))
    return values if values.type == kind else values.cast(kind, safe=False)


def _texts_of_instants(values: pa.Array) -> pa.Array:
    """Timestamps as `engine.Engine` has them; total, however far from today they are."""
    counts = np.asarray(values.cast(pa.int64()).fill_null(0))
    seconds = counts // PER_SECOND[values.type.unit]
    is_known = (seconds >= FIRST_SECOND) & (seconds <= LAST_SECOND)
    written = pa.array(np.where(is_known, seconds, 0), pa.timestamp("s")).cast(pa.string())
    if values.type.tz is not None:
        written = pc.binary_join_element_wise(written, "Z", "")
    texts = pc.if_else(pa.array(is_known), written, "out of range")
    return pc.if_else(values.is_null(), pa.scalar(None, pa.string()), texts)
