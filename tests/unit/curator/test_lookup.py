"""Codes that are looked up: each record once, and none gathered, whatever the table says."""

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth.config import Dialect, FileSource
from synth.curator.counting.lookup import COMPARED_TEXTS, encode_records
from synth.curator.files.duckdb_engine import DuckDBEngine, duckdb_engine
from synth.domain import Attribute, Universe

LEVELS = tuple(f"level {number}" for number in range(COMPARED_TEXTS))
TOWN = Attribute("town", "categorical", levels=LEVELS, missing=("",))
WORD = Attribute("word", "categorical", levels=LEVELS, out_of_domain=LEVELS[0], missing=("none",))
ROWS = {
    "town": [LEVELS[5], None, "level 5 ", "", "elsewhere", LEVELS[5]],
    "word": [None, "none", LEVELS[63], "", "NONE", "x"],
}
CODES = [(5, 0), (64, 64), (64, 63), (64, 0), (64, 0), (5, 0)]


@pytest.fixture
def engine(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({name: pa.array(texts) for name, texts in ROWS.items()}), path)
    with duckdb_engine(FileSource(path, Dialect(), "keep", "made up"), [path], tmp_path) as opened:
        yield opened


def expression(engine: DuckDBEngine, *attributes: Attribute) -> ibis.Table:
    names = [attribute.name for attribute in attributes]
    (records,) = engine.open_records(names, person_column=None)
    return encode_records(engine, records, Universe(attributes), person=None)


def cells(engine: DuckDBEngine, *attributes: Attribute) -> list[int]:
    table = expression(engine, *attributes)
    return sorted(
        cell for batch in engine.batches(table) for cell in batch.column("word_0").to_pylist()
    )


def test_every_record_has_its_code_once(engine):
    assert cells(engine, TOWN, WORD) == sorted(65 * town + word for town, word in CODES)


def test_a_table_that_has_a_key_twice_doubles_no_record(engine, monkeypatch):
    lookup = DuckDBEngine.lookup

    def doubled(self, codes):
        table = lookup(self, codes)
        again = table.select("key", code=(table.code + 1).cast("int32"))
        return ibis.union(table, again, distinct=False)

    monkeypatch.setattr(DuckDBEngine, "lookup", doubled)
    assert cells(engine, TOWN, WORD) == sorted(65 * town + word for town, word in CODES)


def test_of_one_text_the_first_counts_as_where_texts_are_compared(engine, monkeypatch):
    twice = Attribute("town", "categorical", levels=LEVELS, missing=("", LEVELS[5]))
    looked_up = cells(engine, twice)
    monkeypatch.setattr("synth.curator.counting.lookup.COMPARED_TEXTS", 1_000)
    assert looked_up == cells(engine, twice) == [64] * 6


def test_records_pass_through_the_join_and_are_not_gathered(engine):
    """The side that a join gathers is the table of levels, though a stream looks shorter."""
    statement = ibis.to_sql(expression(engine, TOWN, WORD), dialect="duckdb")
    plan = engine.connection.sql(statement).explain()
    assert plan.count("LEFT") == 2
    assert "RIGHT" not in plan


def test_few_levels_are_compared(engine):
    few = Attribute("town", "categorical", levels=LEVELS, out_of_domain=LEVELS[0])
    statements = [ibis.to_sql(expression(engine, town), dialect="duckdb") for town in (few, TOWN)]
    assert ["JOIN" in statement for statement in statements] == [False, True]
