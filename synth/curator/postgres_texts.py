"""A PostgreSQL table as a stream of texts, for a draft; a run never takes records out of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from synth.config.types import PostgresSource
from synth.curator.postgres_columns import column_kinds
from synth.curator.postgres_engine import SESSION, postgres_engine
from synth.curator.postgres_table import FIND_COLUMNS, find_table, has_columns, quoted
from synth.errors import SourceError

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 1 << 14


def countable_columns(source: PostgresSource) -> tuple[list[str], tuple[str, ...]]:
    """The columns that can be counted, and those whose type or permission forbids it."""
    countable: list[str] = []
    refused: list[str] = []
    with postgres_engine(source) as engine:
        table = find_table(engine.connection, source.shown, view_reason="a draft")
        names = [row[0] for row in engine.connection.execute(FIND_COLUMNS, {"table": table.oid})]
        for name in names:
            try:
                found = has_columns(engine.connection, table, [name], source.shown)
                column_kinds(found, [name], source.shown)
            except SourceError:
                refused.append(name)
            else:
                countable.append(name)
    return countable, tuple(refused)


@contextmanager
def texts_of_table(source: PostgresSource, names: Sequence[str]) -> Iterator[pa.RecordBatchReader]:
    """The named columns of all records as text, in bounded batches, in one read-only snapshot."""
    import pyarrow as pa

    schema = pa.schema([pa.field(name, pa.string()) for name in names])
    with postgres_engine(source) as engine:
        table = find_table(engine.connection, source.shown, view_reason="a draft")
        for name, value in {**SESSION, "search_path": "pg_catalog"}.items():
            engine.connection.execute("SELECT set_config(%s, %s, true)", (name, value))
        fields = ", ".join(f"{quoted(name)}::text" for name in names)

        def batches() -> Iterator[pa.RecordBatch]:
            with engine.connection.cursor(name="synth_draft") as cursor:
                cursor.execute(f"SELECT {fields} FROM {table.name}".encode())
                while rows := cursor.fetchmany(BATCH_ROWS):
                    columns = zip(*rows, strict=True)
                    arrays = [pa.array(column, pa.string()) for column in columns]
                    yield pa.RecordBatch.from_arrays(arrays, schema=schema)

        yield pa.RecordBatchReader.from_batches(schema, batches())
