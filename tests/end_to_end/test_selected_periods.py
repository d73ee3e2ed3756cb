"""One growing table, a release of every period: the records that it is about."""

from __future__ import annotations

import pytest

from synth import curator, inspect, run
from synth.config import load_config
from synth.errors import OutputError, SourceError
from synth.job.log import StageLog
from synth.job.pipeline import measure
from synth.reading import Release

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
    for month, records in list(MONTHS.items())[:2]:
        outcome = run(series, period=month)
        assert abs(len(Release(outcome.path).frame()) - records) <= 10
        assert inspect(series, period=month).records == records


def test_the_first_periods_of_persons_are_measured_in_their_order(project, monkeypatch):
    """Else a record that came late would make a second period the first one."""
    lines = [f"p{n},2026-0{1 + n % 3}-05,{n % 90},Male,Nord" for n in range(60)]
    path = project(
        people="\n".join(["person,visited,age,sex,town", *lines, ""]),
        release={"id": "visits-{period}"},
        source={"where": {"column": "visited", "within": "period"}},
        series={
            "every": "month", "first": "2026-01", "rows": "new", "horizon": 3, "max_periods": 1,
        },
        privacy={"epsilon": 1, "unit": {"column": "person", "max_records": 1}},
    )  # fmt: skip

    def stopped(*_, **__):
        raise SourceError("the source went away")

    with monkeypatch.context() as patch:
        patch.setattr(curator, "measure", stopped)
        with pytest.raises(SourceError):
            measure(load_config(path, period="2026-02"), log=StageLog())
    with pytest.raises(OutputError, match="visits-2026-02, a later period, was charged"):
        run(path, period="2026-01")
    with pytest.raises(OutputError, match="visits-2026-02, an earlier period, is charged and not"):
        run(path, period="2026-03")
    run(path, period="2026-02")
    run(path, period="2026-03")
    assert run(path, period="2026-02").was_there
