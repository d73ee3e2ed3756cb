"""The same records give the same counts, cell for cell, in CSV, in Parquet and in PostgreSQL."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import date
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from synth.config import load_config
from synth.curator.counting import lookup
from synth.domain import Attribute, Universe

from .conftest import counts_of, filled_cells_of, write_csv, write_parquet

NUMBERS = [
    "0", "-0", "1", "-1", "+1", " 1", "1 ", "\t1\n", "\v1\f", "1.", ".5", "-.5", ".", "+", "-", "",
    "e5", "1e", "1e5", "1E5", "1e+5", "1e-5", "1e5.5", "1_000", "1,5", "1 0", "0x10", "0b1", "1d",
    "1f", "inf", "-inf", "+Infinity", "iNfInItY", "infinit", "nan", "NaN", "-nan", "1e400",
    "-1e400", "1e-400", "-1e-400", "1e99999", "-1e99999", "0e99999", "1e-99999", "1e400000000000",
    "9" * 309, "9" * 400, "-" + "9" * 400, "1" * 1000, "1" * 1001, "0." + "0" * 990 + "1e10005",
    "." + "0" * 400 + "1e401", str(2**1024 - 2**970), str(2**1024 - 2**970 - 1),
    "2.4703282292062327e-324", "2.4703282292062328e-324", "4.9e-324", "1e308", "1.8e308",
    "9007199254740993", "0.1", "0.10000000000000001", "0.09999999999999999", "٥", "５", "\xa01",
    "5\x1c", "\x851", "null", "NULL", "''", "'", '"', "\\", "\\1", "1\\", "%s", "{}", "$1", "--",
    "1e00000000000000000005", "000000001", "- 1", "1-", "(1)", "1e5e5", "..1", "1..", "Süd", "süd",
    "Süd ", "Nord", "nord", "Nord\x00"[:4], "it's", "a\\b", "a\nb", "Ａ", "𝔸", "e\u0301", "é",
]  # fmt: skip
EDGES = ["-1e15", "-1000", "-1", "0", "0.1", "1", "5", "1000", "1e15"]

DOMAIN = [
    {
        "name": "number", "type": "number", "edges": EDGES, "missing": ["", "NaN"],
        "out_of_domain": "clamp", "source": "test",
    },
    {
        "name": "word", "type": "categorical", "missing": [""], "out_of_domain": "missing",
        "levels": ["Nord", "Süd", "it's", "a\\b", "'", '"', "1", "-1", "é", "%s"], "source": "test",
    },
]  # fmt: skip

TEXT = st.one_of(
    st.sampled_from(NUMBERS),
    st.text(alphabet="0123456789+-.eE_ \tinfa", max_size=9),
    st.text(alphabet=st.characters(blacklist_categories=["Cs"], blacklist_characters="\x00"),
            max_size=6),
    st.floats().map(repr),
    st.none(),
)  # fmt: skip


def on_every_engine(
    project, tmp_path, server, *, domain, kinds, rows,
    as_csv=None, looked_up=True, count=counts_of, **changes,
):  # fmt: skip
    """What `count` finds of the same rows by source; `kinds` gives each column's two types.

    With `looked_up` once more by source, with joins instead of comparisons for all columns.
    """
    write_csv(tmp_path / "rows.csv", list(kinds), rows if as_csv is None else as_csv)
    write_parquet(tmp_path / "rows.parquet", {n: pair[0] for n, pair in kinds.items()}, rows)
    server.fill("equal_rows", {name: pair[1] for name, pair in kinds.items()}, rows)
    places = {
        "csv": {"path": "rows.csv"},
        "parquet": {"path": "rows.parquet"},
        "postgres": {"path": None, "url": server.url(), "table": "public.equal_rows"},
    }
    counts = {}
    for name, place in places.items():
        path = project(people=None, source=place, domain=domain, **changes)
        counts[name] = count(path)
        if looked_up:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(lookup, "COMPARED_TEXTS", 0)
                counts[f"{name}, looked up"] = count(path)
    return counts


def require_equal(counts, records):
    first = counts["csv"]
    assert first.sum() == records
    for name, other in counts.items():
        assert np.array_equal(first, other), name


def test_awkward_text(project, tmp_path, server):
    rows = [(value, value) for value in [*NUMBERS, None]]
    kinds = {"number": (pa.string(), "text"), "word": (pa.string(), "varchar")}
    counts = on_every_engine(
        project, tmp_path, server, domain=DOMAIN, kinds=kinds, rows=rows
    )  # fmt: skip
    require_equal(counts, len(rows))
    assert np.count_nonzero(counts["csv"]) > 15


@given(rows=st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=100))
@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text(project, tmp_path, server, rows):
    kinds = {"number": (pa.string(), "text"), "word": (pa.string(), "varchar")}
    counts = on_every_engine(
        project, tmp_path, server, domain=DOMAIN, kinds=kinds, rows=rows, looked_up=False
    )
    require_equal(counts, len(rows))


FLOATS = [
    0.0, -0.0, 1.0, -1.0, 0.1, 0.5, 1.5, 5.0, 1e5, 1e15, 1e16, 1e17, 2.0**53, 2.0**63, -(2.0**63),
    2.0**63 - 1024, 1e300, -1e300, 1e-5, 1e-4, 5e-324, 1.7976931348623157e308, math.inf, -math.inf,
    math.nan, None, 123456.789, 0.30000000000000004, 1e22, 1e21,
]  # fmt: skip


def as_text(value):
    """A float as a CSV file has it: whole numbers without point."""
    if value is None or not math.isfinite(value):
        return "" if value is None else repr(value)
    return str(int(value)) if value == int(value) and -(2**63) <= value < 2**63 else repr(value)


def test_floats_and_whole_numbers(project, tmp_path, server):
    whole = [0, 1, -1, 5, 7, None, 2**63 - 1, -(2**63), 2**53 + 1, 1000, 999]
    rows = [(f, whole[i % len(whole)], f, f) for i, f in enumerate(FLOATS)]
    domain = [
        {**DOMAIN[0]},
        {
            "name": "whole", "type": "categorical", "out_of_domain": "other", "missing": [""],
            "levels": ["0", "1", "-1", "5", "07", "7.0", "9223372036854775807", "other"],
            "source": "test",
        },
        {
            "name": "word", "type": "categorical", "out_of_domain": "other", "source": "test",
            "levels": ["0", "1", "1.0", "0.1", "0.5", "100000", "123456.789", "1e-05", "inf",
                       "0.30000000000000004", "9223372036854774784", "other"],
        },
        {**DOMAIN[0], "name": "even", "edges": ["-1", "1", "3", "5"], "missing": ["", "NaN"]},
    ]  # fmt: skip
    kinds = {
        "number": (pa.float64(), "double precision"),
        "whole": (pa.int64(), "bigint"),
        "word": (pa.float64(), "float8"),
        "even": (pa.float64(), "double precision"),
    }
    counts = on_every_engine(
        project, tmp_path, server, domain=domain, kinds=kinds, rows=rows,
        as_csv=[(as_text(a), b, as_text(c), as_text(d)) for a, b, c, d in rows],
    )  # fmt: skip
    require_equal(counts, len(rows))


def test_decimals_dates_booleans(project, tmp_path, server):
    decimals = [
        Decimal("0.00"), Decimal("0.10"), Decimal("-1.00"), Decimal("4.99"), Decimal("5.00"), None,
        Decimal("99999999999999999999.99"), Decimal("-1000.01"),
    ]  # fmt: skip
    dates = [date(2020, 1, 1), date(1, 1, 1), date(9999, 12, 31), None]
    rows = [(d, dates[i % 4], i % 3 == 0) for i, d in enumerate(decimals)]
    domain = [
        DOMAIN[0],
        {
            "name": "day", "type": "categorical", "missing": [""], "out_of_domain": "missing",
            "levels": ["2020-01-01", "9999-12-31", "0001-01-01"], "source": "test",
        },
        {
            "name": "flag", "type": "categorical", "levels": ["true", "false", "t"],
            "out_of_domain": "t", "source": "test",
        },
    ]  # fmt: skip
    kinds = {
        "number": (pa.decimal128(22, 2), "numeric(22, 2)"),
        "day": (pa.date32(), "date"),
        "flag": (pa.bool_(), "boolean"),
    }
    counts = on_every_engine(
        project, tmp_path, server, domain=domain, kinds=kinds, rows=rows,
        as_csv=[(a, b, str(c).lower()) for a, b, c in rows],
    )  # fmt: skip
    require_equal(counts, len(rows))


NASTY_NUMERICS = [
    "NaN", "Infinity", "-Infinity", "1e2000", "-1e2000", "1e-2000", "-1e-2000", "1e131000", "0",
    "1e-16383", "4.9e-324", "0." + "1" * 1200, "1.7976931348623158e308", "179769313486231580e300",
]  # fmt: skip


def test_exact_decimals_that_no_float_holds_stop_nothing(project, tmp_path, server):
    """Each is counted where its text would be, which is how a CSV file has it."""
    server.fill("nasty", {"number": "numeric", "word": "text"}, [(n, "x") for n in NASTY_NUMERICS])
    texts = [text for (text,) in server.execute("SELECT number::text FROM nasty")]
    write_csv(tmp_path / "nasty.csv", ["number", "word"], [(text, "x") for text in texts])
    table = {"path": None, "url": server.url(), "table": "nasty"}
    in_database = counts_of(project(people=None, source=table, domain=DOMAIN))
    in_file = counts_of(project(people=None, source={"path": "nasty.csv"}, domain=DOMAIN))
    assert in_database.sum() == len(NASTY_NUMERICS)
    assert np.array_equal(in_database, in_file)


@pytest.mark.parametrize("kind", ["text", "bigint"])
def test_bounded_contributions_keep_the_same_records(project, tmp_path, server, kind):
    rng = np.random.default_rng(7)
    ids = ["1", "2", "3", "-4", "5", None] if kind == "bigint" else ["a", "Ü", "aü", "", None, "b "]
    rows = [
        (ids[rng.integers(6)], str(rng.integers(-3, 9)), ["Nord", "Süd", None][rng.integers(3)])
        for _ in range(300)
    ]
    if kind == "bigint":
        rows = [(None if p is None else int(p), n, w) for p, n, w in rows]
    kinds = {
        "person": (pa.int64() if kind == "bigint" else pa.string(), kind),
        "number": (pa.string(), "text"),
        "word": (pa.string(), "text"),
    }
    unit = {"unit": {"column": "person", "max_records": 7}}
    counts = on_every_engine(
        project, tmp_path, server, domain=DOMAIN, kinds=kinds, rows=rows, privacy=unit
    )
    require_equal(counts, 7 * (5 if kind == "bigint" else 4))


def test_columns_of_many_levels(project, tmp_path, server):
    """Beyond the limit of comparisons, with a universe that only its filled cells are kept of."""
    levels = [f"Town {number}'s \\ é %s {{}}" for number in range(500)]
    names = ["home", "work", "number"]
    domain = [
        {"name": name, "type": "categorical", "levels": [*levels], "missing": ["", "?"],
         "out_of_domain": levels[7], "source": "test"}
        for name in names[:2]
    ] + [
        {"name": "number", "type": "categorical", "levels": list(map(str, range(1, 301))),
         "missing": [""], "out_of_domain": "missing", "source": "test"}
    ]  # fmt: skip
    generator = np.random.default_rng(3)
    drawn = generator.integers(0, 500, (1_500, 3)).tolist()
    awkward = [*levels, "?", "", None, "Town 1", f"{levels[1]} ", levels[2].upper(), "e\u0301"]
    rows = [
        (awkward[-(home % 7)] if home % 3 == 0 else levels[home], levels[work], number or None)
        for home, work, number in drawn
    ]

    def code(text):
        return 500 if text in ("?", "", None) else {t: c for c, t in enumerate(levels)}.get(text, 7)

    expected: dict[tuple[int, ...], int] = {}
    for home, work, number in rows:
        cell = (code(home), code(work), number - 1 if number and number <= 300 else 300)
        expected[cell] = expected.get(cell, 0) + 1
    kinds = {"home": "text", "work": "varchar", "number": "integer"}
    write_csv(tmp_path / "many.csv", names, rows)
    types = {"home": pa.string(), "work": pa.string(), "number": pa.int16()}
    write_parquet(tmp_path / "many.parquet", types, rows)
    server.fill("many", kinds, rows)
    for place in (
        {"path": "many.csv"},
        {"path": "many.parquet"},
        {"path": None, "url": server.url(), "table": "many"},
    ):
        path = project(people=None, source=place, domain=domain, workload={"marginals": 1})
        assert filled_cells_of(load_config(path), tmp_path) == expected


def test_more_than_two_billion_cells_in_one_number(project, tmp_path, server):
    """Codes times strides need 64 bits, and words more than one; every engine agrees."""
    names = [f"c{number}" for number in range(16)]
    domain = [
        {
            "name": name, "type": "integer", "minimum": 0, "maximum": 99, "out_of_domain": "clamp",
            "source": "test",
        }
        for name in names
    ]  # fmt: skip
    rng = np.random.default_rng(5)
    rows = [tuple(map(int, rng.integers(90, 100, 16))) for _ in range(50)] * 2
    write_csv(tmp_path / "wide.csv", names, rows)
    server.fill("wide", dict.fromkeys(names, "smallint"), rows)
    expected = {row: rows.count(row) for row in rows}
    for place in (
        {"path": "wide.csv"}, {"path": None, "url": server.url(), "table": "wide"}
    ):  # fmt: skip
        path = project(people=None, source=place, domain=domain[:4], workload={"marginals": 1})
        wide = wide_universe(load_config(path), domain)
        assert filled_cells_of(wide, tmp_path) == expected


def wide_universe(config, domain):
    edges = tuple(map(Fraction, [*range(100), 99]))
    attributes = tuple(
        Attribute(column["name"], "integer", edges=edges, out_of_domain="clamp")
        for column in domain
    )
    return replace(config, universe=Universe(attributes))
