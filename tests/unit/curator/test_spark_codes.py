"""A Spark table and a Parquet file on DuckDB are coded alike, whatever the values are."""

import datetime
import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth.config import Dialect, FileSource, SparkSource
from synth.curator.counting import lookup
from synth.curator.files.duckdb_engine import duckdb_engine
from synth.curator.seal import quiet_libraries
from synth.curator.spark.engine import SparkEngine, translated_failures
from synth.domain import Attribute, Universe
from synth.domain.attribute import TRUTH
from synth.domain.periods import Calendar, read_period

pytestmark = pytest.mark.xdist_group("spark")

TEXTS = [
    None, "", " ", "  12 ", "12", "012", "+12", "12.", ".5", "0.5", "-0", "-0.0", "1e3", "1E+3",
    "1e400", "-1e400", "1e-400", "9" * 40, "0." + "0" * 400 + "1", "1" + "0" * 1100, "1d", "1f",
    "1e3d", "0x1p3", "1_000", "1,5", "1 2", "--1", "1e", "e1", ".", "+", "NaN", "nan", "-nan",
    "inf", "-inf", "+INF", "Infinity", "-infinity", "infinit", "\t8\n", "\x0b8\x0c\r", "\x007",
    "7\x00", "\x1f7", "\N{NO-BREAK SPACE}7", "7\N{LINE SEPARATOR}", "\N{FULLWIDTH DIGIT SEVEN}",
    "\N{ARABIC-INDIC DIGIT SEVEN}", "2024-02-30", "0001-01-01", "true", "é", "e\u0301",
    "É", "ß", "\N{GRINNING FACE}", "a'b", 'a"b', "a\\b", "a\\nb", "a\nb", "${spark.app.name}",
    "{{x}}", "%s", "a--b", "a`b", "A", "a", "a ", " a", "50", "100", "99.999999999999999",
    "100.00000000000001", "0.1", "0.30000000000000004",
]  # fmt: skip

FLOATS = [
    None, 0.0, -0.0, 1.0, 1.5, -2.0, 0.1, 0.1 + 0.2, 1e-5, 1e-3, 2e-3, 1e7, 1e15, 1e16, 123456789.5,
    2e23, 1e22, 1e300, 5e-324, 2.2250738585072014e-308, 2.0**53, 2.0**53 + 2, 2.0**63, -(2.0**63),
    2.0**63 - 1024, 1.7976931348623157e308, math.nan, math.inf, -math.inf, 9007199254740993.0,
]  # fmt: skip

EDGES = tuple(map(Fraction, ("-10", "0", "1/10", "1", "12", "100")))
EVEN = tuple(map(Fraction, (-10, -3, 4, 11, 12)))
"""Bins of one width, which a division finds."""


def number(name, out_of_domain="clamp", edges=EDGES) -> Attribute:
    return Attribute(name, "number", edges=edges, out_of_domain=out_of_domain, missing=("", "NaN"))


def levels(name, texts) -> Attribute:
    return Attribute(name, "categorical", levels=tuple(dict.fromkeys(texts)), missing=("",))


def float_texts() -> list[str]:
    written = [repr(value) for value in FLOATS if value is not None]
    wholes = [str(int(v)) for v in FLOATS if v is not None and math.isfinite(v) and v == int(v)]
    return [*written, *(w for w in wholes if len(w) < 25), "1.50", "1E-5", "1.0E-5", "0", "-0",
            "9007199254740993", "NaN", "Infinity", "1e5", "+1", "01", "100000", " 1.5"]  # fmt: skip


def moments(resolution, first, last, zone="UTC", written="", rule="missing") -> Attribute:
    edges = [read_period(text, resolution) for text in (first, last)]
    return Attribute(
        "v", "datetime", edges=(*map(Fraction, range(edges[0], edges[1] + 1)), Fraction(edges[1])),
        missing=("", "9999-12-31"), out_of_domain=rule,
        calendar=Calendar(resolution, written, zone),
    )  # fmt: skip


def instants(zone=None) -> list:
    naive = [
        datetime.datetime(2020, 3, 29, 0, 59, 59, 999_999), datetime.datetime(2020, 3, 29, 1),
        datetime.datetime(1969, 12, 31, 23, 59, 59, 500_000), datetime.datetime(1, 1, 1),
        datetime.datetime(9999, 12, 31, 23, 59, 59), datetime.datetime(9999, 12, 31),
        datetime.datetime(2024, 2, 29, 23, 30), datetime.datetime(1582, 10, 10),
    ]  # fmt: skip
    return [None, *(each.replace(tzinfo=zone) for each in naive)]


MOMENTS = [
    *TEXTS, "2024-02-29", "2023-02-29", "1900-02-29", "2024-02-29T12:30:59.5+02:00",
    "2024-02-29T23:30Z", "2020-03-29T01:00:00Z", "2020-03-29 02:30", "9999-12-31", "0000-01-01",
    "2024-02-29\n", "2024-02-29|", " 2024-02-29", "2024-02-29T24:00", "20240229", "infinity",
    "2024-02-29\x00", "2024-02-29\u2028", "2024-02-29\r\n", "2024-Q1", "2024-02", "2024",
    "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "10000-01-01", "29.2.2024", "1.1.24",
]  # fmt: skip


def truth(name) -> Attribute:
    texts = (("false", "0", "nein"), ("true", "1", "ja"))
    return Attribute(name, "boolean", levels=TRUTH, spellings=texts, missing=("", "-1"))


CASES = {
    "text as numbers": (TEXTS, pa.string(), number("v")),
    "doubles in bins of one width": (FLOATS, pa.float64(), number("v", edges=EVEN)),
    "whole numbers in bins of one width": (
        [None, -11, -10, -4, -3, 11, 12, 13, 2**63 - 1, -(2**63), 2**53 + 1],
        pa.int64(),
        number("v", "missing", edges=EVEN),
    ),
    "text as levels": (TEXTS, pa.string(), levels("v", [t for t in TEXTS if t][::2])),
    "bytes that are no UTF-8": (
        [b"a", b"\xff", b"a\xc3", b"\xed\xa0\x80", b"\xf0\x9f\x98", "é".encode()],
        "bytes as text",
        levels("v", ["a", "\ufffd", "a\ufffd", "é", "\ufffd\ufffd\ufffd"]),
    ),
    "doubles as numbers": (FLOATS, pa.float64(), number("v")),
    "doubles as numbers, out of the domain": (FLOATS, pa.float64(), number("v", "missing")),
    "doubles as levels": (FLOATS, pa.float64(), levels("v", float_texts())),
    "floats as levels": (
        [None, 0.5, 0.1, 1.0, -0.0, 16777217.0, math.nan, math.inf],
        pa.float32(),
        levels("v", ["0.5", "0.1", "0.10000000149011612", "1", "1.0", "0", "16777216", "nan"]),
    ),
    "whole numbers as numbers": (
        [None, 0, -1, 5, 100, 101, 2**63 - 1, -(2**63), 2**53 + 1], pa.int64(), number("v"),
    ),
    "whole numbers as levels": (
        [None, 0, 1, -1, 10, 2**63 - 1, -(2**63)], pa.int64(),
        levels("v", ["0", "-0", "01", "1", "+1", "1.0", "-1", str(2**63 - 1), str(2**63)]),
    ),
    "small whole numbers": ([None, 0, 1, -128, 127], pa.int8(), levels("v", ["1", "-128"])),
    "unsigned": ([None, 0, 2**64 - 1], pa.uint64(), levels("v", ["0", str(2**64 - 1)])),
    "unsigned 32 bits": ([None, 0, 2**32 - 1], pa.uint32(), levels("v", ["0", str(2**32 - 1)])),
    "decimals as levels": (
        [None, *map(Decimal, ("1.50", "0", "-0.01", "123456789.12"))], pa.decimal128(30, 10),
        levels("v", ["1.5000000000", "1.5", "0", "0.0000000000", "0E-10", "-0.0100000000"]),
    ),
    "decimals as numbers": (
        [None, *map(Decimal, ("1.5", "0", "-0.01", "99999999999.12"))], pa.decimal128(30, 2),
        number("v"),
    ),
    "wide decimals": (
        [None, Decimal(1), Decimal(10) ** 37], pa.decimal128(38, 0),
        levels("v", ["1", "1" + "0" * 37, "1E+37"]),
    ),
    "dates": (
        [None, *(datetime.date(*day) for day in ((2024, 2, 29), (1, 1, 1), (1500, 2, 28)))],
        pa.date32(), levels("v", ["2024-02-29", "0001-01-01", "1500-02-28", "1-1-1"]),
    ),
    "truth values": ([None, True, False], pa.bool_(), levels("v", ["true", "True", "0", "false"])),
    "texts as hours in Berlin": (
        MOMENTS, pa.string(),
        moments("hour", "2020-03-28T00:00:00", "2020-03-30T00:00:00", "Europe/Berlin", "", "clamp"),
    ),
    "texts as quarters": (MOMENTS, pa.string(), moments("quarter", "1900-Q1", "2024-Q4")),
    "texts as weeks": (MOMENTS, pa.string(), moments("week", "2020-03-23", "2024-02-26")),
    "texts in a format": (
        MOMENTS, pa.string(), moments("month", "2020-01", "2024-12", written="%d.%m.%Y"),
    ),
    "floats in a format": (
        [*FLOATS, 20240229.0, 20230229.0], pa.float64(),
        moments("day", "2020-01-01", "2024-12-31", written="%Y%m%d", rule="clamp"),
    ),
    "dates as days": (
        [None, *(datetime.date(*day) for day in ((2024, 2, 29), (1, 1, 1), (9999, 12, 31)))],
        pa.date32(), moments("day", "2020-01-01", "2024-12-31"),
    ),
    "timestamps as hours": (
        instants(), pa.timestamp("us"),
        moments("hour", "2020-03-28T22:00:00", "2020-03-29T05:00:00", "Europe/Berlin"),
    ),
    "instants as hours": (
        instants(datetime.UTC), pa.timestamp("us", "UTC"),
        moments("hour", "2020-03-28T22:00:00", "2020-03-29T05:00:00", "Europe/Berlin"),
    ),
    "instants as months": (
        instants(datetime.UTC), pa.timestamp("us", "UTC"),
        moments("month", "1969-12", "2024-03", "Europe/Berlin", "", "clamp"),
    ),
    "truth values as such": ([None, True, False], pa.bool_(), truth("v")),
    "texts as truth values": ([*TEXTS, "1", "0", "ja", "Ja", "nein"], pa.string(), truth("v")),
    "whole numbers as truth values": ([None, 0, 1, -1, 2, 10], pa.int16(), truth("v")),
    "floats as truth values": ([None, 0.0, 1.0, -1.0, 0.5, math.nan], pa.float64(), truth("v")),
    "nothing but nulls": ([None, None], pa.null(), levels("v", ["None", "null"])),
}  # fmt: skip


def case_column(case) -> pa.Array:
    values, kind, _ = CASES[case]
    if kind == "bytes as text":
        return pa.array(values, pa.binary()).view(pa.string())
    return pa.array(values, kind)


def coded(engine, attributes) -> list[dict[str, int]]:
    """The codes of all columns of each record, in the order of column `id`."""
    (records,) = engine.open_records([*attributes, "id"], person_column=None)
    universe = Universe(tuple(attributes.values()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lookup, "COMPARED_TEXTS", 1_000)
        table = lookup.record_codes(engine, records, universe, {"id": records.table.id})
    codes = {name: table[f"code_{number}"].cast("int64") for number, name in enumerate(attributes)}
    expression = table.select(table.id, **codes).order_by("id")
    return [row for batch in engine.batches(expression) for row in batch.to_pylist()]


LOOKED_UP = (
    "text as levels", "bytes that are no UTF-8", "doubles as levels", "floats as levels",
    "whole numbers as levels", "dates",
)  # fmt: skip


def looked_up(engine, attributes) -> list[dict[str, int]]:
    """The codes of some columns of each record, all found by a join, in the order of `id`."""
    universe = Universe(tuple(attributes[name] for name in LOOKED_UP))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lookup, "COMPARED_TEXTS", 0)
        (records,) = engine.open_records([*LOOKED_UP, "id"], person_column="id")
        table = lookup.encode_records(engine, records, universe, person="id")
    found = {
        int(row["person"]): dict(zip(LOOKED_UP, universe.codes(row["word_0"]), strict=True))
        for batch in engine.batches(table.mutate(person=table.person.cast("int64")))
        for row in batch.to_pylist()
    }
    return [found[number] for number in sorted(found)]


@pytest.fixture(scope="module")
def codes(spark, tmp_path_factory):
    """The codes of every case as Spark and as DuckDB say; one query each, because each is slow."""
    directory = tmp_path_factory.mktemp("cases")
    rows = max(len(values) for values, _, _ in CASES.values())
    columns = {"id": pa.array(range(rows), pa.int64())}
    for case in CASES:
        column = case_column(case)
        columns[case] = pa.concat_arrays([column, pa.nulls(rows - len(column), column.type)])
    path = directory / "cases.parquet"
    pq.write_table(pa.table(columns), path)
    attributes = {case: replace(attribute, name=case) for case, (*_, attribute) in CASES.items()}
    with quiet_libraries():
        source = SparkSource(f"parquet.`{path}`", "local[2]", "keep", "made up")
        with translated_failures(source.shown, spark.process):
            ours = coded(SparkEngine(spark.session, source), attributes)
            joined = looked_up(SparkEngine(spark.session, source), attributes)
        source = FileSource(path, Dialect(), "keep", "made up")
        with duckdb_engine(source, [path], directory) as engine:
            theirs = coded(engine, attributes)
    return ours, theirs, joined


@pytest.mark.parametrize("case", CASES)
def test_awkward_values_have_the_same_codes_as_on_duckdb(codes, case):
    ours, theirs, _ = codes
    values, _, attribute = CASES[case]
    found = [(value, row[case]) for value, row in zip(values, ours, strict=False)]
    assert found == [(value, row[case]) for value, row in zip(values, theirs, strict=False)]
    assert len(ours) == len(theirs) >= len(values)
    assert all(0 <= row[case] < attribute.size for row in ours)


@pytest.mark.parametrize("case", LOOKED_UP)
def test_codes_that_are_looked_up_are_those_of_comparisons(codes, case):
    _, theirs, joined = codes
    assert [row[case] for row in joined] == [row[case] for row in theirs]


def test_texts_that_look_like_syntax_are_taken_as_they_are(codes):
    ours, _, _ = codes
    values, _, attribute = CASES["text as levels"]
    for value, row in zip(values, ours, strict=False):
        known = {level: code for code, level in enumerate(attribute.levels)}
        assert row["text as levels"] == known.get(value or "", attribute.missing_code)
