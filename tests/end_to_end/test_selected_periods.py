"""One growing table, a release of every period: the records that it is about."""

from __future__ import annotations

import pytest

from synth import inspect, run
from synth.reading import Release
from synth.release import verify_release

MONTHS = {"2026-01": 120, "2026-02": 60, "2026-03": 90}


def visits() -> str:
    lines = ["visited,age,sex,town"]
    for month, records in MONTHS.items():
        lines += [f"{month}-{1 + n % 28:02},{n % 90},Male,Nord" for n in range(records)]
    lines += ["soon,1,Male,Nord"] * 500
    return "\n".join(lines[:1] + sorted(lines[1:])) + "\n"


@pytest.fixture
def series(project):
    return project(
        people=visits(),
        release={"id": "visits-{period}"},
        source={"where": {"column": "visited", "within": "period"}},
        series={"every": "month", "first": "2026-01", "rows": "new", "horizon": 3},
        privacy={"epsilon": 20},
        ledger={"epsilon_cap": 60},
    )


def test_every_release_is_about_the_records_of_its_period(series):
    """500 records without a date are in none."""
    for month, records in MONTHS.items():
        outcome = run(series, period=month)
        verify_release(outcome.path)
        assert abs(len(Release(outcome.path).frame()) - records) <= 10
        assert inspect(series, period=month).records == records
