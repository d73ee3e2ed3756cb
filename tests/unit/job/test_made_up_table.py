"""Made-up tables keep to the public domain: what a real source could hold, and nothing else."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from synth.config import load_config
from synth.curator.not_private.inspection import inspect_source
from synth.errors import SynthError
from synth.job.made_up_table import write_made_up_table
from synth.job.rehearsal import rehearsed
from tests.conftest import SMALL, merged

ARRIVALS = {
    "name": "arrival",
    "type": "date",
    "first": "2020-01",
    "last": "2020-12",
    "resolution": "month",
    "format": "%d.%m.%Y",
    "missing": ["-"],
    "out_of_domain": "missing",
    "source": "test",
}
COST = {
    "name": "cost",
    "type": "number",
    "edges": [0, 1, 10.5, 1000],
    "missing": ["NA"],
    "out_of_domain": "missing",
    "source": "test",
}


def made_up(tmp_path, rows, period=None, **changes):
    """A made-up table, with its configuration, and what `inspect` says of it."""
    config = load_config(merged(SMALL, changes), period=period)
    path = tmp_path / "made-up.parquet"
    written = write_made_up_table(path, config, rows=rows, generator=np.random.default_rng(7))
    marked = rehearsed(config, path, tmp_path)
    table = pq.read_table(path)
    assert table.num_rows == written
    return table, inspect_source(marked, marked.source, [path], directory=tmp_path)


def test_every_value_fits_the_domain(tmp_path):
    table, found = made_up(tmp_path, 3_000, domain=[*SMALL["domain"], ARRIVALS, COST])
    assert table.num_rows == found.records == 3_000
    for column in found.columns:
        assert (column.nowhere, column.below, column.above) == (0, 0, 0)
    # The last two parts of the universe are used as well: every code has a row.
    assert len(set(table["arrival"].to_pylist())) == 13
    assert len(set(table["cost"].to_pylist())) == 4


def test_no_row_is_in_an_impossible_cell_however_rare_the_others_are(tmp_path):
    towns = [f"t{number}" for number in range(40)]
    lists = [{"name": name, "type": "categorical", "levels": towns, "out_of_domain": "t0",
              "source": "test"} for name in ("one", "same")]  # fmt: skip
    rules = [{"one": t, "same": [other for other in towns if other != t]} for t in towns]
    table, _ = made_up(tmp_path, 2_000, domain=lists, impossible=rules, workload=None)
    assert table.num_rows == 2_000
    assert table["one"].to_pylist() == table["same"].to_pylist()
    assert len(set(table["one"].to_pylist())) > 5


def test_public_totals_hold_even_where_no_row_would_have_been(tmp_path):
    totals = [
        {"where": {}, "total": 100_000, "source": "test"},
        {"where": {"sex": "Male"}, "total": 99_997, "source": "test"},
        {"where": {"town": "Nord", "age": "[0, 20)"}, "total": 2, "source": "test"},
        {"where": {"town": "Süd"}, "total": 0, "source": "test"},
    ]
    table, _ = made_up(tmp_path, 100_000, public_totals=totals)
    sex, town = table["sex"].to_pylist(), table["town"].to_pylist()
    age = np.array(table["age"].to_pylist(), dtype=int)
    assert len(sex) == 100_000
    assert sex.count("Male") == 99_997
    assert int((age[np.array(town) == "Nord"] < 20).sum()) == 2
    assert "Süd" not in town


def test_persons_have_one_to_as_many_records_as_are_counted(tmp_path):
    unit = {"column": "person", "max_records": 4}
    table, found = made_up(tmp_path, 5_000, privacy={"unit": unit})
    times = np.bincount(table["person"].to_numpy())[1:]
    assert set(times) == {1, 2, 3, 4}
    assert found.person.beyond_bound == 0


def test_more_rows_than_memory_is_spent_on_are_repeated(tmp_path, monkeypatch):
    monkeypatch.setattr("synth.job.made_up_table.MOST_DIFFERENT", 10)
    table, _ = made_up(tmp_path, 600_003)
    assert table.num_rows == 600_003
    assert table.group_by(table.column_names).aggregate([]).num_rows <= 10


def test_rules_that_leave_no_row_to_be_found_are_told_of(tmp_path, monkeypatch):
    monkeypatch.setattr("synth.job.made_up_table.ROUNDS", 0)
    with pytest.raises(SynthError, match="no made-up row"):
        made_up(tmp_path, 10, impossible=[{"sex": "Male"}])


def of_february(**where):
    return {
        "release": {"id": "small-{period}"},
        "source": {"where": {"column": "seen", "within": "period"} | where},
        "series": {"every": "month", "first": "2026-01", "rows": "new", "horizon": 6},
    }


@pytest.mark.parametrize(
    ("where", "unit"),
    [
        ({}, "record"),
        ({"format": "%d.%m.%y", "time_zone": "Asia/Tokyo"}, "record"),
        ({"format": "%Y-%m-%dT%H:%M%z"}, {"column": "person", "max_records": 3}),
    ],
)
def test_every_row_is_dated_in_the_period(tmp_path, where, unit):
    changes = of_february(**where) | {"privacy": {"unit": unit}, "ledger": {"epsilon_cap": 9}}
    table, found = made_up(tmp_path, 1_000, "2026-02", **changes)
    assert table.num_rows == found.records == 1_000
    assert len(set(table["seen"].to_pylist())) == 28
    assert (found.of_other_periods, found.undated) == (0, 0)


def test_dates_of_the_domain_are_those_of_the_period(tmp_path):
    """Where the domain holds none of the period, every row is elsewhere."""
    seen = ARRIVALS | {"name": "seen", "first": "2025-12-01", "last": "2026-06-30"}
    seen |= {"resolution": "day", "format": "%Y-%m-%d"}
    domain = [*SMALL["domain"], seen]
    table, found = made_up(tmp_path, 1_000, "2026-02", **of_february(), domain=domain)
    assert {text[:7] for text in table["seen"].to_pylist()} == {"2026-02"}
    assert found.records == 1_000
    domain = [*SMALL["domain"], seen | {"first": "2025-01-01", "last": "2025-12-31"}]
    table, found = made_up(tmp_path, 1_000, "2026-02", **of_february(), domain=domain)
    assert (table.num_rows, found.records) == (1_000, 0)
