"""Parquet files as tables of numbers and text; no value can make reading fail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from synth.curator.columns import require_columns
from synth.errors import SourceError

if TYPE_CHECKING:
    import ibis
    import pyarrow as pa
    import pyarrow.parquet as pq
    from ibis.backends.duckdb import Backend

BATCH_ROWS = 1 << 17


def open_parquet(
    connection: Backend,
    shown: str,
    files: Sequence[Path],
    columns: Sequence[str],
    *,
    person_column: str | None,
) -> list[ibis.Table]:
    """The named columns of every file; `shown` is the configured name of the source.

    Ensures: columns are whole numbers, floats or text. What else a column may hold (booleans,
    decimals, dates) becomes text by its schema; a type that has no plain text is refused by its
    schema, never by a value. Bytes that are no UTF-8 are replaced within their value.
    Raises: SourceError if a column is missing, twice, or of a type that cannot be counted, or
    if the person column is not of one kind (whole numbers or text) in all files.
    """
    import pyarrow.parquet as pq

    tables: list[ibis.Table] = []
    kinds: set[str] = set()
    for path in files:
        file = pq.ParquetFile(path)
        schema = file.schema_arrow
        require_columns(columns, columns, schema.names, source=shown)
        target = _target_schema(schema, columns, shown)
        if person_column is not None:
            kinds.add(str(target.field(person_column).type))
        tables.append(_table(connection, len(tables), file, target))
    if not kinds <= {"int64"} and not kinds <= {"string"}:
        raise SourceError(
            f"the source {shown} does not hold {person_column!r} as whole numbers, or as text, "
            "in all its files",
            why="one person written in two ways would count as two",
            fix="write the column with one type, whole numbers or text, in every file",
        )
    return tables


def _target_schema(schema: pa.Schema, columns: Sequence[str], shown: str) -> pa.Schema:
    import pyarrow as pa
    import pyarrow.types as kinds

    fields = []
    for column in columns:
        kind = schema.field(column).type
        if kinds.is_dictionary(kind):
            kind = kind.value_type
        if kinds.is_integer(kind) and not kinds.is_uint64(kind):
            target = pa.int64()
        elif kinds.is_floating(kind):
            target = pa.float64()
        elif (
            kinds.is_string(kind)
            or kinds.is_large_string(kind)
            or kinds.is_string_view(kind)
            or kinds.is_boolean(kind)
            or kinds.is_decimal(kind)
            or kinds.is_date(kind)
            or kinds.is_null(kind)
            or kinds.is_uint64(kind)
        ):
            target = pa.string()
        else:
            raise SourceError(
                f"the source {shown} holds {column!r} in a type that cannot be counted",
                fix="write the column as text, whole numbers, floats, decimals, dates or booleans",
            )
        fields.append(pa.field(column, target))
    return pa.schema(fields)


def _table(connection: Backend, number: int, file: pq.ParquetFile, target: pa.Schema) -> ibis.Table:
    """The file as a stream of batches under a name; it can be read once."""
    import pyarrow as pa

    def batches() -> Iterator[pa.RecordBatch]:
        with file:
            for batch in file.iter_batches(BATCH_ROWS, columns=target.names):
                arrays = [_as_declared(batch.column(field.name), field.type) for field in target]
                yield pa.RecordBatch.from_arrays(arrays, schema=target)

    name = f"parquet_{number}"
    connection.con.register(name, pa.RecordBatchReader.from_batches(target, batches()))
    return connection.table(name)


def _as_declared(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """The column in its target type; total on every value of an accepted type."""
    import pyarrow as pa
    import pyarrow.types as kinds

    if kinds.is_dictionary(values.type):
        values = values.dictionary_decode()
    if not kinds.is_string(kind):
        return values.cast(kind, safe=False)
    if not (kinds.is_large_string(values.type) or kinds.is_string_view(values.type)):
        values = values.cast(kind, safe=False)
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        raw = values.cast(pa.large_binary()).to_pylist()
        texts = [None if value is None else value.decode(errors="replace") for value in raw]
        values = pa.array(texts, pa.string())
    return values.cast(kind)
