"""A PostgreSQL table as a stream of texts, for a draft; a run never takes records out of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from synth.config.types import PostgresSource
from synth.curator.postgres_columns import column_kinds
from synth.curator.postgres_engine import PostgresEngine, postgres_engine
from synth.curator.postgres_table import (
    FIND_COLUMNS,
    FoundTable,
    find_table,
    has_columns,
    identify_table,
    quoted,
)
from synth.curator.source_texts import FoundColumns

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 1 << 14


class PostgresTexts:
    """A table or view of a database, read in a snapshot of its own every time."""

    def __init__(self, source: PostgresSource) -> None:
        """Nothing is opened yet."""
        self._source = source

    def find_columns(self) -> FoundColumns:
        """See `SourceTexts.find_columns`; their types and permissions decide."""
        shown = self._source.shown
        with postgres_engine(self._source) as engine:
            table = self._found(engine)
            rows = engine.connection.execute(FIND_COLUMNS, {"table": table.oid})

            def require(name: str) -> None:
                found = has_columns(engine.connection, table, [name], shown)
                column_kinds(found, [name], shown)

            return FoundColumns.judged([row[0] for row in rows], require)

    @contextmanager
    def streams(self, names: Sequence[str]) -> Iterator[Sequence[pa.RecordBatchReader]]:
        """See `SourceTexts.streams`; one read-only snapshot."""
        import pyarrow as pa

        schema = pa.schema([pa.field(name, pa.string()) for name in names])
        with postgres_engine(self._source) as engine:
            table = self._found(engine)
            fields = ", ".join(f"{quoted(name)}::text" for name in names)

            def batches() -> Iterator[pa.RecordBatch]:
                with engine.connection.cursor(name="synth_draft") as cursor:
                    cursor.execute(f"SELECT {fields} FROM {table.name}".encode())
                    while rows := cursor.fetchmany(BATCH_ROWS):
                        columns = zip(*rows, strict=True)
                        arrays = [pa.array(column, pa.string()) for column in columns]
                        yield pa.RecordBatch.from_arrays(arrays, schema=schema)

            yield [pa.RecordBatchReader.from_batches(schema, batches())]

    def _found(self, engine: PostgresEngine) -> FoundTable:
        shown = self._source.shown
        number = identify_table(engine.connection, shown)
        return find_table(engine.connection, number, shown, view_reason="a draft")
