"""Encoding against the slow definition, value by value."""

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial

import ibis
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.config import PersonUnit
from synth.curator.counting.encode import (
    _divides,
    bound_contributions,
    encode_attribute,
    encode_words,
    is_float,
    split_into_words,
)
from synth.curator.engine import Records
from synth.curator.files.duckdb_engine import as_number
from synth.domain import Attribute, Universe

AGE = Attribute(
    "age", "integer", edges=tuple(map(Fraction, (0, 18, 65, 99))), out_of_domain="clamp"
)
AGE_OR_MISSING = Attribute(
    "age", "integer", edges=tuple(map(Fraction, (0, 18, 65, 99))), missing=("", "NA"),
    out_of_domain="missing",
)  # fmt: skip
GAIN = Attribute(
    "gain", "number", edges=(Fraction(-1), Fraction(1, 10), Fraction(5)), missing=("x",),
    out_of_domain="clamp",
)  # fmt: skip
DECADE = Attribute(
    "decade",
    "integer",
    edges=tuple(map(Fraction, (-20, -10, 0, 10, 20, 27))),
    out_of_domain="clamp",
)
SINGLE = Attribute(
    "single", "integer", edges=tuple(map(Fraction, (1, 2, 3, 3))), out_of_domain="clamp"
)
SEX = Attribute("sex", "categorical", levels=("Female", "Male"), missing=("?",))
TOWN = Attribute("town", "categorical", levels=("Nord", "Süd"), out_of_domain="Nord")
PLACE = Attribute(
    "place", "categorical", levels=("Nord", "Süd", "abc"), missing=("?", "NA"), out_of_domain="abc"
)
"""What is missing, what is first and what is unknown have codes of their own."""


def records(table: ibis.Table) -> Records:
    return Records(table, partial(as_number, table))


def encoded(attribute: Attribute, texts: list[str | None]) -> list[int]:
    table = ibis.memtable(pa.table({attribute.name: pa.array(texts, pa.string())}))
    code = encode_attribute(records(table), attribute)
    return list(table.select(code=code).to_pyarrow().column("code").to_pylist())


def encoded_by_all(attributes: tuple[Attribute, ...], texts: list[str]) -> list[list[int]]:
    """The codes of the texts under every attribute, by one query."""
    columns = {str(number): pa.array(texts, pa.string()) for number in range(len(attributes))}
    table = ibis.memtable(pa.table(columns))
    named = [replace(each, name=str(number)) for number, each in enumerate(attributes)]
    codes = table.select(**{each.name: encode_attribute(records(table), each) for each in named})
    return [column.to_pylist() for column in codes.to_pyarrow().columns]


def words_of(table: ibis.Table, universe: Universe) -> dict[str, ibis.Value]:
    codes = {each.name: encode_attribute(records(table), each) for each in universe.attributes}
    return encode_words(codes, universe)


def slow_code(attribute: Attribute, text: str | None) -> int:
    """The definition, one value at a time."""
    text = text or ""
    if text in attribute.missing:
        return attribute.missing_code
    if not attribute.is_ordered:
        if text in attribute.levels:
            return attribute.levels.index(text)
        return attribute.labels.index(attribute.out_of_domain)
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        return attribute.unreadable_code
    low, high = attribute.edges[0], attribute.edges[-1]
    if not low <= number <= high:
        if attribute.out_of_domain != "clamp":
            return attribute.labels.index(attribute.out_of_domain)
        return 0 if number < low else attribute.bin_count - 1
    for code in range(attribute.bin_count - 1):
        if number < float(attribute.edges[code + 1]):
            return code
    return attribute.bin_count - 1


VALUES = [
    "0", "17", "17.9", "18", "64", "65", "98", "99", "99.5", "-1", "1000", "1e3", "-1e300", "inf",
    "-inf", "nan", "NaN", "", "NA", "x", "abc", "0.1", "0.09999", "5", "5.0001", "Female", "Male",
    "male", "Süd", "Nord", "?", "'; drop table people; --", "9" * 400, "\x00", None,
]  # fmt: skip


@pytest.mark.parametrize(
    "attribute",
    [AGE, AGE_OR_MISSING, GAIN, DECADE, SINGLE, SEX, TOWN, PLACE],
    ids=lambda a: a.name,
)
def test_every_value_gets_the_code_of_the_definition(attribute):
    assert encoded(attribute, VALUES) == [slow_code(attribute, text) for text in VALUES]


@given(st.lists(st.text(max_size=8) | st.floats().map(str) | st.integers().map(str), min_size=1))
@settings(max_examples=20, deadline=None)
def test_any_text_gets_a_code_inside_the_domain(texts):
    attributes = (AGE, AGE_OR_MISSING, GAIN, SEX, TOWN)
    for attribute, codes in zip(attributes, encoded_by_all(attributes, texts), strict=True):
        assert all(0 <= code < attribute.size for code in codes)


@given(
    st.integers(-(2**51), 2**51 - 300 * 2**42),
    st.integers(1, 2**42),
    st.integers(2, 300),
    st.data(),
)
@settings(max_examples=30)
def test_bins_of_one_width_hold_what_their_edges_say(low, width, bins, data):
    """One division finds them, for numbers on, just below and just above an edge too."""
    high = low + (bins - 1) * width + data.draw(st.integers(0, width))
    edges = (*(low + number * width for number in range(bins)), high)
    attribute = Attribute("v", "number", edges=tuple(map(Fraction, edges)), out_of_domain="clamp")
    assert _divides(attribute.edges)
    chosen = [float(edge) for edge in data.draw(st.lists(st.sampled_from(edges), min_size=1))]
    near = [math.nextafter(edge, side) for edge in chosen for side in (-math.inf, math.inf)]
    within = data.draw(st.lists(st.floats(float(low), float(high)), max_size=20))
    texts = [repr(value) for value in (*chosen, *near, *within)]
    assert encoded(attribute, texts) == [slow_code(attribute, text) for text in texts]


def test_numeric_parquet_columns_are_binned_like_text():
    table = ibis.memtable(pa.table({"gain": [0.05, 0.1, 4.9, math.nan, math.inf, None]}))
    code = encode_attribute(records(table), GAIN)
    codes = table.select(code=code).to_pyarrow().column("code").to_pylist()
    assert codes == [0, 1, 1, 2, 1, 2]


def test_whole_floats_are_written_like_whole_numbers():
    levels = Attribute("v", "categorical", levels=("1", "1.5", "-2"), missing=("",))
    table = ibis.memtable(pa.table({"v": [1.0, 1.5, -2.0, None, math.nan, math.inf, 1e300]}))
    code = encode_attribute(records(table), levels)
    codes = table.select(code=code).to_pyarrow().column("code").to_pylist()
    assert codes == [0, 1, 2, 3, 3, 3, 3]


@given(st.floats())
def test_a_float_is_written_in_one_way(value):
    is_int64 = value.is_integer() and -(2**63) <= int(value) < 2**63
    spelled = str(int(value)) if is_int64 else repr(value)
    assert is_float(spelled)
    assert not any(is_float(other) for other in (f" {spelled}", f"+{spelled}", f"0{spelled}"))
    assert not is_float("")


def test_codes_are_narrow_numbers_that_are_widened_before_they_are_multiplied():
    """Otherwise an engine whose small constants have 32 bits would overflow, or stop."""
    edges = tuple(map(Fraction, range(4)))
    wide = [Attribute(name, "number", edges=edges, missing=("",)) for name in "abc"]
    table = ibis.table(dict.fromkeys("abc", "float64"), name="records")
    for dialect in ("duckdb", "postgres", "pyspark"):
        words = words_of(table, Universe(tuple(wide)))
        sql = getattr(ibis, dialect).compile(table.select(**words))
        assert sql.count("AS BIGINT) * ") == 3


def test_cells_are_mixed_radix_with_the_last_attribute_fastest():
    universe = Universe((AGE, SEX))
    table = ibis.memtable(pa.table({"age": ["20", "70", "0"], "sex": ["Male", "?", "Female"]}))
    cell = words_of(table, universe)
    cells = table.select(**cell).to_pyarrow().column("word_0").to_pylist()
    assert cells == [universe.cell((1, 1)), universe.cell((2, 2)), universe.cell((0, 0))]


def kept(records: list[tuple[str | None, int]], max_records: int) -> list[tuple[str, int]]:
    people = pa.array([person for person, _ in records], pa.string())
    cells = pa.array([cell for _, cell in records], pa.int64())
    table = ibis.memtable(pa.table({"person": people, "word_0": cells}))
    bounded = bound_contributions(table, PersonUnit("person", max_records)).to_pyarrow()
    people, cells = bounded.column("person").to_pylist(), bounded.column("word_0").to_pylist()
    return sorted(zip(people, cells, strict=True))


PEOPLE = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c", "", None]), st.integers(0, 3)), max_size=25
)


@given(PEOPLE, st.integers(1, 3), st.sampled_from(["a", "b", "c", "", None]))
@settings(max_examples=20, deadline=None)
def test_a_person_counts_at_most_max_records_and_touches_nobody_else(records, max_records, person):
    with_person = kept(records, max_records)
    without = kept([r for r in records if r[0] != person], max_records)
    own = [r for r in with_person if r[0] == person]
    assert len(own) == (min(max_records, sum(r[0] == person for r in records)) if person else 0)
    assert [r for r in with_person if r[0] != person] == without


def test_the_order_of_records_does_not_matter():
    records = [("a", 3), ("a", 1), ("b", 2), ("a", 2), ("a", 1)]
    assert kept(records, 2) == kept(records[::-1], 2)


def test_a_column_of_one_code_before_63_binary_ones_has_a_stride_that_engines_know():
    """The others take all 63 bits of a word; its code is 0 wherever it stands."""
    binary = [Attribute(f"c{number}", "categorical", ("0", "1")) for number in range(63)]
    words = split_into_words(Universe((Attribute("one", "categorical", ("x",)), *binary)))
    assert [len(word.names) for word in words] == [64]
    assert max(words[0].strides) == 2**62
