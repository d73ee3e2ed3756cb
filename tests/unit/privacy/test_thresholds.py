"""Tables with a threshold: what their events must say, and what they cost together."""

from fractions import Fraction

import pytest

from synth.privacy import Budget, TableEvent, rho_to_epsilon, total_budget

DELTA = Fraction(1, 10**6)
PURE = {"table": ("a",), "cells": 4, "sensitivity_l1": 1, "epsilon": Fraction(1, 2)}
SELECTION = PURE | {"mechanism": "partition-selection", "threshold": 30, "delta": DELTA / 4}
GAUSSIAN = TableEvent(
    ("a",), 4, 1, mechanism="discrete-gaussian", rho=Fraction(1, 50), sensitivity_l2_squared=1
)


@pytest.mark.parametrize(
    ("event", "error"),
    [
        (PURE | {"threshold": 0}, ValueError),
        (PURE | {"threshold": -3}, ValueError),
        (PURE | {"threshold": 2.0}, TypeError),
        (PURE | {"threshold": True}, TypeError),
        (PURE | {"delta": DELTA}, TypeError),
        (PURE | {"threshold": 5, "delta": DELTA}, TypeError),
        (SELECTION | {"threshold": None}, TypeError),
        (SELECTION | {"delta": None}, TypeError),
        (SELECTION | {"delta": 1e-6}, TypeError),
        (SELECTION | {"delta": Fraction(0)}, ValueError),
        (SELECTION | {"delta": Fraction(1)}, ValueError),
        (SELECTION | {"epsilon": None}, TypeError),
    ],
)
def test_an_event_says_exactly_what_its_mechanism_needs(event, error):
    with pytest.raises(error):
        TableEvent(**event)


def test_gaussian_noise_has_no_threshold():
    with pytest.raises(ValueError, match="only Laplace"):
        TableEvent(
            ("a",),
            4,
            1,
            mechanism="discrete-gaussian",
            rho=Fraction(1),
            sensitivity_l2_squared=1,
            threshold=4,
        )


def test_a_threshold_is_free():
    events = [TableEvent(**PURE, threshold=9), TableEvent(**PURE)]
    assert total_budget(events, delta=Fraction(0)) == Budget(Fraction(1), Fraction(0))


def test_epsilons_and_deltas_of_selections_add_up():
    events = [TableEvent(**SELECTION), TableEvent(**SELECTION), TableEvent(**PURE)]
    assert total_budget(events, delta=DELTA) == Budget(Fraction(3, 2), DELTA / 2)


def test_gaussian_tables_share_the_delta():
    total = total_budget([TableEvent(**SELECTION), GAUSSIAN], delta=DELTA)
    assert total == Budget(Fraction(1, 2) + rho_to_epsilon(GAUSSIAN.rho, DELTA * 3 / 4), DELTA)


def test_nothing_is_left_for_gaussian_tables():
    events = [TableEvent(**SELECTION), GAUSSIAN]
    with pytest.raises(ValueError, match="delta"):
        total_budget(events, delta=DELTA / 4)
