"""Tables in memory: from pandas, polars or Arrow to batches, and through a pipe to another process.

A table is told column by column in a type that follows from its declared type alone, never from its
values: a column of Python objects becomes text, value by value, and no value can make that fail.
What arrives through the pipe is whole, or refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cached_property
from typing import Any, BinaryIO

import numpy as np
import pandas as pd
import pyarrow as pa

from synth.config.source_files import RecordsInMemory
from synth.errors import SourceError

BATCH_ROWS = 1 << 16
WHOLE = b"whole"
"""What comes behind the last batch, if all went well."""
LARGEST_EXPONENT = 400
"""A decimal beyond is told with its exponent: it is no finite float, and its digits fill memory."""
NO_TYPE = pa.duration("s")
"""Stands for a type that Arrow does not have; columns of it cannot be counted."""


def records_of(table: object) -> RecordsInMemory:
    """A table of pandas, or of polars, Arrow or whatever else exports Arrow streams.

    Raises: SourceError for anything else.
    """
    if isinstance(table, pd.DataFrame):
        return _PandasTable(table)
    if isinstance(table, pa.RecordBatch):
        return _ArrowTable(pa.Table.from_batches([table]))
    if hasattr(table, "__arrow_c_stream__") and not isinstance(table, pa.RecordBatchReader):
        return _ArrowTable(table)
    raise SourceError(
        "the source is no table that can be counted",
        why=f"an object of the type {type(table).__name__} was handed over",
        fix="hand over a DataFrame of pandas or polars, or a pyarrow.Table",
    )


class _ArrowTable:
    """A table that exports Arrow streams, as often as it is asked for one."""

    def __init__(self, table: Any) -> None:
        self._table = table

    @cached_property
    def schema(self) -> pa.Schema:
        return self._reader().schema

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        places = [self.schema.names.index(name) for name in columns]
        for batch in self._reader():
            chosen = pa.RecordBatch.from_arrays([batch.column(each) for each in places], columns)
            for start in range(0, chosen.num_rows, BATCH_ROWS):
                yield chosen.slice(start, BATCH_ROWS)

    def _reader(self) -> pa.RecordBatchReader:
        try:
            return pa.RecordBatchReader.from_stream(self._table)
        except Exception:  # of any library, in words that may hold values
            refusal = SourceError(
                "the table in memory cannot be told as an Arrow table",
                fix="leave columns of Python objects out, or make them texts",
            )
        raise refusal


class _PandasTable:
    """A DataFrame of pandas; its index is no column."""

    def __init__(self, table: pd.DataFrame) -> None:
        self._table = table
        self._names = [str(name) for name in table.columns]

    @cached_property
    def schema(self) -> pa.Schema:
        kinds = [_kind_of(self._table.iloc[:0, place]) for place in range(len(self._names))]
        return pa.schema(list(zip(self._names, kinds, strict=True)))

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        places = [self._names.index(name) for name in columns]
        kinds = [self.schema.field(place).type for place in places]
        for start in range(0, len(self._table), BATCH_ROWS):
            rows = self._table.iloc[start : start + BATCH_ROWS]
            arrays = [
                _arrow(rows.iloc[:, place], kind) for place, kind in zip(places, kinds, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, columns)


def _kind_of(empty: pd.Series) -> pa.DataType:
    """The type in which a column is told, from its declared type. Requires: no values."""
    dtype = empty.dtype
    if _holds_objects(dtype):
        return pa.large_string()
    if isinstance(dtype, pd.CategoricalDtype):
        return pa.dictionary(pa.int32(), _kind_of(pd.Series(dtype.categories[:0])))
    try:
        kind = pa.array(empty, from_pandas=True).type
    except (pa.ArrowException, TypeError, ValueError, NotImplementedError):
        return NO_TYPE
    # Such as intervals of pandas, of which Arrow cannot read a column that is a dictionary.
    return NO_TYPE if isinstance(kind, pa.BaseExtensionType) else kind


def _holds_objects(dtype: object) -> bool:
    """Whether values are objects of Python: a string may then hold what is no character."""
    if isinstance(dtype, pd.StringDtype):
        return dtype.storage == "python"
    return dtype == np.dtype(object)


def _arrow(values: pd.Series, kind: pa.DataType) -> pa.Array:
    """The values of a column in the type of `_kind_of`."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        words = _arrow(pd.Series(values.cat.categories), kind.value_type)
        codes = values.cat.codes.to_numpy().astype(np.int32)
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), words)
    if _holds_objects(values.dtype):
        utf8 = [_utf8(_text(value)) for value in values.array]
        return pa.array(utf8, pa.large_binary()).view(pa.large_string())
    found = pa.array(values, from_pandas=True)
    whole = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
    return whole if whole.type == kind else whole.cast(kind)


def _utf8(text: str | None) -> bytes | None:
    """Different bytes for different texts, of whatever codes: two ids stay two.

    Halves of a pair of codes give bytes that are no UTF-8, which `readable_texts` keeps.
    """
    return None if text is None else text.encode(errors="surrogatepass")


def _text(value: object) -> str | None:
    """A Python object as the text of a field: by rules like those for columns with a type.

    None where it has no text: a missing value, and no identifier, for a text that several objects
    had would make one person of several.
    """
    try:
        return _plain_text(value)
    except Exception:  # whatever an object does when it is asked for its text
        return None


def _plain_text(value: object) -> str | None:
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating):
        return None if np.isnan(value) else repr(float(value))
    if isinstance(value, Decimal):
        if value.is_nan():
            return None
        is_short = abs(value.adjusted()) <= LARGEST_EXPONENT
        return format(value, "f") if is_short else str(value)
    if isinstance(value, datetime):
        if value.tzinfo is None:
            return value.strftime("%Y-%m-%d %H:%M:%S")
        return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ")
    if isinstance(value, date):
        return value.isoformat()
    return _plain_text(str(value))


def send(records: RecordsInMemory, columns: Sequence[str], pipe: BinaryIO) -> None:
    """Write the named columns, those that there are, for `ArrivingTable` to read.

    Raises: what the table or the pipe raises; then what was written is not whole.
    """
    chosen = pa.schema([each for each in records.schema if each.name in columns])
    is_refused = len(set(chosen.names)) < len(chosen)  # by its schema: no record is needed
    with pa.ipc.new_stream(pipe, chosen) as stream:
        for batch in () if is_refused else records.batches(chosen.names):
            stream.write_batch(batch)
    pipe.write(WHOLE)
    pipe.flush()


class ArrivingTable:
    """A table that another process writes into a pipe.

    Its records are read once, or, with `is_kept`, held from the first reading on for further ones:
    a series that is added up may count them once for every node.
    """

    def __init__(self, pipe: BinaryIO, *, is_kept: bool = False) -> None:
        """Nothing is read yet."""
        self._pipe = pipe
        self._is_kept = is_kept
        self._held: list[pa.RecordBatch] | None = None

    @cached_property
    def _reader(self) -> pa.RecordBatchStreamReader:
        return pa.ipc.open_stream(self._pipe)

    @property
    def schema(self) -> pa.Schema:
        """The names and types of the columns, which come before all records."""
        return self._reader.schema

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All records. Raises: SourceError if the other process did not send all of them."""
        for batch in self._arriving() if self._held is None else self._held:
            yield batch.select(list(columns))

    def _arriving(self) -> Iterator[pa.RecordBatch]:
        held: list[pa.RecordBatch] = []
        for batch in self._reader:
            if self._is_kept:
                held.append(batch)
            yield batch
        if self._pipe.read(len(WHOLE)) != WHOLE:
            raise SourceError.cut_short()
        if self._is_kept:
            self._held = held
