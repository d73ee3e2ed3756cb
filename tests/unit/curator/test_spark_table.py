"""Which tables of Spark are counted, and what is said about those that are not."""

from collections import Counter
from contextlib import contextmanager
from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth.config import PersonUnit, load_config
from synth.domain import Attribute, Universe
from synth.errors import SourceError
from synth.job import pipeline

pytestmark = pytest.mark.xdist_group("spark")


def parquet(path) -> str:
    return f"parquet.`{path}`"


def write(path, columns, **options):
    pq.write_table(pa.table(columns), path, **options)
    return path


PLACES = Universe((Attribute("v", "number", edges=tuple(map(Fraction, range(21))), missing=("",)),))
UNIT = PersonUnit("person", 3)


@pytest.fixture
def catalog(spark):
    """Runs statements on the session's own catalog and drops the tables afterwards."""
    made = []

    def make(name, statement):
        made.append(name)
        spark.session.sql(statement)

    yield make
    for name in made:
        spark.session.sql(f"DROP {'VIEW' if 'view' in name else 'TABLE'} IF EXISTS {name}")


def test_a_table_of_the_catalog_is_counted(on_spark, catalog):
    catalog("people", "CREATE TABLE people USING parquet AS SELECT '12' AS v, 3L AS id")
    assert on_spark("default.people", PLACES) == Counter({(12,): 1})
    assert on_spark("spark_catalog.default.`people`", PLACES)


def test_a_view_is_refused_because_its_rows_may_be_of_several_people(on_spark, catalog):
    catalog("a_view", "CREATE TEMPORARY VIEW a_view AS SELECT 1 AS v")
    with pytest.raises(SourceError, match="is a view"):
        on_spark("a_view", PLACES)


def test_a_table_of_text_lines_is_refused(on_spark, catalog):
    catalog("lines", "CREATE TABLE lines (v INT) USING csv OPTIONS (mode 'FAILFAST')")
    with pytest.raises(SourceError, match="lines of text"):
        on_spark("lines", PLACES)


SECRET = "CANARY7391"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("no_such_table", "Spark knows no table no_such_table"),
        ("nowhere.no.table", "Spark knows no table nowhere.no.table"),
        ("parquet.`/no/such/path`", "Spark finds no Parquet file at"),
        ("parquet.`relative/path`", "relative path"),
        ("csv.`/etc/passwd`", "Spark knows no table"),
        ("a table", "is not the name of a table"),
        ("people; DROP TABLE x", "is not the name of a table"),
    ],
)
def test_a_table_that_is_not_there_is_named_in_the_words_of_the_configuration(
    on_spark, table, message
):
    with pytest.raises(SourceError, match=message) as raised:
        on_spark(table, PLACES)
    assert raised.value.fix
    assert "[" not in str(raised.value)  # Spark's own messages begin with [KIND_OF_ERROR]


def test_a_table_that_is_not_there_is_found_before_the_charge(
    spark, project, tmp_path, log, monkeypatch
):
    @contextmanager
    def that_session(_master, _scratch):
        yield spark

    monkeypatch.setattr("synth.curator.spark.engine.spark_process", that_session)
    table = {"table": parquet(tmp_path / "nowhere"), "master": "local[2]"}
    path = project(people=None, source={"path": None, "spark": table})
    with pytest.raises(SourceError, match="Spark finds no Parquet file at parquet") as raised:
        pipeline.measure(load_config(path), log=log)
    assert "no record was read and nothing was charged" in str(raised.value)
    assert not (tmp_path / "state" / "ledger.sqlite").exists()
    assert not list((tmp_path / "state").rglob("scratch-*"))


BAD_COLUMNS = {
    "missing": ({"w": [SECRET]}, "has no column 'v'"),
    "in another case": ({"V": [SECRET]}, "has no column 'v'"),
    "bytes": ({"v": [SECRET.encode()]}, "'v' in a type that cannot be counted"),
    "lists": ({"v": [[1], [2]]}, "'v' in a type that cannot be counted"),
    "milliseconds": ({"v": pa.array([1], pa.timestamp("ms"))}, "'v' in milliseconds"),
}


@pytest.mark.parametrize("case", BAD_COLUMNS)
def test_a_column_that_cannot_be_counted_stops_before_a_record_is_read(on_spark, tmp_path, case):
    columns, message = BAD_COLUMNS[case]
    path = write(tmp_path / "t.parquet", columns)
    with pytest.raises(SourceError, match=message) as raised:
        on_spark(parquet(path), PLACES)
    assert SECRET not in str(raised.value)


def test_a_person_column_of_floats_is_refused(on_spark, tmp_path):
    path = write(tmp_path / "t.parquet", {"v": [1.0], "person": [1.0]})
    with pytest.raises(SourceError, match="does not hold 'person' as whole numbers or text"):
        on_spark(parquet(path), PLACES, UNIT)


@pytest.mark.parametrize("second", [{"w": [1]}, {"v": [1.5]}, {"v": pa.array([1], pa.int32())}])
def test_files_that_differ_in_a_column_are_refused_before_a_record_is_read(
    on_spark, tmp_path, second
):
    (tmp_path / "t").mkdir()
    write(tmp_path / "t" / "1.parquet", {"v": [1], "other": [1]})
    write(tmp_path / "t" / "2.parquet", second)
    for table in (parquet(tmp_path / "t"), parquet(tmp_path / "t" / "*.parquet")):
        with pytest.raises(SourceError, match="differ in the column 'v'"):
            on_spark(table, PLACES)


def test_a_file_with_two_names_at_the_address_is_refused_before_a_record_is_read(
    on_spark, tmp_path
):
    place = tmp_path / "years and äges"
    place.mkdir()
    write(place / "2024.parquet", {"v": [1]})
    write(place / "2023.parquet", {"v": [1]})
    assert on_spark(parquet(place), PLACES)
    (place / "latest.parquet").symlink_to("2024.parquet")
    for address in (place, place / "*.parquet"):
        with pytest.raises(SourceError, match="names one file twice"):
            on_spark(parquet(address), PLACES)


def test_a_damaged_file_stops_without_a_value(on_spark, tmp_path):
    path = write(tmp_path / "t.parquet", {"v": [SECRET] * 99}, compression="none")
    content = bytearray(path.read_bytes())
    content[4:60] = bytes(56)
    path.write_bytes(content)
    with pytest.raises(SourceError, match="Spark could not count the records of") as raised:
        on_spark(parquet(path), PLACES)
    assert SECRET not in str(raised.value)
    assert raised.value.fix
