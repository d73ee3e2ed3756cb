"""A growing table of PostgreSQL, released again every month, people and Gaussian noise."""

import itertools

import pytest

from synth.api.configuration import load_config
from synth.bookkeeping import Ledger
from synth.job import pipeline
from synth.privacy.accounting import GAUSSIAN
from synth.privacy.continual import Toeplitz

ANSWERS = [f"answer{number}" for number in range(6)]
COLUMNS = {"id": "text", "day": "date"} | dict.fromkeys(ANSWERS, "text")
MONTHS = {"2026-01": 300, "2026-02": 200}


def rows_of(month, records):
    """Every second person comes again in every month; of each two records count."""
    return [
        (
            f"p{n}" if n % 2 else f"{month}-{n}",
            f"{month}-{1 + n % 28:02}",
            *("10"[n % 3 > 0],) * len(ANSWERS),
        )
        for n in range(records)
    ]


def configured(project, server):
    return project(
        people=None,
        release={"id": "visits-{period}"},
        source={
            "path": None,
            "url": server.url(),
            "table": "visits",
            "where": {"column": "day", "within": "period"},
        },
        series={"every": "month", "first": "2026-01", "rows": "all", "horizon": 3},
        privacy={
            "epsilon": 20,
            "delta": "1e-6",
            "unit": {"column": "id", "max_records": 2},
        },
        ledger={"epsilon_cap": 20, "delta_cap": "1e-6"},
        domain=[
            {"name": name, "type": "categorical", "levels": ["0", "1"], "out_of_domain": "0"}
            | {"source": "test"}
            for name in ANSWERS
        ],
        strategy={"tables": [list(pair) for pair in itertools.combinations(ANSWERS, 2)]},
    )


def counted(months):
    """So many records: the first two of everybody over all months."""
    found = {}
    for month in months:
        for person, *_ in rows_of(month, MONTHS[month]):
            found[person] = min(2, found.get(person, 0) + 1)
    return sum(found.values())


def test_every_month_is_added_to_those_before(project, server, log):
    path, so_far = configured(project, server), []
    for number, month in enumerate(MONTHS, start=1):
        so_far += rows_of(month, MONTHS[month])
        server.fill("visits", COLUMNS, so_far)
        config = load_config(path, period=month)
        pipeline.measure(config, log=log)
        outcome = pipeline.publish(config, log=log)
        with Ledger.open_existing(config.ledger.path) as ledger:
            assert 19 < ledger.position("nobody").spent.epsilon <= 20
            plan = ledger.series_plan("visits-{period}", 0)
        assert plan.factorization == Toeplitz(3, 8).to_plain()
        assert {event.mechanism for event in plan.events} == {GAUSSIAN}
        records = counted(list(MONTHS)[:number])
        rows = (outcome.path / "synthetic.csv").read_text().count("\n") - 1
        assert rows == pytest.approx(records, abs=40)
