"""Columns of every type: the same values give the same counts in CSV, Parquet and PostgreSQL."""

from __future__ import annotations

import datetime
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from .conftest import counts_of, write_csv
from .test_equal_counts import on_every_engine, require_equal

TRUTH = {"name": "flag", "type": "boolean", "missing": ["", "9"], "out_of_domain": "missing"} | {
    "source": "test"
}  # fmt: skip


def counted(project, tmp_path, server, column, kinds, values, as_csv=None):
    """The counts of one column by its codes, equal on every engine.

    Dates and times are never looked up, however few texts may be compared.
    """
    counts = on_every_engine(
        project, tmp_path, server, domain=[column], kinds={column["name"]: kinds},
        rows=[(value,) for value in values],
        as_csv=None if as_csv is None else [(value,) for value in as_csv],
        looked_up="resolution" not in column, workload={"marginals": 1},
    )  # fmt: skip
    require_equal(counts, len(values))
    return counts["csv"].tolist()


def test_booleans(project, tmp_path, server):
    values = [True, False, None, True]
    found = counted(
        project, tmp_path, server, TRUTH, (pa.bool_(), "boolean"), values,
        as_csv=["true", "f", "", "1"],
    )  # fmt: skip
    assert found == [1, 2, 1]


def test_texts_for_true_and_false(project, tmp_path, server):
    values = ["true", "TRUE", "t", "yes", "1", "No", "0", "9", None, "tRuE", " true", "1.0", "x"]
    kinds = (pa.string(), "text")
    assert counted(project, tmp_path, server, TRUTH, kinds, values) == [2, 5, 6]


@pytest.mark.parametrize("kinds", [(pa.int8(), "smallint"), (pa.float32(), "real")])
def test_numbers_for_true_and_false(project, tmp_path, server, kinds):
    values = [0, 1, 1, 9, None, 2, -1]
    assert counted(project, tmp_path, server, TRUTH, kinds, values) == [1, 2, 4]


def test_declared_words(project, tmp_path, server):
    column = TRUTH | {"true_values": ["ja"], "false_values": ["nein", "true"]}
    values = ["ja", "nein", "true", "yes", "Ja"]
    kinds = (pa.string(), "varchar(9)")
    assert counted(project, tmp_path, server, column, kinds, values) == [2, 1, 2]


@pytest.mark.parametrize(
    ("kinds", "missing"),
    [
        ((pa.int64(), "bigint"), "99"),
        ((pa.int16(), "smallint"), "99"),
        ((pa.float64(), "double precision"), "99"),
        ((pa.decimal128(5, 0), "numeric(5)"), "99"),
        ((pa.string(), "text"), "99"),
    ],
)
@pytest.mark.parametrize("kind", ["integer", "number"])
def test_a_missing_code_is_missing_though_bins_hold_it(
    project, tmp_path, server, kinds, missing, kind
):
    bins = {"minimum": 0, "maximum": 99, "bin_width": 50} if kind == "integer" else {}
    bins |= {"edges": [0, 50, 100]} if kind == "number" else {}
    column = {"name": "v", "type": kind, "missing": [missing, "-1"], "out_of_domain": "clamp"}
    values = [0, 49, 50, 98, 99, -1, -2, 100]
    if pa.types.is_string(kinds[0]):
        values = list(map(str, values))
    column |= bins | {"source": "test"}
    assert counted(project, tmp_path, server, column, kinds, values) == [3, 3, 2]


def test_codes_with_zeros_in_front_stay_texts(project, tmp_path, server):
    column = {"name": "v", "type": "categorical", "levels": ["007", "7", "07"], "missing": [""]} | {
        "out_of_domain": "missing", "source": "test",
    }  # fmt: skip
    values = ["007", "7", "07", "7.0", "0007", "007"]
    kinds = (pa.dictionary(pa.int8(), pa.string()), "varchar(4)")
    assert counted(project, tmp_path, server, column, kinds, values) == [2, 1, 1, 2]


DAY = {"name": "v", "type": "date", "first": "1999-12-31", "last": "2024-03-01"} | {
    "resolution": "day", "missing": ["", "9999-12-31"], "out_of_domain": "missing",
    "source": "test",
}  # fmt: skip
HOUR = DAY | {
    "type": "datetime", "first": "2020-03-28T22:00:00", "last": "2020-03-29T05:00:00",
    "resolution": "hour",
}  # fmt: skip
DAYS = [
    "2024-02-29", "2000-02-29", "1999-12-31", "1999-12-30", "2024-03-01", "2024-03-02",
    "0001-01-01", "9999-12-31", None, "2024-02-29",
]  # fmt: skip
TEXTS = [
    *filter(None, DAYS), "", "2023-02-29", "29.2.2024", "2024-02-29T23:59:60", "2024-02-29Z", "NaT",
    "2024-02-29T23:30-01:00", "2024-02-29 12:00:00+00", "infinity", " 2024-02-29", "2024-02-29\n",
    "0000-01-01", "10000-01-01", "x" * 5_000, "2024-02-29T24:00", "2024-2-29", "2024-02-29|",
]  # fmt: skip


def test_dates(project, tmp_path, server):
    values = [None if day is None else datetime.date.fromisoformat(day) for day in DAYS]
    for resolution, first, last, filled in (
        ("day", "1999-12-31", "2024-03-01", 4), ("month", "1999-12", "2024-03", 4),
        ("year", "1999", "2024", 3), ("quarter", "1999-Q4", "2024-Q1", 3),
        ("week", "1999-12-27", "2024-02-26", 3),
    ):  # fmt: skip
        column = DAY | {"resolution": resolution, "first": first, "last": last}
        counts = counted(project, tmp_path, server, column, (pa.date32(), "date"), values, DAYS)
        assert np.count_nonzero(counts[:-1]) == filled, resolution


@pytest.mark.parametrize(
    ("resolution", "zone", "rule"),
    [
        ("day", "UTC", "missing"),
        ("day", "Pacific/Apia", "clamp"),
        ("month", "UTC", "clamp"),
        ("month", "Pacific/Apia", "missing"),
        ("week", "UTC", "missing"),
        ("week", "Pacific/Apia", "clamp"),
    ],
)
def test_texts_of_dates(project, tmp_path, server, resolution, zone, rule):
    """Every two of resolution, zone and rule."""
    bounds = {"day": {}, "month": {"first": "1999-12", "last": "2024-03"}}
    bounds["week"] = {"first": "1999-12-27", "last": "2024-02-26"}
    column = DAY | bounds[resolution] | {"resolution": resolution, "time_zone": zone}
    column["out_of_domain"] = rule
    counted(project, tmp_path, server, column, (pa.string(), "text"), TEXTS)


def test_a_declared_format(project, tmp_path, server):
    column = DAY | {"format": "%d.%m.%Y"}
    values = ["29.2.2024", "29.02.2024", "29.02.2023", "2024-02-29", "", "1.1.2000", "1.1.2000\n"]
    counts = counted(project, tmp_path, server, column, (pa.string(), "varchar"), values)
    assert sorted(filter(None, counts)) == [1, 2, 4]


def test_dates_that_are_whole_numbers(project, tmp_path, server):
    column = DAY | {"format": "%Y%m%d", "missing": ["", "99999999"]}
    values = [20240229, 20230229, 99999999, -1, 0, None, 19991231]
    counts = counted(project, tmp_path, server, column, (pa.int32(), "integer"), values)
    assert sorted(filter(None, counts)) == [1, 1, 5]


def test_dates_that_are_floats(project, tmp_path, server):
    column = DAY | {"format": "%Y%m%d", "missing": ["", "99999999"]}
    values = [20240229.0, 20230229.0, 99999999.0, math.nan, math.inf, None, 19991231.5, 1e300]
    texts = ["20240229", "20230229", "99999999", "nan", "inf", "", "19991231.5", "1e300"]
    kinds = (pa.float64(), "double precision")
    counts = counted(project, tmp_path, server, column, kinds, values, texts)
    assert sorted(filter(None, counts)) == [1, 7]


def test_padded_texts(project, tmp_path, server):
    """What a database pads is not there."""
    column = DAY | {"missing": ["", "unknown"]}
    values = ["2024-02-29", "unknown", "2024-02-30"]
    counts = counted(project, tmp_path, server, column, (pa.string(), "char(20)"), values)
    assert sorted(filter(None, counts)) == [1, 2]


INSTANTS = [
    "2020-03-28 23:00:00", "2020-03-29 00:59:59.999999", "2020-03-29 01:00:00",
    "2020-03-29 02:30:00", "1969-12-31 23:59:59.5", "0001-01-01 00:00:00",
    "9999-12-31 23:59:59.999999", "9999-12-31 00:00:00", None, "2020-03-29 03:00:00",
]  # fmt: skip


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
@pytest.mark.parametrize("known", [False, True])
def test_timestamps(project, tmp_path, server, known, zone):
    values = [None if text is None else datetime.datetime.fromisoformat(text) for text in INSTANTS]
    texts = [text and text + ("Z" if known else "") for text in INSTANTS]
    if known:
        values = [value and value.replace(tzinfo=datetime.UTC) for value in values]
    kind = pa.timestamp("us", "UTC" if known else None)
    column = HOUR | {"time_zone": zone}
    counts = counted(
        project, tmp_path, server, column, (kind, "timestamptz" if known else "timestamp"),
        values, texts,
    )  # fmt: skip
    by_hour = dict(zip(range(22, 30), counts[:-1], strict=True))
    utc = {23: 1, 24: 1, 25: 1, 26: 1, 27: 1}
    berlin = {24: 1, 25: 1, 27: 1, 28: 1, 29: 1}
    expected = berlin if known and zone != "UTC" else utc
    assert {hour: count for hour, count in by_hour.items() if count} == expected
    assert counts[-1] == 5


def test_infinite_and_far_moments_of_a_database(project, server):
    far = ["infinity", "-infinity", "0044-03-15 00:00:00 BC", "294276-12-31 23:59:59.999999",
           "4713-01-01 00:00:00 BC", "10000-01-01", "2020-03-29 00:00:00"]  # fmt: skip
    for kind in ("timestamp", "timestamptz"):
        server.fill("far", {"v": kind}, [(text,) for text in far])
        place = {"path": None, "url": server.url(), "table": "far"}
        for rule in ("missing", "clamp"):
            column = HOUR | {"out_of_domain": rule, "time_zone": "Asia/Tokyo"}
            if kind == "timestamptz":
                column |= {"first": "2020-03-29T09:00:00", "last": "2020-03-29T10:00:00"}
            counts = counts_of(project(people=None, source=place, domain=[column]))
            assert counts[-1] == 6
    server.fill("far", {"v": "date"}, [("infinity",), ("-infinity",), ("0044-03-15 BC",)])
    assert counts_of(project(people=None, source=place, domain=[DAY]))[-1] == 3


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("known", [False, True])
def test_units_of_parquet(project, tmp_path, unit, known):
    per = {"ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    start = 1_585_436_400  # 2020-03-28 23:00:00
    numbers = [start * per, (start + 3_600) * per - 1, (start + 3_600) * per, 2**63 - 1,
               -(2**63) + 1, None]  # fmt: skip
    values = pa.array(numbers, pa.int64()).cast(pa.timestamp(unit, "UTC" if known else None))
    pq.write_table(pa.table({"v": values}), tmp_path / "units.parquet", version="2.6")
    counts = counts_of(project(people=None, source={"path": "units.parquet"}, domain=[HOUR]))
    assert counts.tolist()[1:3] == [2, 1]
    assert counts[-1] == 3


def test_old_timestamps_of_96_bits(project, tmp_path):
    values = [datetime.datetime(2020, 3, 28, 23, 30), datetime.datetime(1, 1, 1), None]
    table = pa.table({"v": pa.array(values, pa.timestamp("us"))})
    pq.write_table(table, tmp_path / "old.parquet", use_deprecated_int96_timestamps=True)
    counts = counts_of(project(people=None, source={"path": "old.parquet"}, domain=[HOUR]))
    assert counts.tolist() == [0, 1, 0, 0, 0, 0, 0, 0, 2]


def test_the_zone_of_the_machine_changes_nothing(project, tmp_path, server, monkeypatch):
    import time

    write_csv(tmp_path / "t.csv", ["v"], [(text,) for text in INSTANTS])
    server.fill("zoned", {"v": "timestamptz"}, [(t and f"{t}Z",) for t in INSTANTS])
    database = {"path": None, "url": server.url(), "table": "zoned"}
    found = []
    for zone in ("UTC", "America/New_York", "Asia/Kathmandu"):
        monkeypatch.setenv("TZ", zone)
        monkeypatch.setenv("PGTZ", zone)
        time.tzset()
        for place in ({"path": "t.csv"}, database):
            found.append(counts_of(project(people=None, source=place, domain=[HOUR])).tolist())
    monkeypatch.undo()
    time.tzset()
    assert all(each == found[0] for each in found)
