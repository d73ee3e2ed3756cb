"""Codes of texts that are stored once are those of comparing every record."""

from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth.config import Dialect, FileSource
from synth.curator.counting.lookup import codes_of_texts, encode_records
from synth.curator.files.duckdb_engine import duckdb_engine
from synth.domain import Attribute, Universe

LEVELS = tuple(f"level {number}" for number in range(100))
ATTRIBUTES = (
    Attribute("town", "categorical", levels=("Nord", "Süd", "x"), out_of_domain="Süd"),
    Attribute("sex", "categorical", levels=("f", "m"), missing=("", "m", "?")),
    Attribute("word", "categorical", levels=LEVELS, missing=("none",)),
    Attribute("empty", "categorical", levels=("a", ""), out_of_domain="a"),
)
AGE = Attribute("age", "integer", edges=(Fraction(0), Fraction(9)), out_of_domain="clamp")
VALUES = ["Nord", "Süd", "Su\u0308d", "x", "x ", "x\0", "", None, "m", "M", "?", *LEVELS[::9], "0"]
CODED, COMPARED = codes_of_texts(Universe((*ATTRIBUTES, AGE))), None


def slow_code(attribute, text):
    text = text or ""
    if text in attribute.missing:
        return attribute.missing_code
    if text in attribute.levels:
        return attribute.levels.index(text)
    return attribute.labels.index(attribute.out_of_domain)


@pytest.fixture
def engine_on(tmp_path):
    def opened(columns, codes):
        path = tmp_path / "rows.parquet"
        pq.write_table(pa.table(columns), path)
        return duckdb_engine(
            FileSource(path, Dialect(), "keep", "made up"), [path], tmp_path, codes
        )

    return opened


def cells(engine, *attributes, person=None):
    names = list(
        dict.fromkeys([*(each.name for each in attributes), *([person] if person else [])])
    )
    (records,) = engine.open_records(names, person_column=person)
    table = encode_records(engine, records, Universe(attributes), person=person)
    rows = [row for batch in engine.batches(table) for row in batch.to_pylist()]
    return records.coded, rows


@pytest.mark.parametrize("attribute", ATTRIBUTES, ids=lambda attribute: attribute.name)
@pytest.mark.parametrize(
    "values",
    [
        pa.array(VALUES),
        pa.array(VALUES[::-1]).dictionary_encode(),
        pa.array([], pa.string()),
        pa.array([None, None], pa.string()),
    ],
    ids=["plain", "dictionary", "no records", "nulls"],
)
def test_every_value_has_the_code_of_its_text(engine_on, attribute, values):
    with engine_on({attribute.name: values}, CODED) as engine:
        coded, rows = cells(engine, attribute)
    assert coded == {attribute.name}
    assert sorted(row["word_0"] for row in rows) == sorted(
        slow_code(attribute, value) for value in values.to_pylist()
    )


def test_a_null_may_stand_in_the_dictionary_too():
    values = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2]), pa.array([None, "x", "m"]))
    for attribute in ATTRIBUTES:
        found = CODED[attribute.name].of(values).to_pylist()
        assert found == [slow_code(attribute, text) for text in (None, "x", None, "m")]


def test_a_text_that_is_no_utf_8_is_one_like_any_other(engine_on):
    raw = pa.array([b"Nord", b"\xff", b"S\xfcd"], pa.binary())
    broken = pa.Array.from_buffers(pa.string(), 3, raw.buffers())
    found = {}
    for codes in (CODED, COMPARED):
        with engine_on({"town": broken}, codes) as engine:
            found[codes is None] = sorted(row["word_0"] for row in cells(engine, ATTRIBUTES[0])[1])
    assert found[True] == found[False] == [0, 1, 1]


def test_numbers_are_compared_and_persons_keep_their_text(engine_on):
    sex, town = ATTRIBUTES[1], ATTRIBUTES[0]
    columns = {"town": ["x", "Nord"], "sex": ["f", "m"], "age": ["3", "eight"]}
    with engine_on(columns, CODED) as engine:
        coded, rows = cells(engine, town, sex, AGE, person="town")
    assert coded == {"sex"}
    assert {row["person"]: row["word_0"] for row in rows} == {"x": 6, "Nord": 2}


def test_words_beyond_32_bits_do_not_overflow(engine_on):
    wide = tuple(Attribute(f"c{n}", "categorical", LEVELS, missing=("",)) for n in range(9))
    columns = {each.name: ["", LEVELS[1]] for each in wide}
    with engine_on(columns, codes_of_texts(Universe(wide))) as engine:
        _, rows = cells(engine, *wide)
    assert {row["word_0"] for row in rows} == {
        sum(code * 101**place for place in range(9)) for code in (1, 100)
    }
