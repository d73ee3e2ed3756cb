"""Files, counted by an embedded DuckDB that spills to disk and reports nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from synth.config.source_files import is_parquet
from synth.config.types import FileSource
from synth.curator.csv_source import as_read, open_csv
from synth.curator.engine import Records
from synth.curator.parquet_source import open_parquet
from synth.errors import SourceError, SynthError

if TYPE_CHECKING:
    import ibis
    import ibis.expr.types as ir
    import pyarrow as pa
    from ibis.backends.duckdb import Backend

MEMORY_LIMIT_BYTES = 4 << 30
SPILL_LIMIT_BYTES = 64 << 30
BATCH_ROWS = 1 << 17
NUMBER_CHARACTERS = 1_000


class DuckDBEngine:
    """The files of a source as tables of an open DuckDB."""

    def __init__(self, connection: Backend, source: FileSource, files: Sequence[Path]) -> None:
        """Nothing is opened yet."""
        self._connection, self._source, self._files = connection, source, files

    def open_records(
        self, columns: Sequence[str], *, person_column: str | None
    ) -> Sequence[Records]:
        """The named columns of every file: text (CSV), or of their declared type (Parquet).

        Ensures: no value of a record can stop the run; what becomes of it depends on it alone.
        Raises: SourceError, in words of the configuration, for what concerns a whole file.
        """
        shown, connection = self._source.shown, self._connection
        _refuse_patterns(self._files, shown)
        if is_parquet(self._files[0]):
            tables = open_parquet(
                connection, shown, self._files, columns, person_column=person_column
            )
            return [
                Records(table, lambda text: text, partial(as_number, table)) for table in tables
            ]
        dialect = self._source.dialect
        read = partial(as_read, encoding=dialect.encoding)
        texts = [open_csv(connection, shown, path, columns, dialect) for path in self._files]
        return [Records(table, read, partial(as_number, table)) for table in texts]

    def batches(self, expression: ibis.Table) -> Iterator[pa.RecordBatch]:
        """The rows of an expression, in batches, as they are made."""
        statement = self._connection.compile(expression)
        yield from self._connection.con.sql(statement).to_arrow_reader(BATCH_ROWS)


@contextmanager
def duckdb_engine(
    source: FileSource, files: Sequence[Path], scratch: Path
) -> Iterator[DuckDBEngine]:
    """An in-memory DuckDB that spills only into `scratch`, loads nothing and reports nothing.

    Raises: SourceError or SynthError for what DuckDB or the file system refuse.
    """
    import duckdb
    import ibis

    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    connection = ibis.duckdb.connect(
        temp_directory=str(scratch),
        memory_limit=f"{min(MEMORY_LIMIT_BYTES, memory // 2) >> 20}MiB",
        max_temp_directory_size=f"{SPILL_LIMIT_BYTES >> 20}MiB",
        preserve_insertion_order=False,
        autoinstall_known_extensions=False,
        autoload_known_extensions=False,
        allow_community_extensions=False,
        enable_external_file_cache=False,
        threads=os.cpu_count() or 1,
    )
    failure: SynthError
    try:
        connection.raw_sql("SET enable_progress_bar = false")
        connection.raw_sql("SET lock_configuration = true")
        yield DuckDBEngine(connection, source, files)
        return
    except duckdb.OutOfMemoryException:
        failure = SynthError(
            "there was not enough memory or spill space to count the records",
            fix="run on a larger machine, or declare fewer or coarser attributes",
        )
    except (OSError, duckdb.Error):
        failure = SourceError(
            "the source could not be read to its end",
            why="a file is missing, damaged, cut short or not in the format of its name",
            fix="check that every file of source.path is complete and readable by this user",
        )
    finally:
        connection.disconnect()
    raise failure


def as_number(table: ibis.Table, column: str) -> ir.FloatingValue:
    """The column as float64 by the rule of `Records.as_number`: that of DuckDB, but for `_`."""
    text = table[column]
    is_plain = ~text.contains("_") & (text.length() <= NUMBER_CHARACTERS)
    return is_plain.ifelse(text.try_cast("float64"), None)


def _refuse_patterns(files: Sequence[Path], shown: str) -> None:
    for path in files:
        if any(character in str(path) for character in "*?["):
            raise SourceError(
                f"the source {shown} names a file with one of the characters * ? [ in its path",
                why="the engine would take the name for a pattern and count other files",
                fix="rename the file or its directory",
            )
