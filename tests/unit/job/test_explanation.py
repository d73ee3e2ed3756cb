"""`synth explain`: every number is a bound on the safe side, and the ledger's state is told."""

import json
import math
import re
from copy import deepcopy

import pytest

from synth.config import load_config
from synth.job.explanation import explain, render_explanation
from synth.privacy.meaning import at_least, at_most
from tests.command_line import synth


def test_the_bounds_of_epsilon_1_are_said_in_words(project):
    text = render_explanation(explain(load_config(project(people=None))))
    assert "epsilon 1. Had one record been left out" in text
    assert "a suspicion of 10 % can grow to at most 23.2 %" in text
    assert "No ledger is at hand here" in text
    assert all(len(line) <= 88 for line in text.splitlines())


def test_what_codes_mean_is_said_once_for_columns_that_share_it(project):
    labels = {"Female": "F of the form", "missing": "no tick"}
    column = {"name": "sex", "type": "categorical", "levels": ["Female", "Male"], "missing": [""]}
    column |= {"labels": labels, "out_of_domain": "missing", "source": "test"}
    spouse = deepcopy(column) | {"name": "sex of spouse"}
    path = project(people=None, domain=[column, spouse])
    text = " ".join(render_explanation(explain(load_config(path))).split())
    said = "* Female (F of the form), missing (no tick): in sex, sex of spouse"
    assert text.count(said) == text.count("F of the form") == 1


@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "1", "3", "12"])
def test_no_bound_is_understated(project, epsilon):
    path = project(people=None, privacy={"epsilon": epsilon}, ledger={"epsilon_cap": 20})
    text = " ".join(render_explanation(explain(load_config(path))).split())
    growth = math.exp(float(epsilon))
    said = re.findall(
        r"suspicion of (\S+) % can grow to at most (\S+) %, and shrink to no less than (\S+) %",
        text,
    )
    assert len(said) == 3
    for prior, largest, smallest in said:
        p = float(prior) / 100
        assert float(largest) / 100 >= p * growth / (1 - p + p * growth) > 0
        assert float(smallest) / 100 <= p / (p + (1 - p) * growth) < 1
    tests = re.findall(r"wrongly accuses (\S+) % overlooks at least (\S+) %", text)
    assert len(tests) == 3
    for wrong, missed in tests:
        p = float(wrong) / 100
        assert float(missed) / 100 <= max(0, 1 - growth * p, (1 - p) / growth)
    factor = float(re.search(r"factor of at most ([\d,.]+?)\.? ", text)[1].replace(",", ""))
    assert growth <= factor <= growth * 1.01


@pytest.mark.parametrize(
    ("share", "most", "least"),
    [
        (0.0, 0, 0),
        (1.0, 100, 100),
        (0.5, 50, 50),
        (0.99999, 99.999, 99.999),
        (0.999999, 99.9999, 99.9999),
        (0.026724, 2.68, 2.67),
        (0.9945678, 99.457, 99.456),
    ],
)
def test_probabilities_are_rounded_to_their_side(share, most, least):
    assert float(at_most(share).removesuffix(" %")) == most
    assert float(at_least(share).removesuffix(" %")) == least


def test_a_delta_is_explained_and_a_person_is_protected_as_a_whole(project):
    path = project(
        people=None,
        privacy={"delta": "1e-6", "unit": {"column": "person", "max_records": 3}},
        ledger={"delta_cap": "1e-5"},
        strategy={"tables": [["age", "sex"], ["age", "town"], ["sex", "town"], ["age"]]},
    )
    explanation = explain(load_config(path))
    text = " ".join(render_explanation(explanation).split())
    assert "everything in the records with one and the same person. At most 3 records" in text
    if explanation.budget.delta:
        assert "but for an added 0.000001" in text
        assert "Where delta comes in" in text


def test_what_was_spent_is_told_from_the_ledger(project):
    path = project(strategy="identity")
    before = synth("explain", path, "--json")
    assert json.loads(before.stdout)["population"]["spent"] is None
    assert synth("run", path).returncode == 0
    explanation = explain(load_config(path))
    assert explanation.to_plain()["population"]["spent"] == {"epsilon": "1", "delta": "0"}
    text = " ".join(render_explanation(explanation).split())
    assert "Spent so far (this release included): epsilon 1." in text


def test_a_series_says_what_it_costs_and_what_that_rests_on(project):
    others = {"population": "people-{cycle}", "source": "They leave school"}
    config = load_config(
        project(
            release={"id": "small-{period}"},
            source={"where": {"column": "seen_on", "within": "period"}},
            series={
                "every": "month", "first": "2026-01", "rows": "new", "horizon": 12,
                "max_periods": 2, "renewal": others,
            },
            privacy={"unit": {"column": "person", "max_records": 3}},
        ),
        period="2026-03",
    )  # fmt: skip
    text = " ".join(render_explanation(explain(config)).split())
    assert (
        "This is a release of a series: every month from 2026-01, 12 periods, the records of each; "
        "afterwards: other people (people-{cycle}). Its cost: epsilon 1 for a period, 2 at most "
        "within a horizon: the largest charges count. That rests on it that every record keeps its "
        "period, and that no row of a person is deleted; no program can check it. Later horizons "
        "are about other people; the curator states: They leave school"
    ) in text
