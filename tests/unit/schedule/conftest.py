"""A series of three months of made-up people, in files of their own."""

import pytest

from tests.conftest import PEOPLE

SERIES = {"every": "month", "first": "2026-01", "rows": "new", "horizon": 12}
MONTHS = ["2026-01", "2026-02", "2026-03"]


@pytest.fixture
def monthly(project, tmp_path):
    """Writes the configuration, and a file for each of these months."""

    def write(months=tuple(MONTHS), **changes):
        for month in months:
            (tmp_path / f"people-{month}.csv").write_text(PEOPLE, encoding="utf-8")
        given = {"release": {"id": "small-{period}"}, "series": SERIES, "strategy": "identity"}
        given |= {
            "source": {"path": "people-{period}.csv"},
            "privacy": {"epsilon": "1/4"},
            **changes,
        }
        return project(people=None, **given)

    return write


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
