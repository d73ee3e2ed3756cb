"""The records of a period are the same on Spark as by the slow definition."""

import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth.config import PersonUnit, SparkSource
from synth.curator.counting.lookup import encode_records
from synth.curator.counting.selection import period_attribute, select_records
from synth.curator.counting.tabulate import _counted
from synth.domain import Attribute, Universe
from tests.selected_slowly import LEVELS, MONTHS, SELECTIONS, slow_counts

pytestmark = pytest.mark.xdist_group("spark")

GROUPS = Universe((Attribute("group", "categorical", levels=LEVELS, missing=("",)),))


def made_up_rows():
    draw = random.Random(5)
    people = ["1", "2", "Ü4", "", None]
    return [(p, w, draw.choice("abc")) for w in MONTHS for p in people if draw.random() < 0.8]


@pytest.mark.parametrize(
    ("name", "max_records"),
    [("far apart, weighted", None), ("first month of a person", 1)],
)
def test_spark_selects_by_the_slow_definition(spark, tmp_path, name, max_records):
    from synth.curator.spark.engine import SparkEngine, translated_failures

    rows, selection = made_up_rows(), SELECTIONS[name]
    columns = dict(zip(("person", "visited", "group"), zip(*rows, strict=True), strict=True))
    pq.write_table(pa.table({k: list(v) for k, v in columns.items()}), tmp_path / "t.parquet")
    unit = None if max_records is None else PersonUnit("person", max_records)
    source = SparkSource(f"parquet.`{tmp_path}/t.parquet`", "local[2]", "keep", "made up")
    person = None if unit is None else unit.column
    with translated_failures(source.shown, spark.process):
        engine = SparkEngine(spark.session, source)
        (records,) = engine.open_records([*columns], person_column=person)
        coded = encode_records(
            engine, records, GROUPS, person=person, period=period_attribute(selection)
        )
        counted = _counted(select_records(coded, selection, unit))
        found = [row for batch in engine.batches(counted) for row in batch.to_pylist()]
    counts = {row["word_0"]: row["records"] for row in found}
    assert [counts.get(code, 0) for code in range(4)] == slow_counts(rows, selection, max_records)
