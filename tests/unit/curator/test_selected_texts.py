"""What the keeper looks at is what a run counts: the records of the period alone."""

from __future__ import annotations

from datetime import date
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth.config import load_config
from synth.config.source_files import source_files
from synth.curator.counting.tabulate import tabulate
from synth.curator.not_private.exact_cells import exact_cells
from synth.curator.not_private.inspection import inspect_source
from synth.curator.not_private.inspection_text import inspection_lines, inspection_plain
from synth.errors import BugError
from synth.evaluation.evaluate import _selections

VISITS = [
    ("1", "2026-02-01", "Male", "Nord"), ("1", "2026-02-28", "Male", "Rom"),
    ("1", "2026-02-14T23:59", "man", "Nord"), ("2", "2026-02-28", "", "Süd"),
    ("2", "2026-03-01", "woman", "Nord"), ("3", "2026-01-31", "other", "Nord"),
    ("4", "", "Male", "Nord"), ("4", "28.02.2026", "Male", "Nord"), ("", "2026-02-03", "", "Nord"),
]  # fmt: skip
"""Five records are of February; three of them are of person 1, and one is of nobody."""

DOMAIN = [
    {"name": "sex", "type": "categorical", "levels": ["Female", "Male"], "missing": [""],
     "out_of_domain": "missing", "source": "test"},
    {"name": "town", "type": "categorical", "levels": ["Nord", "Süd", "Other"],
     "out_of_domain": "Other", "source": "test"},
]  # fmt: skip

SERIES = {
    "domain": DOMAIN,
    "release": {"id": "visits-{period}"},
    "series": {"every": "month", "first": "2026-01", "rows": "new", "horizon": 12},
    "privacy": {"unit": {"column": "person", "max_records": 2}},
    "ledger": {"epsilon_cap": 40},
}


def source_of(tmp_path, kind):
    names = ("person", "visited", "sex", "town")
    if kind == "csv":
        text = "\n".join(map(",".join, [names, *VISITS])) + "\n"
        (tmp_path / "visits.csv").write_text(text)
        return {"path": "visits.csv"}
    columns = dict(zip(names, map(list, zip(*VISITS, strict=True)), strict=True))
    if kind == "days":
        days = [date.fromisoformat(day[:10]) if day[:1] == "2" and day[4:5] == "-" else None
                for day in columns["visited"]]  # fmt: skip
        columns["visited"] = pa.array(days, pa.date32())
    pq.write_table(pa.table(columns), tmp_path / "visits.parquet")
    return {"path": "visits.parquet"}


@pytest.fixture
def of_february(project, tmp_path):
    def load(kind="csv", **changes):
        where = {"where": {"column": "visited", "within": "period"}}
        source = source_of(tmp_path, kind) | where
        place = project(people=None, source=source, **(SERIES | changes))
        return load_config(place, period="2026-02")

    return load


@pytest.mark.parametrize("kind", ["csv", "days"])
def test_records_of_other_periods_are_neither_looked_at_nor_counted(of_february, tmp_path, kind):
    config = of_february(kind)
    found = inspect_source(config, config.source, source_files(config.source), directory=tmp_path)
    sex, town = found.columns
    assert (found.records, found.of_other_periods, found.undated) == (5, 2, 2)
    assert (sex.fits, sex.declared_missing, sex.nowhere) == (2, 2, 1)
    assert (town.fits, town.nowhere) == (4, 1)
    assert found.person.beyond_bound == 1
    assert (found.person.records, found.person.without_id) == (5, 1)
    text = "\n".join(inspection_lines(found))
    assert "records of other periods, by visited: 2" in text
    assert "visited: 2 of 9 records hold no date" in text
    assert inspection_plain(found)["without_date"] == 2


def test_an_evaluation_counts_what_the_run_counted(of_february, tmp_path):
    config = of_february()
    files = source_files(config.source)
    exact = partial(exact_cells, config, config.source, files, directory=tmp_path)
    found = exact(selections=[config.selection()])
    assert found.counts.sum() == 2 + 1


def test_an_evaluation_of_a_second_horizon_counts_the_first_one_too(of_february, tmp_path):
    """Person 1 counts twice in the first, persons 2 and 3 once; person 2 once in the second."""
    series = SERIES["series"] | {"rows": "all", "horizon": 2, "renewal": "next"}
    of_february(series=series)
    config = load_config(tmp_path / "small.yaml", period="2026-03")
    selections = _selections(config)
    assert [len(each.weights) for each in selections] == [2, 1]
    assert _selections(load_config(tmp_path / "small.yaml", period="2026-02")) == selections[:1]
    files = source_files(config.source)
    found = exact_cells(config, config.source, files, directory=tmp_path, selections=selections)
    cells = list(zip(*(column.tolist() for column in found.columns), strict=True))
    assert cells == sorted(set(cells))
    assert found.counts.sum() == (2 + 1 + 1) + 1


def test_a_configuration_that_selects_is_not_counted_whole(of_february, tmp_path):
    config = of_february()
    with pytest.raises(BugError):
        tabulate(config, config.source, source_files(config.source), tmp_path)


def test_a_period_without_records_is_told(of_february, tmp_path):
    of_february(series=SERIES["series"] | {"first": "2024-01", "horizon": 36})
    earlier = load_config(tmp_path / "small.yaml", period="2024-02")
    files = source_files(earlier.source)
    found = inspect_source(earlier, earlier.source, files, directory=tmp_path)
    assert any("no record is in the period" in line for line in inspection_lines(found))
