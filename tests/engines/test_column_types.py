"""Columns of every type: the same values give the same counts in CSV, Parquet and PostgreSQL."""

from __future__ import annotations

import datetime
import itertools
import math
import time
from copy import deepcopy

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth.config import load_config

from .conftest import counts_of, filled_cells_of, write_csv
from .test_equal_counts import on_every_engine

TRUTH = {"name": "flag", "type": "boolean", "missing": ["", "9"], "out_of_domain": "missing"} | {
    "source": "test"
}  # fmt: skip


def counted(project, tmp_path, server, *columns):
    """The counts of each column by its codes, as they are in one table, equal on every engine.

    A column is its declaration, its types, its values and, where CSV has others, its texts. The
    shorter ones are filled up with nothing, which is missing, the last code; it is not counted.
    Dates and times are never looked up, however few texts may be compared.
    """
    domain = [deepcopy(column) | {"name": f"v{n}"} for n, (column, *_) in enumerate(columns)]
    names = [column["name"] for column in domain]
    kinds = {name: kinds for name, (_, kinds, *_) in zip(names, columns, strict=True)}
    values = [values for _, _, values, *_ in columns]
    texts = [texts[0] if texts else values for _, _, values, *texts in columns]
    records = max(map(len, values))
    found = on_every_engine(
        project, tmp_path, server, domain=domain, kinds=kinds,
        rows=list(itertools.zip_longest(*values)), as_csv=list(itertools.zip_longest(*texts)),
        looked_up=not any("resolution" in column for column in domain),
        count=lambda path: filled_cells_of(load_config(path), tmp_path), workload={"marginals": 1},
    )  # fmt: skip
    for name, cells in found.items():
        assert cells == found["csv"], name
    assert sum(found["csv"].values()) == records
    path = project(people=None, source={"path": "rows.csv"}, domain=domain)
    counts = [[0] * size for size in load_config(path).universe.shape]
    for cell, number in found["csv"].items():
        for column, code in zip(counts, cell, strict=True):
            column[code] += number
    for column, own in zip(counts, values, strict=True):
        column[-1] -= records - len(own)
    return counts


def test_true_and_false(project, tmp_path, server):
    """Booleans, texts for them, numbers for them, and words that are declared."""
    texts = ["true", "TRUE", "t", "yes", "1", "No", "0", "9", None, "tRuE", " true", "1.0", "x"]
    numbers = [0, 1, 1, 9, None, 2, -1]
    declared = TRUTH | {"true_values": ["ja"], "false_values": ["nein", "true"]}
    found = counted(
        project, tmp_path, server,
        (TRUTH, (pa.bool_(), "boolean"), [True, False, None, True], ["true", "f", "", "1"]),
        (TRUTH, (pa.string(), "text"), texts),
        (TRUTH, (pa.int8(), "smallint"), numbers),
        (TRUTH, (pa.float32(), "real"), numbers),
        (declared, (pa.string(), "varchar(9)"), ["ja", "nein", "true", "yes", "Ja"]),
    )  # fmt: skip
    assert found == [[1, 2, 1], [2, 5, 6], [1, 2, 4], [1, 2, 4], [2, 1, 2]]


def test_a_missing_code_is_missing_though_bins_hold_it(project, tmp_path, server):
    """Of whole numbers and others, in columns of every type."""
    rest = {"missing": ["99", "-1"], "out_of_domain": "clamp", "source": "test"}
    whole = {"type": "integer", "minimum": 0, "maximum": 99, "bin_width": 50} | rest
    others = {"type": "number", "edges": [0, 50, 100]} | rest
    values = [0, 49, 50, 98, 99, -1, -2, 100]
    kinds = [
        (pa.int64(), "bigint"), (pa.int16(), "smallint"), (pa.float64(), "double precision"),
        (pa.decimal128(5, 0), "numeric(5)"), (pa.string(), "text"),
    ]  # fmt: skip
    columns = [
        (column, pair, list(map(str, values)) if pa.types.is_string(pair[0]) else values)
        for column in (whole, others)
        for pair in kinds
    ]
    assert counted(project, tmp_path, server, *columns) == [[3, 3, 2]] * 10


def test_codes_with_zeros_in_front_stay_texts(project, tmp_path, server):
    column = {"name": "v", "type": "categorical", "levels": ["007", "7", "07"], "missing": [""]} | {
        "out_of_domain": "missing", "source": "test",
    }  # fmt: skip
    values = ["007", "7", "07", "7.0", "0007", "007"]
    kinds = (pa.dictionary(pa.int8(), pa.string()), "varchar(4)")
    assert counted(project, tmp_path, server, (column, kinds, values)) == [[2, 1, 1, 2]]


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
    periods = {
        "day": ("1999-12-31", "2024-03-01", 4), "quarter": ("1999-Q4", "2024-Q1", 3),
        "year": ("1999", "2024", 3),
    }  # fmt: skip
    columns = [
        (DAY | {"resolution": each, "first": first, "last": last}, (pa.date32(), "date"), values,
         DAYS)
        for each, (first, last, _) in periods.items()
    ]  # fmt: skip
    found = counted(project, tmp_path, server, *columns)
    for (resolution, (_, _, filled)), counts in zip(periods.items(), found, strict=True):
        assert np.count_nonzero(counts[:-1]) == filled, resolution


def test_texts_of_dates(project, tmp_path, server):
    """Every zone with every rule, and the resolutions that test_dates has not."""
    bounds = {"day": {}, "month": {"first": "1999-12", "last": "2024-03"}}
    bounds["week"] = {"first": "1999-12-27", "last": "2024-02-26"}
    columns = [
        DAY | bounds[each] | {"resolution": each, "time_zone": zone, "out_of_domain": rule}
        for each, zone, rule in (
            ("day", "UTC", "missing"), ("day", "Pacific/Apia", "clamp"),
            ("month", "UTC", "clamp"), ("week", "Pacific/Apia", "missing"),
        )
    ]  # fmt: skip
    kinds = (pa.string(), "text")
    counted(project, tmp_path, server, *((column, kinds, TEXTS) for column in columns))


def test_dates_in_columns_of_other_types(project, tmp_path, server):
    """A declared format, whole numbers, floats, and texts that a database pads."""
    dotted, digits = DAY | {"format": "%d.%m.%Y"}, DAY | {"format": "%Y%m%d"}
    digits["missing"] = ["", "99999999"]
    whole = [20240229, 20230229, 99999999, -1, 0, None, 19991231]
    found = counted(
        project, tmp_path, server,
        (dotted, (pa.string(), "varchar"),
         ["29.2.2024", "29.02.2024", "29.02.2023", "2024-02-29", "", "1.1.2000", "1.1.2000\n"]),
        (digits, (pa.int32(), "integer"), whole),
        (digits, (pa.float64(), "double precision"),
         [20240229.0, 20230229.0, 99999999.0, math.nan, math.inf, None, 19991231.5, 1e300],
         ["20240229", "20230229", "99999999", "nan", "inf", "", "19991231.5", "1e300"]),
        (DAY | {"missing": ["", "unknown"]}, (pa.string(), "char(20)"),
         ["2024-02-29", "unknown", "2024-02-30"]),
    )  # fmt: skip
    filled = [sorted(filter(None, counts)) for counts in found]
    assert filled == [[1, 2, 4], [1, 1, 5], [1, 7], [1, 2]]


INSTANTS = [
    "2020-03-28 23:00:00", "2020-03-29 00:59:59.999999", "2020-03-29 01:00:00",
    "2020-03-29 02:30:00", "1969-12-31 23:59:59.5", "0001-01-01 00:00:00",
    "9999-12-31 23:59:59.999999", "9999-12-31 00:00:00", None, "2020-03-29 03:00:00",
]  # fmt: skip


def test_timestamps(project, tmp_path, server):
    """Clocks as they are, and instants, by the clock of the zone that is declared."""
    clocks = [None if text is None else datetime.datetime.fromisoformat(text) for text in INSTANTS]
    instants = [value and value.replace(tzinfo=datetime.UTC) for value in clocks]
    known = [text and text + "Z" for text in INSTANTS]
    utc, berlin = (HOUR | {"time_zone": zone} for zone in ("UTC", "Europe/Berlin"))
    clock, instant = (pa.timestamp("us"), "timestamp"), (pa.timestamp("us", "UTC"), "timestamptz")
    found = counted(
        project, tmp_path, server,
        (utc, clock, clocks, INSTANTS), (berlin, clock, clocks, INSTANTS),
        (utc, instant, instants, known), (berlin, instant, instants, known),
    )  # fmt: skip
    expected = [0, 1, 1, 1, 1, 1, 0, 0, 5]  # from ten in the evening on; the last is missing
    assert found == [expected] * 3 + [[0, 0, 1, 1, 0, 1, 1, 1, 5]]


def test_infinite_and_far_moments_of_a_database(project, tmp_path, server):
    far = ["infinity", "-infinity", "0044-03-15 00:00:00 BC", "294276-12-31 23:59:59.999999",
           "4713-01-01 00:00:00 BC", "10000-01-01", "2020-03-29 00:00:00"]  # fmt: skip
    tokyo = HOUR | {"time_zone": "Asia/Tokyo"}
    later = {"first": "2020-03-29T09:00:00", "last": "2020-03-29T10:00:00"}
    columns = {
        "clock": ("timestamp", tokyo), "clamped": ("timestamp", tokyo | {"out_of_domain": "clamp"}),
        "instant": ("timestamptz", tokyo | later),
        "clamped_instant": ("timestamptz", tokyo | later | {"out_of_domain": "clamp"}),
        "day": ("date", DAY),
    }  # fmt: skip
    days = ["infinity", "-infinity", "0044-03-15 BC", *[None] * 4]
    rows = [(*[text] * 4, day) for text, day in zip(far, days, strict=True)]
    server.fill("far", {name: kind for name, (kind, _) in columns.items()}, rows)
    domain = [deepcopy(column) | {"name": name} for name, (_, column) in columns.items()]
    place = {"path": None, "url": server.url(), "table": "far"}
    config = load_config(project(people=None, source=place, domain=domain))
    found = filled_cells_of(config, tmp_path)
    missing = [size - 1 for size in config.universe.shape]
    for place, records in enumerate((6, 6, 6, 6, 7)):
        counted = sum(n for cell, n in found.items() if cell[place] == missing[place])
        assert counted == records, domain[place]["name"]


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
    write_csv(tmp_path / "t.csv", ["v"], [(text,) for text in INSTANTS])
    server.fill("zoned", {"v": "timestamptz"}, [(t and f"{t}Z",) for t in INSTANTS])
    database = {"path": None, "url": server.url(), "table": "zoned"}
    found = []
    for zone in ("America/New_York", "Asia/Kathmandu"):
        monkeypatch.setenv("TZ", zone)
        monkeypatch.setenv("PGTZ", zone)
        time.tzset()
        for place in ({"path": "t.csv"}, database):
            found.append(counts_of(project(people=None, source=place, domain=[HOUR])).tolist())
    monkeypatch.undo()
    time.tzset()
    assert all(each == found[0] for each in found)
