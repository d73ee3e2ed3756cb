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
