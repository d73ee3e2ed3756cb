"""The plan of a series: its errors follow the noise that is drawn, its totals the ledger's rule."""

import json
import math
from copy import deepcopy
from fractions import Fraction
from itertools import combinations

import pytest
from rich.console import Console

from synth.config import load_config
from synth.errors import ConfigError
from synth.planning.series import SHOWN, forecast_series
from synth.planning.series_printed import render, to_json, write_plot
from synth.privacy import Budget
from tests.unit.planning.test_plot import STARTS

WHERE = {"where": {"column": "day", "within": "period"}}
PERSON = {"unit": {"column": "person", "max_records": 2}}


@pytest.fixture
def configured(project):
    """A series of the small release; `where` and the unit of persons on request."""

    def make(*, where=True, person=False, cap=100, changes=None, **series):
        path = project(
            release={"id": "small-{period}"},
            source={"path": "people.csv", **(WHERE if where else {})},
            series={"every": "month", "first": "2026-01", "rows": "all", "horizon": 24} | series,
            **{
                "privacy": PERSON if person else {},
                "ledger": {"epsilon_cap": cap},
                "strategy": {"tables": [["age"], ["sex", "town"]]},
            }
            | (changes or {}),
        )
        return load_config(path, period="2026-01")

    return make


def test_cumulative_counts_have_the_noise_of_what_is_added_up(configured):
    plan = forecast_series(configured())
    assert plan.factorization.to_plain()["kind"] == "tree"
    for period in plan.periods:  # increments alone, at this horizon
        assert period.noise == pytest.approx(math.sqrt(period.index))
    last = plan.periods[-1]
    assert last.noise_if_split == pytest.approx(24, rel=0.03)
    assert last.noise_of_binary_tree == pytest.approx(math.sqrt(2 * 5**2), rel=0.03)
    assert last.noise < last.noise_if_split / 3
    (_, first), *_, (index, shown) = plan.shown
    assert index == 24
    for early, late in zip(first.queries, shown.queries, strict=True):
        assert late.sd_records == pytest.approx(early.sd_records * math.sqrt(24), rel=1e-9)


def test_gaussian_counts_beat_splitting_by_what_theory_allows(configured):
    names = [f"column-{number}" for number in range(7)]
    words = {"type": "boolean", "out_of_domain": "missing", "missing": [""], "source": "test"}
    many = {
        "privacy": {"delta": "1e-6"},
        "ledger": {"epsilon_cap": 1, "delta_cap": "1e-6"},
        "domain": [{"name": name, **deepcopy(words)} for name in names],
        "strategy": {"tables": [list(pair) for pair in combinations(names, 2)]},
    }
    plan = forecast_series(configured(changes=many))
    last = plan.periods[-1]
    assert last.noise_if_split == pytest.approx(math.sqrt(24), rel=0.01)
    assert last.noise < 2.1
    assert last.noise_of_binary_tree == pytest.approx(math.sqrt(2 * 5), rel=0.01)


CASES = {
    "new records": ({"rows": "new"}, 1, 1, None, 1, [1, 1]),
    "new records, renewed": ({"rows": "new", "renewal": "next"}, 1, 1, None, 1, [1, 1]),
    "new records of persons": ({"rows": "new", "person": True}, 1, 24, None, 24, [1, 24]),
    "persons, renewed": (
        {"rows": "new", "person": True, "renewal": "next"}, 1, 24, None, None, [1, 24]
    ),
    "persons in some": ({"rows": "new", "person": True, "max_periods": 3}, 1, 3, None, 3, [1, 3]),
    "persons, window": (
        {"rows": "new", "person": True, "renewal": {"window": 6}}, 1, 24, 6, None, [1, 6]
    ),
    "all records": ({}, 1, 1, None, 1, [1, 1]),
    "all records, renewed": ({"renewal": "next"}, 1, 1, None, 1, [1, 1]),
    "all of persons, renewed": ({"person": True, "renewal": "next"}, 1, 1, None, None, [1, 1]),
    "all again": ({"where": False}, 1, 24, None, 24, [1, 24]),
    "all again, window": ({"where": False, "renewal": {"window": 4}}, 1, 24, 4, None, [1, 4]),
    "all again, other people": (
        {"where": False, "renewal": {"population": "p-{cycle}", "source": "they leave"}},
        1, 24, None, 24, [1, 24],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_totals_follow_the_rule_of_the_series(configured, case):
    asked, release, horizon, window, for_ever, spent = CASES[case]
    plan = forecast_series(configured(**asked))

    def budget(number):
        return None if number is None else Budget(Fraction(number), Fraction(0))

    assert plan.totals.release == budget(release)
    assert plan.totals.horizon == budget(horizon)
    assert plan.totals.window == budget(window)
    assert plan.totals.for_ever == budget(for_ever)
    ends = plan.periods[0].spent, plan.periods[-1].spent
    assert list(ends) == [budget(each) for each in spent]
    said = " ".join(plan.sentences)
    assert ("source.where" in said) == case.startswith("all again")
    assert ("without a bound" in said) == (for_ever is None)


def test_persons_in_some_periods_are_no_records_of_one_period(configured):
    """What the claim rests on is said of the unit that it is about."""
    plan = forecast_series(configured(rows="new", person=True, max_periods=1))
    said = " ".join(plan.sentences)
    assert "A person is counted in 1 period at most" in said
    assert "no row of a person is deleted" in said
    assert "A record is in one" not in said


def test_what_is_printed_drawn_and_written_as_json(configured, tmp_path):
    plan = forecast_series(configured())
    console = Console(record=True, width=100)
    render(plan, console)
    text = console.export_text()
    for word in ("small-{period}", "2027-12", "2028-01-01", "if split", "one release epsilon 1"):
        assert word in text
    found = json.loads(to_json(plan))
    assert [each["index"] for each in found["periods"]] == list(range(1, 25))
    assert len(found["forecasts"]) == SHOWN
    assert found["factorization"] == plan.factorization.to_plain()
    for ending, start in STARTS.items():
        path = tmp_path / f"series{ending}"
        write_plot(plan, path)
        assert path.read_bytes().startswith(start)


def test_a_configuration_without_a_series_is_refused(project):
    with pytest.raises(ConfigError, match="series"):
        forecast_series(load_config(project()))
