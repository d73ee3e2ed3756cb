"""Files, read by an embedded DuckDB that spills to disk and reports nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from threading import Lock

import duckdb
import ibis
import ibis.expr.operations as ops
import ibis.expr.types as ir
import pyarrow as pa

from synth.config import FileSource, FrameSource
from synth.config.source_files import ARROW, CSV, PARQUET
from synth.curator.counting.lookup import TextCodes
from synth.curator.engine import NUMBER_CHARACTERS, Key, Records, key_kind
from synth.curator.files.csv_source import open_csv, require_whole
from synth.curator.files.parquet_source import ParquetStream, open_frame, open_parquet
from synth.curator.files.text_tables import open_text_tables, require_whole_tables
from synth.curator.seal import no_memory
from synth.errors import BugError, SourceError

MEMORY_LIMIT_BYTES = 4 << 30
SPILL_LIMIT_BYTES = 64 << 30
BATCH_ROWS = 1 << 17
KEPT_AS_WRITTEN = "join_order,build_side_probe_side"
"""How joins are done. DuckDB takes a stream for short, and would gather all records of it."""


class DuckDBEngine:
    """The files of a source as tables of an open DuckDB."""

    counts_where_records_lie = False

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        source: FileSource | FrameSource,
        files: Sequence[Path],
        codes: Mapping[str, TextCodes] | None = None,
    ) -> None:
        """Nothing is opened yet."""
        self.connection = connection
        self._source, self._files, self._codes = source, files, codes
        self._sent: Callable[[], object] = lambda: None
        """Refuses what was sent, if it was not whole."""
        self._lookups = 0
        self._ended_by: type[BaseException] | None = None

    def stream(self, name: str, reader: pa.RecordBatchReader) -> None:
        """Make a table of batches that are read once.

        DuckDB asks for them in this thread too, where a signal arrives; it makes an error of its
        own of the interrupt, and of running out of memory. So what ended the batches is kept.
        """

        def batches() -> Iterator[pa.RecordBatch]:
            try:
                yield from reader
            except (KeyboardInterrupt, MemoryError) as error:
                self._ended_by = type(error)
                raise

        self.connection.register(name, pa.RecordBatchReader.from_batches(reader.schema, batches()))

    def failure(self) -> BaseException:
        """What is said of an error of DuckDB or Arrow."""
        if self._ended_by is KeyboardInterrupt:
            return KeyboardInterrupt()
        return no_memory() if self._ended_by is MemoryError else SourceError.cut_short()

    def open_records(
        self, columns: Sequence[str], *, person_column: str | None
    ) -> Sequence[Records]:
        """The named columns of every file: text, or of their declared type (Parquet, Arrow).

        Ensures: no value of a record can stop the run; what becomes of it depends on it alone.
        Raises: SourceError, in words of the configuration, for what concerns a whole file.
        """
        if isinstance(self._source, FrameSource):
            return self._open_frame(self._source, columns, person_column)
        if not self._files:
            raise BugError("no file was handed over to be counted")
        kind = self._source.kind
        if kind in (PARQUET, ARROW):
            return self._open_parquet(columns, person_column)
        if kind == CSV:
            return self._open_csv(self._source, columns)
        return self._open_texts(self._source, columns)

    def lookup(self, codes: Mapping[Key, int]) -> ibis.Table:
        """The codes as an Arrow table beside the records."""
        name, kind = f"levels_{self._lookups}", key_kind(codes)
        self._lookups += 1
        keys = pa.array(codes, ibis.dtype(kind).to_pyarrow())
        self.connection.register(
            name, pa.table({"key": keys, "code": pa.array(codes.values(), pa.int32())})
        )
        return ibis.table({"key": kind, "code": "int32"}, name=name)

    def computed_once(self, value: ir.IntegerValue) -> ir.IntegerValue:
        """The value as it is: DuckDB computes a column once."""
        return value

    def batches(self, expression: ibis.Table) -> Iterator[pa.RecordBatch]:
        """The rows of an expression, in batches, as they are made."""
        found = self.connection.sql(_statement(expression.op()))
        yield from found.to_arrow_reader(BATCH_ROWS)
        self._sent()

    def _open_parquet(self, columns: Sequence[str], person_column: str | None) -> list[Records]:
        streams = open_parquet(
            self._source.shown,
            self._files,
            columns,
            person_column=person_column,
            codes=self._codes,
        )
        return self._opened(streams, columns)

    def _open_frame(
        self, source: FrameSource, columns: Sequence[str], person_column: str | None
    ) -> list[Records]:
        if source.records is None:
            raise BugError("no table was handed over to be counted")
        stream = open_frame(
            source.shown,
            source.records,
            columns,
            person_column=person_column,
            codes=self._codes,
        )
        return self._opened([stream], columns)

    def _opened(self, streams: Sequence[ParquetStream], columns: Sequence[str]) -> list[Records]:
        opened = []
        for number, stream in enumerate(streams):
            name = f"parquet_{number}"
            self.stream(name, stream.reader())
            table = ibis.table(ibis.Schema.from_pyarrow(stream.schema), name=name)
            kinds = {
                column: "int64" if table[column].type().is_integer() else str(table[column].type())
                for column in columns
            } | dict.fromkeys(stream.codes, "int32")
            table = table.select(**{column: table[column].cast(kinds[column]) for column in kinds})
            opened.append(Records(table, partial(as_number, table), frozenset(stream.codes)))
        return opened

    def _open_csv(self, source: FileSource, columns: Sequence[str]) -> list[Records]:
        stream = open_csv(source.shown, self._files, columns, source.dialect)
        self._sent = partial(require_whole, stream.files, source.shown)
        self.stream("csv", stream.reader())
        table = ibis.table(dict.fromkeys(columns, "string"), name="csv")
        return [Records(table, partial(as_number, table, decimal=source.dialect.decimal))]

    def _open_texts(self, source: FileSource, columns: Sequence[str]) -> list[Records]:
        stream = open_text_tables(source, self._files, columns)
        self._sent = partial(require_whole_tables, stream, source.shown)
        self.stream("texts", stream.reader())
        table = ibis.table(dict.fromkeys(columns, "string"), name="texts")
        return [Records(table, partial(as_number, table))]


_ONE_AT_A_TIME = Lock()
"""The options of Ibis are those of the process: threads must not restore what others changed."""


@lru_cache(maxsize=8)
def _statement(expression: ops.Node) -> str:
    """The expression in SQL. It comes from the configuration; audits ask for the same one often.

    Each step is a query of its own: DuckDB puts them together faster than Ibis.
    """
    options = ibis.options.sql
    with _ONE_AT_A_TIME:
        before, options.fuse_selects = options.fuse_selects, False
        try:
            return str(ibis.to_sql(expression.to_expr(), dialect="duckdb"))
        finally:
            options.fuse_selects = before


@contextmanager
def duckdb_engine(
    source: FileSource | FrameSource,
    files: Sequence[Path],
    spill: Path,
    codes: Mapping[str, TextCodes] | None = None,
) -> Iterator[DuckDBEngine]:
    """An engine on files that keeps no trace outside `spill`.

    Columns of texts that are named in `codes` come as codes, where each text is stored once.

    Raises: SourceError or SynthError for what DuckDB, Arrow or the file system refuse.
    """
    connection = _private_connection(spill)
    engine = DuckDBEngine(connection, source, files, codes)
    failure: BaseException
    try:
        yield engine
        return
    except (duckdb.OutOfMemoryException, MemoryError):
        failure = no_memory()
    except PermissionError:
        failure = SourceError.may_not_be_read(source.shown)
    except (OSError, duckdb.Error, pa.ArrowException, UnicodeDecodeError):  # the last: of a name
        failure = engine.failure()
    finally:
        connection.close()
    raise failure


def _private_connection(spill: Path) -> duckdb.DuckDBPyConnection:
    """An in-memory DuckDB that spills only into `spill`, loads nothing and reports nothing."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    connection = duckdb.connect(
        config={
            "temp_directory": str(spill),
            "memory_limit": f"{min(MEMORY_LIMIT_BYTES, memory // 2) >> 20}MiB",
            "max_temp_directory_size": f"{SPILL_LIMIT_BYTES >> 20}MiB",
            "preserve_insertion_order": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
            "enable_external_file_cache": False,
            "python_enable_replacements": False,
            "threads": os.cpu_count() or 1,
        }
    )
    connection.execute("SET enable_progress_bar = false")
    connection.execute(f"SET disabled_optimizers = '{KEPT_AS_WRITTEN}'")
    connection.execute("SET lock_configuration = true")
    return connection


def as_number(table: ibis.Table, column: str, *, decimal: str = ".") -> ir.FloatingValue:
    """The column as float64 by the rule of `Records.as_number`: that of DuckDB, but for `_`.

    With another decimal mark a text is a number if it is one once the mark is a point; a text
    that has a point before that is none.
    """
    text = table[column]
    if decimal != ".":
        text = text.contains(".").ifelse(None, text.replace(decimal, "."))
    is_plain = ~text.contains("_") & (text.length() <= NUMBER_CHARACTERS)
    return is_plain.ifelse(text.try_cast("float64"), None)
