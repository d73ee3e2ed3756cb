"""The measured tables against the plan: other numeric libraries, and what adaptive may choose."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from synth.config import load_config
from synth.measurements import MeasuredTable, Measurements, noise_variance
from synth.privacy import SelectionEvent, TableEvent
from synth.privacy.accounting import GAUSSIAN
from synth.release.verification.planned import OTHER, SPLIT_TOLERANCE, plan_findings

FULL = TableEvent(("age", "sex", "town"), 45, 1, Fraction(1, 2))
SMALL = TableEvent(
    ("sex",), 3, 1, mechanism=GAUSSIAN, rho=Fraction(1, 100), sensitivity_l2_squared=1
)
LARGE = replace(SMALL, table=("age",), cells=5, rho=Fraction(2, 100))
CHOICE = SelectionEvent(6, Fraction(1, 20))
FIRST = LARGE, SMALL
PAIR = replace(SMALL, table=("age", "sex"), coarsening=(0, 0), cells=15)


@pytest.fixture
def config(project):
    return load_config(project(people=None, strategy="identity"))


@pytest.fixture
def adaptive(config):
    return replace(config, strategy="adaptive")


def findings(config, planned, events, *, selections=(), other_arithmetic=False):
    tables = tuple(
        MeasuredTable(event, np.zeros(event.cells, dtype=np.int64), noise_variance(event))
        for event in events
    )
    measurements = Measurements("small", config.hash, tables, tuple(selections))
    return list(plan_findings(config, planned, measurements, other_arithmetic=other_arithmetic))


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


def test_adaptive_goes_on_from_its_first_tables_by_choices_that_were_paid(adaptive):
    assert findings(adaptive, FIRST, (*FIRST, PAIR), selections=[CHOICE]) == []
    assert findings(adaptive, FIRST, FIRST) == []
    assert findings(adaptive, FIRST, FIRST[:1]) == [OTHER]
    (finding,) = findings(adaptive, FIRST, (*FIRST, PAIR))
    assert finding == "lists 1 tables beyond the first ones, and fewer choices of them"


@pytest.mark.parametrize(
    ("later", "message"),
    [
        (replace(SMALL, table=FULL.table, coarsening=(0, 0, 0), cells=45), "no table of the work"),
        (TableEvent(("age", "sex"), 15, 1, Fraction(1, 10)), "another mechanism"),
    ],
)
def test_adaptive_chooses_among_what_the_workload_asks_for(adaptive, later, message):
    (finding,) = findings(adaptive, FIRST, (*FIRST, later), selections=[CHOICE])
    assert finding.startswith("table 2 ")
    assert message in finding
