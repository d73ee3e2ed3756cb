"""The measured tables against the plan: other numeric libraries, and what adaptive may choose."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from synth.config import load_config
from synth.measurements import MeasuredTable, Measurements
from synth.noise import noise_variance
from synth.planning.spending import Spending
from synth.planning.weighing import planned_way
from synth.privacy import SelectionEvent, TableEvent
from synth.privacy.accounting import GAUSSIAN
from synth.release.verification.findings import Findings
from synth.release.verification.folder import Folder
from synth.release.verification.measurements_check import (
    OTHER,
    SPLIT_TOLERANCE,
    plan_findings,
    read_measured,
)

FULL = TableEvent(("age", "sex", "town"), 45, 1, Fraction(1, 2))
SMALL = TableEvent(
    ("sex",), 3, 1, mechanism=GAUSSIAN, rho=Fraction(1, 100), sensitivity_l2_squared=1
)
LARGE = replace(SMALL, table=("age",), cells=5, rho=Fraction(2, 100))
CHOICE = SelectionEvent(6, Fraction(1, 20))
FIRST_NAMES = ("age", "sex", "town")
ROUNDS = (0, 1, 2, 3)


@pytest.fixture
def config(project):
    return load_config(project(people=None, strategy="identity"))


@pytest.fixture
def schedule(project):
    """The arguments of `findings` for an adaptive configuration."""
    config = load_config(project(people=None, strategy="adaptive", workload={"marginals": 3}))
    return config, planned_way(config)


def chosen(schedule, order):
    """All events, if the candidates were chosen in this order."""
    found = schedule[1].schedule
    rounds = zip(found.rounds, order, strict=True)
    return (*found.first, *(each.event(found.candidates[place]) for each, place in rounds))


def choices(schedule):
    return tuple(each.selection for each in schedule[1].schedule.rounds)


def findings(config, planned, events, *, selections=(), other_arithmetic=False):
    """`planned` is a way to spend the budget, or its tables."""
    way = planned if isinstance(planned, Spending) else Spending("given", planned)
    tables = tuple(
        MeasuredTable(event, np.zeros(event.cells, dtype=np.int64), noise_variance(event))
        for event in events
    )
    measurements = Measurements("small", config.hash, tables, tuple(selections))
    return list(plan_findings(way, measurements, other_arithmetic=other_arithmetic))


def test_the_planned_events_in_their_order_are_right_and_no_others(config):
    planned = (FULL, LARGE, SMALL)
    assert findings(config, planned, planned) == []
    for events in ((FULL, SMALL, LARGE), (FULL, LARGE), (*planned, SMALL), (FULL, FULL, SMALL)):
        assert findings(config, planned, events) == [OTHER]
    assert findings(config, planned, planned, selections=[CHOICE]) == [
        "lists private choices, and the strategy makes none"
    ]


def test_the_last_digits_of_the_split_may_differ_under_other_arithmetic_alone(config):
    planned = (FULL, LARGE, SMALL)
    most = SPLIT_TOLERANCE * Fraction(3, 100)
    for rho, fine in ((SMALL.rho + most, True), (SMALL.rho + 2 * most, False)):
        events = (FULL, LARGE, replace(SMALL, rho=rho))
        assert findings(config, planned, events) == [OTHER]
        assert (findings(config, planned, events, other_arithmetic=True) == []) is fine
    for events in ((FULL, SMALL, LARGE), (FULL, replace(LARGE, coarsening=(1,)), SMALL)):
        assert findings(config, planned, events, other_arithmetic=True) == [OTHER]


def test_adaptive_is_its_schedule_with_any_choice_of_tables(schedule):
    for order in (ROUNDS, ROUNDS[::-1]):
        assert findings(*schedule, chosen(schedule, order), selections=choices(schedule)) == []
    assert findings(*schedule, schedule[1].first, selections=choices(schedule))[0].startswith(
        "lists 0 "
    )
    assert findings(*schedule, chosen(schedule, ROUNDS)[1:], selections=choices(schedule)) == [
        OTHER
    ]


def test_adaptive_pays_for_every_choice_what_the_schedule_says(schedule):
    events, right = chosen(schedule, ROUNDS), choices(schedule)
    other = (
        right[:-1],
        (*right, right[-1]),
        right[::-1],
        (replace(right[0], epsilon=right[0].epsilon / 2), *right[1:]),
        (),
    )
    for selections in other:
        (finding,) = findings(*schedule, events, selections=selections)
        assert finding == "lists other private choices than the configuration asks for"


def test_adaptive_chooses_candidates_once_and_with_the_noise_of_their_round(schedule):
    events, right = chosen(schedule, ROUNDS), choices(schedule)
    first = events[len(FIRST_NAMES)]
    budget = first.epsilon * Fraction(1001, 1000)
    for wrong, message in (
        (replace(first, epsilon=budget), "has other noise than was paid for"),
        (events[0], "was not up for choice, or twice"),
        (events[-1], "was not up for choice, or twice"),
        (replace(first, sensitivity_l1=2), "has other noise than was paid for"),
    ):
        changed = (*events[:3], wrong, *events[4:])
        found = findings(*schedule, changed, selections=right, other_arithmetic=True)
        assert any(message in each for each in found), (wrong, found)


def test_a_configuration_whose_noise_cannot_be_drawn_is_a_finding(tmp_path, project, monkeypatch):
    monkeypatch.setattr("synth.noise.discrete_gaussian.LARGEST_SIGMA_SQUARED", Fraction(2**34))
    path = project(
        people=None,
        strategy="adaptive",
        privacy={"epsilon": "0.0001", "delta": "1e-9"},
        ledger={"delta_cap": "1e-6"},
    )
    findings = Findings()
    folder = Folder(tmp_path)
    assert read_measured(folder, load_config(path), findings, other_arithmetic=False) is None
    (found,) = findings.found
    assert found.startswith("manifest.json: configuration:")
    assert "too wide to be drawn" in found
