"""A series of three months of made-up people, in files of their own."""

import shutil
from datetime import date
from functools import partial

import pytest

import synth
from tests.conftest import PEOPLE, RecordedLog, write_project

SERIES = {"every": "month", "first": "2026-01", "rows": "new", "horizon": 12}
MONTHS = ["2026-01", "2026-02", "2026-03"]
APRIL = date(2026, 4, 1)


def write_monthly(directory, months=tuple(MONTHS), **changes):
    for month in months:
        (directory / f"people-{month}.csv").write_text(PEOPLE, encoding="utf-8")
    given = {"release": {"id": "small-{period}"}, "series": SERIES, "strategy": "identity"}
    given |= {
        "source": {"path": "people-{period}.csv"},
        "privacy": {"epsilon": "1/4"},
        **changes,
    }
    return write_project(directory, people=None, **given)


@pytest.fixture
def monthly(tmp_path):
    """Writes the configuration, and a file for each of these months."""
    return partial(write_monthly, tmp_path)


@pytest.fixture(scope="session")
def three_months(tmp_path_factory):
    """A directory in which the three months were published; tests get copies of it."""
    path = write_monthly(tmp_path_factory.mktemp("three-months"))
    assert len(synth.due(path, today=APRIL, log=RecordedLog()).published) == len(MONTHS)
    return path.parent


@pytest.fixture
def published(three_months, tmp_path):
    """The configuration of a series of which the three months were published."""
    shutil.copytree(three_months, tmp_path, dirs_exist_ok=True)
    return tmp_path / "small.yaml"


@pytest.fixture
def cumulative(project):
    """Writes the configuration of a growing table, of which every release counts all so far."""

    def write(**changes):
        head, *rows = PEOPLE.splitlines()
        seen = [f"{row},{month}-0{day}" for month in MONTHS for day in (1, 9) for row in rows]
        given = {"release": {"id": "small-{period}"}, "strategy": "identity"}
        given["series"] = {**SERIES, "rows": "all"}
        given["source"] = {"where": {"column": "seen", "within": "period"}}
        return project(people="\n".join([f"{head},seen", *seen]), **{**given, **changes})

    return write
