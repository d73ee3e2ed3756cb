"""A PostgreSQL table as a stream of texts, for a draft; a run never takes records out of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa

from synth.config import PostgresSource
from synth.curator.not_private.source_texts import FoundColumns, SourceTexts
from synth.curator.postgres.engine import PostgresEngine, postgres_engine
from synth.curator.postgres.table import (
    FIND_COLUMNS,
    ColumnKind,
    FoundTable,
    column_kinds,
    find_table,
    has_columns,
    identify_table,
    quoted,
)

BATCH_ROWS = 1 << 14


class PostgresTexts(SourceTexts):
    """A table or view of a database, read in a snapshot of its own every time."""

    def __init__(self, source: PostgresSource, *, as_counted: bool = False) -> None:
        """Nothing is opened yet."""
        self._source, self._as_counted = source, as_counted

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
        with postgres_engine(self._source) as engine:
            table = self._found(engine)
            texts = {name: ColumnKind("string", f"{quoted(name)}::text") for name in names}
            if self._as_counted:
                found = has_columns(engine.connection, table, names, self._source.shown)
                texts = column_kinds(found, names, self._source.shown)
            fields = ", ".join(kind.expression for kind in texts.values())
            schema = pa.schema([pa.field(n, pa.type_for_alias(texts[n].ibis_type)) for n in names])

            def batches() -> Iterator[pa.RecordBatch]:
                with engine.connection.cursor(name="synth_draft") as cursor:
                    cursor.execute(f"SELECT {fields} FROM {table.name}".encode())
                    while rows := cursor.fetchmany(BATCH_ROWS):
                        columns = zip(*rows, strict=True)
                        arrays = [
                            pa.array(column, kind)
                            for column, kind in zip(columns, schema.types, strict=True)
                        ]
                        yield pa.RecordBatch.from_arrays(arrays, schema=schema)

            yield [pa.RecordBatchReader.from_batches(schema, batches())]

    def _found(self, engine: PostgresEngine) -> FoundTable:
        shown = self._source.shown
        number = identify_table(engine.connection, shown)
        reason = self._source.view_reason if self._as_counted else "a draft"
        return find_table(engine.connection, number, shown, view_reason=reason)
