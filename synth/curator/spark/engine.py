"""A table of Spark, counted where it lies; only the counted cells come back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synth.config import SparkSource
from synth.curator.engine import Key, Records, key_kind
from synth.curator.spark.failures import translated_failures
from synth.curator.spark.session import spark_process
from synth.curator.spark.table import number_names, open_table

if TYPE_CHECKING:
    import ibis
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

VIEW = "synth_records"


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
        import ibis

        opened = open_table(self._session, self._source.table, columns)
        kinds = opened.kinds(columns, person_column=person_column)
        numbers = number_names(kinds)
        opened.records(kinds, numbers).createOrReplaceTempView(VIEW)
        table = ibis.table({**kinds, **dict.fromkeys(numbers.values(), "float64")}, name=VIEW)
        return [Records(table, lambda column: table[numbers[column]])]

    def lookup(self, codes: Mapping[Key, int]) -> ibis.Table:
        """The codes as a table of this session, which every worker gets as a whole."""
        import ibis
        import pyarrow as pa
        import pyspark.sql.functions as f

        name, kind = f"synth_levels_{self._lookups}", key_kind(codes)
        self._lookups += 1
        keys = pa.array(codes, ibis.dtype(kind).to_pyarrow())
        levels = pa.table({"key": keys, "code": pa.array(codes.values(), pa.int32())})
        f.broadcast(self._session.createDataFrame(levels)).createOrReplaceTempView(name)
        return ibis.table({"key": kind, "code": "int32"}, name=name)

    def batches(self, expression: ibis.Table) -> Iterator[pa.RecordBatch]:
        """The rows of an expression, partition by partition, as Arrow."""
        import ibis
        import pyarrow as pa
        import pyspark.sql.functions as f

        counted = self._session.sql(ibis.pyspark.compile(expression))
        wide = counted.select(*(f.col(name).cast("bigint") for name in expression.columns))
        schema = pa.schema([pa.field(name, pa.int64()) for name in expression.columns])
        yield from arrow_batches(wide, schema)


def arrow_batches(frame: DataFrame, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of a frame as Arrow, one partition after the other; `schema` names their types."""
    import pyarrow as pa

    rows: Any = frame
    arrived = rows._jdf.toArrowBatchRdd().toJavaRDD().toLocalIterator()
    while arrived.hasNext():
        yield pa.ipc.read_record_batch(pa.py_buffer(arrived.next()), schema)


@contextmanager
def spark_engine(source: SparkSource, scratch: Path) -> Iterator[SparkEngine]:
    """A Spark session of its own, on `source.master`, that spills on this machine into `scratch`.

    Privacy: nothing that Spark prints or says in an error gets out of here.
    Ensures: the session is stopped and its process has ended, whatever happens.
    Raises: SourceError or SynthError for whatever Spark, Java or the cluster refuse.
    """
    with (
        spark_process(source.master, scratch) as spark,
        translated_failures(source.shown, spark.process),
    ):
        yield SparkEngine(spark.session, source)
