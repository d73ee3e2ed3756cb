"""Charges for Gaussian tables and private choices: converted once, recounted the other way."""

import json
from fractions import Fraction

import pytest

from synth.bookkeeping import Ledger
from synth.bookkeeping.file import LedgerEvent
from synth.bookkeeping.recount import recount
from synth.bookkeeping.run import tables_from_plain, tables_to_plain
from synth.errors import BudgetRefusedError
from synth.privacy import Budget, OpenTableEvent, Promise, SelectionEvent, TableEvent, total_budget

DELTA = Fraction(1, 10**9)
CAP = Budget(Fraction(4), Fraction(1, 10**8))


def gaussian(rho, **changes):
    return TableEvent(
        ("age",),
        3,
        1,
        mechanism="discrete-gaussian",
        rho=Fraction(rho),
        sensitivity_l2_squared=1,
        **changes,
    )


EVENTS = (
    gaussian("1/100"),
    gaussian("1/200", coarsening=(1,)),
    TableEvent(("age", "sex"), 6, 1, Fraction(1, 10)),
    SelectionEvent(12, Fraction(1, 50)),
    OpenTableEvent(1, Fraction(1, 7)),
    OpenTableEvent(
        2, mechanism="discrete-gaussian", rho=Fraction(1, 300), sensitivity_l2_squared=2
    ),
)


def reserve(ledger, events=EVENTS, *, release_id="a", delta=DELTA, cap=CAP):
    return ledger.reserve(
        release_id=release_id,
        configuration_hash="c",
        population="people",
        promise=Promise("add-remove", None, None),
        cap=cap,
        events=events,
        delta=delta,
    )


def test_every_event_survives_its_plain_form():
    assert tables_from_plain(json.loads(json.dumps(tables_to_plain(EVENTS)))) == EVENTS


def test_an_old_entry_of_a_laplace_table_is_read():
    old = {
        "table": ["age"],
        "cells": "3",
        "sensitivity_l1": 1,
        "epsilon": "1/2",
        "mechanism": "discrete-laplace",
    }
    assert tables_from_plain([old]) == (TableEvent(("age",), 3, 1, Fraction(1, 2)),)
    assert tables_to_plain([TableEvent(("age",), 3, 1, Fraction(1, 2))]) == [old]


def test_the_charge_is_the_total_budget_and_comes_back(path, ledger):
    charge = total_budget(EVENTS, delta=DELTA)
    _, position = reserve(ledger)
    assert position.spent_now == charge
    assert charge.delta == DELTA
    with Ledger.open_existing(path) as again:
        assert again.state("a").tables == EVENTS
        assert again.position("people").spent == charge


def test_deltas_of_several_releases_add_up_and_are_capped(ledger):
    for number in range(10):
        reserve(ledger, [gaussian("1/1000")], release_id=f"r{number}")
    assert ledger.position("people").spent.delta == CAP.delta
    with pytest.raises(BudgetRefusedError, match="delta"):
        reserve(ledger, [gaussian("1/1000")], release_id="one-more")
    reserve(ledger, [EVENTS[2]], release_id="pure")
    assert ledger.state("pure").charge == Budget(Fraction(1, 10), Fraction(0))


def test_gaussian_tables_without_a_delta_are_not_charged(ledger):
    with pytest.raises(ValueError, match="delta"):
        reserve(ledger, delta=Fraction(0))
    assert ledger.state("a") is None


def recounted(events, charge):
    payload = {
        "tables": tables_to_plain(events),
        "charge": {"epsilon": str(charge.epsilon), "delta": str(charge.delta)},
    }
    event = LedgerEvent(2, "", "reserve", "people", "a", "", json.dumps(payload), "")
    return recount([event])["people"]


@pytest.mark.parametrize("delta", ["1e-12", "1e-9", "1e-6", "1e-5"])
@pytest.mark.parametrize(
    "events",
    [
        EVENTS,
        [gaussian("1e-8")],
        [gaussian("3")],
        [gaussian("1/100"), *[SelectionEvent(5, Fraction(1, 100))] * 100],
    ],
    ids=["mixed", "small", "large", "many small choices"],
)
def test_the_recount_agrees_with_a_right_charge_and_refuses_a_smaller_one(events, delta):
    charge = total_budget(events, delta=Fraction(delta))
    found = recounted(events, charge)
    assert found == (charge.epsilon.as_integer_ratio(), charge.delta.as_integer_ratio())
    less = Budget(charge.epsilon * Fraction(999, 1000), charge.delta)
    with pytest.raises(ValueError, match="too small"):
        recounted(events, less)
    less = Budget(charge.epsilon, charge.delta * Fraction(99, 100))
    with pytest.raises(ValueError, match="too small"):
        recounted(events, less)
