"""Whole runs of two periods of every kind of series: beside `test_whole_runs.py`, for time.

Kind of series, mechanism, unit and kind of file: any two of these four meet in full; CSV that is
compressed is no other source of periods than CSV. Both periods end in a release that stands, and
the population has lost what the plan of the series said beforehand. A kind of series that is not in
the table fails a test below.
"""

import itertools
import json
from typing import get_args

import pytest

from synth.bookkeeping import Ledger
from synth.config import load_config
from synth.config.series import Rows, SelectedBy
from synth.job import pipeline
from synth.planning.series import forecast_series
from synth.privacy.accounting import GAUSSIAN, LAPLACE
from synth.release import verify_release
from tests.end_to_end.test_whole_runs import UNITS, write_file
from tests.unit.release.tables_oracle import table_findings

pytestmark = pytest.mark.usefixtures("laws_are_tabulated_once")

WHERE = {"where": {"column": "day", "within": "period"}}
EVERY = {"every": "month", "first": "2026-01", "horizon": 3}
KINDS = {
    "none": ({}, {"path": "people-{period}"}),
    "new by where": (EVERY | {"rows": "new"}, {"path": "people", **WHERE}),
    "new by path": (EVERY | {"rows": "new", "renewal": "next"}, {"path": "people-{period}"}),
    "all by where": (EVERY | {"rows": "all"}, {"path": "people", **WHERE}),
    "all by nothing": (EVERY | {"rows": "all"}, {"path": "people"}),
    "all by path": (EVERY | {"rows": "all"}, {"path": "people-{period}"}),
}
"""Series, and source without the ending of the file."""
MECHANISMS = (LAPLACE, GAUSSIAN)
FORMATS = ("csv", "parquet")
CASES = list(itertools.product(KINDS, MECHANISMS, UNITS, FORMATS))
PERIODS = ("2026-01", "2026-02")
BINARY = [f"answer-{number}" for number in range(4)]
"""Columns of so many pairs that Gaussian noise is less than Laplace noise."""


def tried():
    """Every kind of series with every kind of file.

    By turns over the kinds of series, mechanism and unit are alike or not, and so are mechanism and
    file.
    """
    for number, kind in enumerate(KINDS):
        for turn in range(2):
            unit, file = turn ^ number % 2, turn ^ number // 2 % 2
            yield kind, MECHANISMS[turn], list(UNITS)[unit], FORMATS[file]


TRIED = list(tried())


def write_sources(place, kind: str) -> None:
    """One file with the records of both months, and one for each month."""
    header = "person,day," + ",".join(BINARY)
    months = {
        period: [
            f"p{i // 2},{period}-{1 + i % 28:02},"
            + ",".join(str(i * n % 5 // 3) for n in range(len(BINARY)))
            for i in range(60)
        ]
        for period in PERIODS
    }
    texts = {f"people-{period}": [header, *lines] for period, lines in months.items()}
    texts["people"] = [header, *months[PERIODS[0]], *months[PERIODS[1]]]
    for name, lines in texts.items():
        write_file(place / f"{name}.{kind}", kind, ("\n".join(lines) + "\n").encode())


def configured(project, place, case):
    kind, mechanism, unit, file = case
    series, source = KINDS[kind]
    write_sources(place, file)
    gaussian = mechanism == GAUSSIAN
    answers = [
        {"name": name, "type": "categorical", "levels": ["0", "1"], "out_of_domain": "0"}
        | {"source": "test"}
        for name in BINARY
    ]
    return project(
        people=None,
        release={"id": "small-{period}"},
        source=source | {"path": f"{source['path']}.{file}"},
        privacy={"unit": UNITS[unit], "delta": "1e-3" if gaussian else 0},
        ledger={"epsilon_cap": 9, "delta_cap": "1e-2" if gaussian else 0},
        domain=answers,
        strategy={"tables": [list(pair) for pair in itertools.combinations(BINARY, 2)]},
        **({"series": series} if series else {}),
    )


@pytest.mark.parametrize("case", TRIED, ids=", ".join)
def test_two_periods_stand_and_cost_what_was_planned(project, tmp_path, log, case):
    """The bytes of every release were verified before it appeared, of the last one once more."""
    kind, mechanism, *_ = case
    path = configured(project, tmp_path, case)
    for number, period in enumerate(PERIODS, start=1):
        config = load_config(path, period=period)
        pipeline.measure(config, log=log)
        outcome = pipeline.publish(config, log=log)
        if kind != "all by where":  # whose file of measurements holds what is added up
            assert list(table_findings(outcome.path)) == []
        manifest = json.loads((outcome.path / "manifest.json").read_text(encoding="utf-8"))
        assert {each["mechanism"] for each in manifest["accounting"]["events"]} == {mechanism}
        with Ledger.open_existing(config.ledger.path) as ledger:
            ledger.verify_chain()
            spent = ledger.position("nobody").spent
        planned = number * config.privacy.epsilon
        if config.series is not None:
            planned = forecast_series(config).periods[number - 1].spent.epsilon
            assert manifest["series"]["index"] == number
        # of Gaussian tables epsilon is reckoned from rho, a little below what is declared
        assert 0 <= planned - spent.epsilon <= planned / 10**9
    assert verify_release(outcome.path).release_id == f"small-{PERIODS[-1]}"


def test_a_period_cannot_come_before_the_one_that_it_adds_to(project, tmp_path, log):
    case = ("all by where", LAPLACE, "record", "csv")
    config = load_config(configured(project, tmp_path, case), period=PERIODS[1])
    with pytest.raises(Exception, match="synth due"):
        pipeline.measure(config, log=log)
    assert not config.ledger.path.exists()


def test_any_two_choices_meet_and_every_kind_of_file_meets_each():
    for two in itertools.combinations(range(4), 2):
        assert {tuple(case[i] for i in two) for case in TRIED} == {
            tuple(case[i] for i in two) for case in CASES
        }


def test_the_table_has_every_kind_of_series():
    """New records must be selected; a table of a database differs from a file in its place alone:
    `tests/end_to_end/test_two_years.py` and `tests/engines` have those."""
    selected_by = set(get_args(SelectedBy)) - {"table"}
    kinds = set(itertools.product(get_args(Rows), selected_by)) - {("new", "nothing")}
    assert set(KINDS) == {f"{rows} by {selected}" for rows, selected in kinds} | {"none"}
    assert {kind for kind, *_ in TRIED} == set(KINDS)
