"""One Spark session for all tests of the curator, and counting on it and on DuckDB."""

import importlib.util
import os
import shutil
import tempfile
from collections import Counter

import pytest

from synth.config import Dialect, FileSource, SparkSource
from synth.curator.counting.encode import bound_contributions
from synth.curator.counting.lookup import encode_records
from synth.curator.files.duckdb_engine import duckdb_engine
from synth.curator.seal import quiet_libraries

FAST = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    " -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """One session for all: a start takes seconds. Its tests run in one process, as a group.

    Java compiles quickly rather than well, because no test runs for long, and trusts the classes.
    """
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip("pyspark is not installed: pip install '.[spark]'")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Java is not installed")
    from synth.curator.spark.session import spark_process

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", FAST)
        directory = tempfile.tempdir
        with spark_process("local[2]", tmp_path_factory.mktemp("spark-scratch")) as opened:
            tempfile.tempdir = directory  # other tests of this process go on between those of Spark
            yield opened


def cells_of(engine, universe, unit) -> Counter:
    """The counted cells, as `tabulate` counts them; they come in ascending order, each once."""
    person = None if unit is None else unit.column
    columns = list(dict.fromkeys([*universe.names, *([] if unit is None else [person])]))
    (records,) = engine.open_records(columns, person_column=person)
    kept = encode_records(engine, records, universe, person=person)
    if unit is not None:
        kept = bound_contributions(kept, unit)
    words = [name for name in kept.columns if name.startswith("word_")]
    counted = kept.group_by(words).aggregate(records=kept.count()).order_by(words)
    rows = [row for batch in engine.batches(counted) for row in batch.to_pylist()]
    cells = [tuple(row[word] for word in words) for row in rows]
    assert cells == sorted(set(cells))
    return Counter(dict(zip(cells, (row["records"] for row in rows), strict=True)))


@pytest.fixture
def on_spark(spark):
    """Counts a table by its configured name."""
    from synth.curator.spark.engine import SparkEngine, translated_failures

    def count(table, universe, unit=None) -> Counter:
        source = SparkSource(str(table), "local[2]", "keep", "made up")
        with translated_failures(source.shown, spark.process):
            return cells_of(SparkEngine(spark.session, source), universe, unit)

    return count


@pytest.fixture
def on_duckdb(tmp_path):
    """Counts a Parquet file."""

    def count(path, universe, unit=None) -> Counter:
        source = FileSource(path, Dialect(), "keep", "made up")
        with quiet_libraries(), duckdb_engine(source, [path], tmp_path) as engine:
            return cells_of(engine, universe, unit)

    return count
