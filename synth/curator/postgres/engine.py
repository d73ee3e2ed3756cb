"""A PostgreSQL table, counted inside its database; only counted cells come back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

import ibis
import ibis.expr.types as ir
import numpy as np
import psycopg
import pyarrow as pa
import sqlglot

from synth.config import PostgresSource
from synth.curator.engine import Key, Records, key_kind
from synth.curator.postgres.table import (
    FoundColumn,
    FoundTable,
    column_kinds,
    constant_rows,
    find_table,
    has_columns,
    identify_table,
    require_kinds,
    row_security_applies,
    selected,
)
from synth.errors import BugError, SourceError, SynthError

OLDEST_SERVER = 120_000
BATCH_ROWS = 1 << 16
RECORDS = "synth_records"


class PostgresEngine:
    """One table in one read-only transaction, in which one statement reads all records.

    Privacy: that statement sees all records as they were at one moment. The catalogue is not so
    still: the server reads the partitions and child tables that there are when the statement
    begins, and no lock that a reader may take keeps others from attaching one. But what it reads
    it locks, so that it can be neither altered nor detached before the transaction ends. So the
    table is judged before it is read, and once more, by the catalogue of that moment, before the
    counts are given out: each statement of the transaction sees what was committed before it.
    """

    counts_where_records_lie = True

    def __init__(self, connection: psycopg.Connection, source: PostgresSource) -> None:
        """Nothing is asked yet."""
        self.connection, self._source = connection, source
        self._statement = ""
        self._lookups: list[str] = []
        self._judge: Callable[[], object] = lambda: None
        self._judgement: object = None
        self._is_counted = False

    def open_records(
        self, columns: Sequence[str], *, person_column: str | None
    ) -> Sequence[Records]:
        """The named columns of the table or view, which are looked up but not read.

        Ensures: no value of a column of an accepted type can stop the count.
        Raises: SourceError, in words of the configuration, if the table or a column is not there,
        may not be read, or is of a type that cannot be counted.
        """
        shown = self._source.shown
        table = identify_table(self.connection, shown)

        def judge() -> tuple[FoundTable, dict[str, FoundColumn]]:
            found = find_table(self.connection, table, shown, view_reason=self._source.view_reason)
            return found, has_columns(self.connection, found, columns, shown)

        self._judge, self._judgement = judge, judge()
        named, found = self._judgement
        kinds = column_kinds(found, columns, shown)
        require_kinds(found, person_column, shown)
        numbers = {}
        for number, column in enumerate(columns):
            name = f"number_{number}"
            while name in columns:
                name += "_"
            numbers[column] = name
        self._statement = selected(named.name, kinds, numbers)
        self.connection.execute(f"{self._statement} LIMIT 0".encode())  # locks it as it is
        self._require_unchanged()
        types = {column: kind.ibis_type for column, kind in kinds.items()}
        types |= {numbers[c]: "float64" for c, kind in kinds.items() if kind.number is not None}
        records = ibis.table(types, name=RECORDS)
        return [Records(records, lambda column: records[numbers[column]])]

    def lookup(self, codes: Mapping[Key, int]) -> ibis.Table:
        """The codes as constants of the statement: the transaction may write no table."""
        name, kind = f"synth_levels_{len(self._lookups)}", key_kind(codes)
        self._lookups.append(f"{name} AS NOT MATERIALIZED ({constant_rows(codes)})")
        return ibis.table({"key": kind, "code": "int32"}, name=name)

    def computed_once(self, value: ir.IntegerValue) -> ir.IntegerValue:
        """The value as it is: `_each_step_once` keeps all steps apart."""
        return value

    def batches(self, expression: ibis.Table) -> Iterator[pa.RecordBatch]:
        """The rows of an expression, counted by the server, in its binary copy format.

        COPY is the one way to a large result that the server may compute in parallel and the
        client need not hold.
        """
        if self._is_counted:
            raise BugError("a second statement would see the records at another moment")
        self._is_counted = True
        inner = _each_step_once(ibis.to_sql(expression, dialect="postgres"))
        records = f"{RECORDS} AS NOT MATERIALIZED ({self._statement})"
        statement = (
            f"COPY (WITH {', '.join([records, *self._lookups])} ({inner})) "
            "TO STDOUT WITH (FORMAT binary)"
        )
        with (
            self.connection.cursor() as cursor,
            cursor.copy(statement.encode()) as copied,
        ):
            yield from _batches(copied, expression.columns)
        self._require_unchanged()

    def _require_unchanged(self) -> None:
        """Judge the table again; what was read cannot have been altered since."""
        if self._judge() != self._judgement:
            raise SourceError(
                f"{self._source.shown} was altered while it was opened or counted",
                fix="start the same command again; nothing is charged twice",
            )


def _each_step_once(statement: str) -> str:
    """The statement, so that the server computes every column of a sub-select once per record.

    Otherwise it would write the expression of a column wherever the column is used, and use that
    in the next step: a date goes through eight of them, and planning would not end. `OFFSET 0`
    keeps sub-selects apart and lets them run in parallel.
    """
    tree = sqlglot.parse_one(statement, read="postgres")
    for inner in tree.find_all(sqlglot.exp.Subquery):
        if isinstance(inner.this, sqlglot.exp.Select):
            inner.this.offset(0, copy=False)
    return tree.sql(dialect="postgres")


def _batches(
    blocks: Iterable[bytes | bytearray | memoryview], names: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Rows of 64-bit whole numbers without nulls, from PostgreSQL's binary copy format.

    A header of 19 bytes; for each row the number of fields (16 bits), for each field its length
    (32 bits) and its bytes, the highest first; at the end 16 bits with -1.
    """
    fields = [("fields", ">i2")]
    for number in range(len(names)):
        fields += [(f"length_{number}", ">i4"), (f"value_{number}", ">i8")]
    row = np.dtype(fields)

    def as_batch(data: bytes | bytearray) -> pa.RecordBatch:
        rows = np.frombuffer(data, dtype=row)
        is_whole = (rows["fields"] == len(names)).all() and all(
            (rows[f"length_{number}"] == 8).all() for number in range(len(names))
        )
        if not is_whole:
            raise BugError("the database counted in another format than it was asked for")
        columns = [pa.array(rows[f"value_{n}"].astype(np.int64)) for n in range(len(names))]
        return pa.RecordBatch.from_arrays(columns, names=list(names))

    pending = bytearray()
    header = 19
    for block in blocks:
        pending += block
        if header and len(pending) >= header:
            del pending[:header]
            header = 0
        if len(pending) >= BATCH_ROWS * row.itemsize:
            whole = len(pending) // row.itemsize * row.itemsize
            yield as_batch(bytes(pending[:whole]))
            del pending[:whole]
    if header or bytes(pending[-2:]) != b"\xff\xff" or len(pending) % row.itemsize != 2:
        raise SourceError("the database stopped before all records were counted")
    if len(pending) > 2:
        yield as_batch(bytes(pending[:-2]))


@contextmanager
def postgres_engine(source: PostgresSource) -> Iterator[PostgresEngine]:
    """A connection with one read-only transaction, which is rolled back.

    Privacy: the server gets statements made of the configuration alone. Its messages, which may
    quote values or name hosts and users, are neither printed nor passed on.
    Raises: SourceError for whatever the server or the connection refuse.
    """
    connection = _connected(source)
    failure: SynthError | None = None
    try:
        yield PostgresEngine(connection, source)
    except psycopg.errors.InsufficientPrivilege as error:
        if error.diag.source_function == "check_enable_rls":
            failure = row_security_applies(source.shown)
        else:
            failure = SourceError(
                f"the database does not let this user read {source.shown}",
                fix="grant SELECT on the table, and USAGE on its schema, to the user of PGUSER",
            )
    except (psycopg.Error, OSError):
        failure = SourceError(
            f"the database stopped before all records of {source.shown} were counted",
            why="the connection was lost, or the server cancelled the count or ran out of room",
            fix="see the log of the server, then start the same command again; nothing is "
            "charged twice",
        )
    finally:
        with suppress(Exception):
            connection.close()
    if failure is not None:
        raise failure


def _connected(source: PostgresSource) -> psycopg.Connection:
    failure: SynthError
    try:
        connection = psycopg.connect(
            source.url,
            autocommit=False,
            prepare_threshold=None,
            client_encoding="utf8",
            application_name="synth",
        )
        try:
            connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
            connection.read_only = True
            if connection.info.server_version < OLDEST_SERVER:
                failure = SourceError(
                    "the database of source.url is older than PostgreSQL 12",
                    fix="copy the table to a newer server, or to a Parquet file",
                )
            elif connection.info.parameter_status("server_encoding") != "UTF8":
                failure = SourceError(
                    "the database of source.url does not store text as UTF-8",
                    why="words of the configuration could not be compared with its text",
                    fix="copy the table to a database with encoding UTF8, or to a Parquet file",
                )
            else:
                return connection
        except BaseException:
            connection.close()
            raise
        connection.close()
    except (psycopg.Error, OSError):
        failure = SourceError(
            "the database of source.url cannot be reached, or does not accept this user",
            why="the address, the database name, the user or the password is wrong, or no "
            "server runs there",
            fix="give user and password by PGUSER and PGPASSWORD, PGPASSFILE or PGSERVICE, and "
            "try the same address with psql",
        )
    raise failure
