"""A table of Spark as a stream of texts, for a draft; a run never takes records out of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from synth.config import SparkSource
from synth.curator.not_private.source_texts import FoundColumns, SourceTexts
from synth.curator.spark.engine import arrow_batches, translated_failures
from synth.curator.spark.session import SparkProcess, spark_process
from synth.curator.spark.table import open_table


class SparkTexts(SourceTexts):
    """A table in an open Spark session: the tables, columns and types that a run accepts."""

    def __init__(self, spark: SparkProcess, source: SparkSource) -> None:
        """Nothing is opened yet."""
        self._spark, self._source = spark, source

    def find_columns(self) -> FoundColumns:
        """See `SourceTexts.find_columns`; their declared types decide."""
        with translated_failures(self._source.shown, self._spark.process):
            opened = open_table(self._spark.session, self._source.table, ())
            return FoundColumns.judged(
                dict.fromkeys(opened.frame.columns),
                lambda name: opened.kinds([name], person_column=None),
            )

    @contextmanager
    def streams(self, names: Sequence[str]) -> Iterator[Sequence[pa.RecordBatchReader]]:
        """See `SourceTexts.streams`; partition by partition.

        Whoever reads the stream gives another error for one of Spark, which says less: Spark's
        own is kept, and decides what is said.
        """
        failures: list[Exception] = []
        with translated_failures(self._source.shown, self._spark.process):
            opened = open_table(self._spark.session, self._source.table, names)
            kinds = opened.kinds(names, person_column=None)
            frame = opened.records(kinds, {})
            schema = pa.schema([pa.field(name, kind) for name, kind in kinds.items()])

            def batches() -> Iterator[pa.RecordBatch]:
                try:
                    yield from arrow_batches(frame, schema)
                except Exception as error:
                    failures.append(error)
                    raise

            try:
                yield [pa.RecordBatchReader.from_batches(schema, batches())]
            except Exception:
                if failures:
                    raise failures[0] from None
                raise


@contextmanager
def spark_texts(source: SparkSource, spill: Path) -> Iterator[SparkTexts]:
    """One Spark session for all that a draft reads; see `spark.engine.spark_engine`."""
    with spark_process(source.master, spill) as spark:
        yield SparkTexts(spark, source)
