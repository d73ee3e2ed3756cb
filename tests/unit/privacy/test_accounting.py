"""Accounting in exact fractions."""

import math
from fractions import Fraction

import pytest

from synth.privacy import Budget, OpenTableEvent, SelectionEvent, TableEvent, total_budget

ZERO = Fraction(0)


def event(epsilon, **changes):
    fields = {"table": ("a",), "cells": 3, "sensitivity_l1": 1, "epsilon": epsilon}
    return TableEvent(**{**fields, **changes})


def test_a_tenth_ten_times_is_one():
    total = total_budget([event(Fraction("0.1"))] * 10, delta=ZERO)
    assert total == Budget(Fraction(1), Fraction(0))
    assert sum([0.1] * 10) != 1, "floats would have got this wrong"


def test_tiny_amounts_are_not_lost():
    total = total_budget([event(Fraction(10**9)), *[event(Fraction(1, 10**30))] * 3], delta=ZERO)
    assert total.epsilon == 10**9 + Fraction(3, 10**30)


def test_nothing_spent_is_zero():
    assert total_budget([], delta=ZERO) == Budget(Fraction(0), Fraction(0))


@pytest.mark.parametrize("seed", range(5))
def test_the_total_agrees_with_an_independent_sum(seed):
    """The same sum over one common denominator, in whole numbers."""
    pairs = [((7 * i + seed) % 19 + 1, (5 * i + 3 * seed) % 23 + 1) for i in range(40)]
    denominator = math.lcm(*(d for _, d in pairs))
    numerator = sum(n * (denominator // d) for n, d in pairs)
    total = total_budget((event(Fraction(n, d)) for n, d in pairs), delta=ZERO)
    assert (total.epsilon.numerator * denominator) == (numerator * total.epsilon.denominator)
    assert total.delta == 0


def test_budgets_add_up_part_by_part():
    first, second = Budget(Fraction(1, 3), Fraction(1, 10)), Budget(Fraction(1, 6), Fraction(1, 5))
    assert first + second == Budget(Fraction(1, 2), Fraction(3, 10))


@pytest.mark.parametrize("mechanism", ["laplace", "", "Discrete-Laplace"])
def test_an_unknown_mechanism_is_refused(mechanism):
    known, unknown = event(Fraction(1)), event(Fraction(1), mechanism=mechanism)
    with pytest.raises(ValueError, match="no accounting rule"):
        total_budget([known, unknown], delta=ZERO)


def test_noise_scale_is_sensitivity_over_epsilon():
    assert event(Fraction("0.3"), sensitivity_l1=2).noise_scale_records == Fraction(20, 3)


def test_sigma_squared_is_the_sensitivity_over_twice_rho():
    noise = {"mechanism": "discrete-gaussian", "rho": Fraction(1, 7), "sensitivity_l2_squared": 9}
    assert TableEvent(("a",), 3, 3, **noise).sigma_squared == Fraction(63, 2)


@pytest.mark.parametrize(
    "changes",
    [
        {"epsilon": Fraction(0)},
        {"epsilon": Fraction(-1)},
        {"sensitivity_l1": 0},
        {"cells": 0},
    ],
)
def test_an_event_without_substance_is_refused(changes):
    with pytest.raises(ValueError, match="positive"):
        event(**{"epsilon": Fraction(1), **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"epsilon": 0},
        {"epsilon": 0.0},
        {"epsilon": 0.1},
        {"epsilon": None},
        {"epsilon": True},
        {"epsilon": "1"},
        {"sensitivity_l1": 1.0},
        {"sensitivity_l1": True},
        {"cells": 2.0},
    ],
)
def test_an_event_with_inexact_numbers_is_refused(changes):
    with pytest.raises(TypeError):
        event(**{"epsilon": Fraction(1), **changes})


@pytest.mark.parametrize("wrong", [0, 1, 0.1, None, "1"])
def test_a_budget_holds_exact_fractions_only(wrong):
    with pytest.raises(TypeError):
        Budget(wrong, Fraction(0))
    with pytest.raises(TypeError):
        Budget(Fraction(0), wrong)


@pytest.mark.parametrize(
    "noise",
    [
        {"epsilon": Fraction(1, 3)},
        {"mechanism": "discrete-gaussian", "rho": Fraction(1, 50), "sensitivity_l2_squared": 2},
    ],
)
def test_a_table_that_is_still_to_be_chosen_costs_what_it_costs_once_it_is(noise):
    delta = Fraction(1, 10**6)
    choice = SelectionEvent(4, Fraction(1, 9))
    place = OpenTableEvent(2, **noise)
    for names, cells, coarsening in ((("a",), 2, (0,)), (("a", "b"), 10**6, (1, 0))):
        named = place.over(names, cells, coarsening)
        assert (named.table, named.cells, named.coarsening) == (names, cells, coarsening)
        assert total_budget([choice, place], delta=delta) == total_budget(
            [choice, named], delta=delta
        )


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({}, TypeError),
        ({"epsilon": 1}, TypeError),
        ({"epsilon": Fraction(0)}, ValueError),
        ({"epsilon": Fraction(1), "rho": Fraction(1)}, TypeError),
        ({"mechanism": "discrete-gaussian", "rho": Fraction(1)}, TypeError),
    ],
)
def test_a_place_without_its_whole_noise_is_refused(wrong, error):
    with pytest.raises(error):
        OpenTableEvent(1, **wrong)
