"""A table of Spark, counted where it lies; only the counted cells come back."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ibis
import ibis.expr.types as ir
import pyarrow as pa
import pyspark.sql.functions as f
from py4j.protocol import Py4JError, Py4JNetworkError
from pyarrow import ArrowException
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from synth.config import SparkSource
from synth.curator.engine import Key, Records, key_kind
from synth.curator.spark.session import spark_process
from synth.curator.spark.table import number_names, open_table
from synth.errors import SourceError, SynthError

VIEW = "synth_records"


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def spark_partition_id() -> int:  # type: ignore[empty-body]
    """The number of the partition: a function of Spark."""


class SparkEngine:
    """The table of a source in an open Spark session."""

    counts_where_records_lie = True

    def __init__(self, session: SparkSession, source: SparkSource) -> None:
        """Nothing is opened yet."""
        self._session, self._source = session, source
        self._lookups = 0

    def open_records(
        self, columns: Sequence[str], *, person_column: str | None
    ) -> Sequence[Records]:
        """The named columns of the table, by their declared types; no value is looked at.

        Raises: SourceError, in words of the configuration, for what concerns the whole table.
        """
        opened = open_table(self._session, self._source.table, columns)
        kinds = opened.kinds(columns, person_column=person_column)
        numbers = number_names(kinds)
        opened.records(kinds, numbers).createOrReplaceTempView(VIEW)
        table = ibis.table({**kinds, **dict.fromkeys(numbers.values(), "float64")}, name=VIEW)
        return [Records(table, lambda column: table[numbers[column]])]

    def lookup(self, codes: Mapping[Key, int]) -> ibis.Table:
        """The codes as a table of this session, which every worker gets as a whole."""
        name, kind = f"synth_levels_{self._lookups}", key_kind(codes)
        self._lookups += 1
        keys = pa.array(codes, ibis.dtype(kind).to_pyarrow())
        levels = pa.table({"key": keys, "code": pa.array(codes.values(), pa.int32())})
        f.broadcast(self._session.createDataFrame(levels)).createOrReplaceTempView(name)
        return ibis.table({"key": kind, "code": "int32"}, name=name)

    def computed_once(self, value: ir.IntegerValue) -> ir.IntegerValue:
        """The value, and nothing: Spark moves no filter below what differs between partitions."""
        return value + (spark_partition_id() * 0).cast("int32")

    def batches(self, expression: ibis.Table) -> Iterator[pa.RecordBatch]:
        """The rows of an expression, partition by partition, as Arrow."""
        counted = self._session.sql(ibis.pyspark.compile(expression))
        wide = counted.select(*(f.col(name).cast("bigint") for name in expression.columns))
        schema = pa.schema([pa.field(name, pa.int64()) for name in expression.columns])
        yield from arrow_batches(wide, schema)


def arrow_batches(frame: DataFrame, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of a frame as Arrow, one partition after the other; `schema` names their types."""
    rows: Any = frame
    arrived = rows._jdf.toArrowBatchRdd().toJavaRDD().toLocalIterator()
    while arrived.hasNext():
        yield pa.ipc.read_record_batch(pa.py_buffer(arrived.next()), schema)


@contextmanager
def spark_engine(source: SparkSource, spill: Path) -> Iterator[SparkEngine]:
    """A Spark session of its own, on `source.master`, that spills on this machine into `spill`.

    Privacy: nothing that Spark prints or says in an error gets out of here.
    Ensures: the session is stopped and its process has ended, whatever happens.
    Raises: SourceError or SynthError for whatever Spark, Java or the cluster refuse.
    """
    with (
        spark_process(source.master, spill) as spark,
        translated_failures(source.shown, spark.process),
    ):
        yield SparkEngine(spark.session, source)


OUT_OF_MEMORY_EXIT = 3
"""How Java ends with -XX:+ExitOnOutOfMemoryError."""
EXIT_SECONDS = 5

NOT_FOUND = frozenset(
    {
        "TABLE_OR_VIEW_NOT_FOUND",
        "SCHEMA_NOT_FOUND",
        "CATALOG_NOT_FOUND",
        "REQUIRES_SINGLE_PART_NAMESPACE",
        "UNSUPPORTED_FEATURE.CATALOG_OPERATION",
    }
)
NO_FILES = frozenset({"PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA"})


@contextmanager
def translated_failures(shown: str, process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Turn whatever pyspark, its bridge to Java and the system raise into words of our own.

    Raises: SourceError, or SynthError if memory was short.
    """
    try:
        yield
        return
    except SynthError:
        raise
    except Exception as error:
        if not _is_of_a_library(error) and not _has_ended(process):
            raise
        failed = _failure(error, shown, process)
    raise failed


def _is_of_a_library(error: Exception) -> bool:
    return isinstance(error, PySparkException | Py4JError | ArrowException | OSError | EOFError)


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether Java has ended; then pyspark fails in ways of its own, such as a wrong attribute."""
    try:
        process.wait(EXIT_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True


def _failure(error: Exception, shown: str, process: subprocess.Popen[bytes]) -> SynthError:
    """A new error in words of the configuration; what the old one says is not looked at.

    Only the name of its kind is, and that only if Spark gives it before it reads a record.
    """
    kind = _kind(error)
    if kind is None and _exit_code(error, process) == OUT_OF_MEMORY_EXIT:
        return SynthError(
            "there was not enough memory to count the records with Spark",
            fix="run on a larger machine or cluster, or raise spark.driver.memory",
        )
    if kind in NOT_FOUND:
        return SourceError(
            f"Spark knows no table {shown}",
            fix="check the name (source.spark.table, --spark), and the catalog that Spark is told",
        )
    if kind in NO_FILES:
        return SourceError(
            f"Spark finds no Parquet file at {shown}",
            fix="check the address (source.spark.table, --spark); it must exist where Spark runs",
        )
    return SourceError(
        f"Spark could not count the records of {shown}",
        why="a file is damaged or may not be read, or Spark lost an executor, its memory or "
        "its connection",
        fix="check the table and the cluster with a query of your own, then start the same "
        "command again",
    )


def _kind(error: Exception) -> str | None:
    return error.getCondition() if isinstance(error, AnalysisException) else None


def _exit_code(error: Exception, process: subprocess.Popen[bytes]) -> int | None:
    """The exit code of Java if it has ended; a lost connection is noticed a little earlier."""
    try:
        lost = isinstance(error, Py4JNetworkError | OSError | EOFError)
        return process.wait(EXIT_SECONDS if lost else 0)
    except subprocess.TimeoutExpired:
        return None
