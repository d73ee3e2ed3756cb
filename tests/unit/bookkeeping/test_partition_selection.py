"""Charges for lists of cells: an epsilon and a delta beside those of every other table."""

import json
from fractions import Fraction

import pytest

from synth.bookkeeping.file import LedgerEvent
from synth.bookkeeping.recount import recount
from synth.bookkeeping.run import tables_from_plain, tables_to_plain
from synth.errors import BudgetRefusedError
from synth.privacy import Budget, Promise, TableEvent, total_budget

HALF = Fraction(1, 2 * 10**9)
WIDE = 10**30
PURE_LIST = TableEvent(("age", "sex"), WIDE, 1, Fraction(1, 10), threshold=600)
SELECTION = TableEvent(
    ("age", "sex"), WIDE, 2, Fraction(1, 3), "partition-selection", threshold=90, delta=HALF
)
LAPLACE = TableEvent(("age",), 3, 1, Fraction(1, 7))
GAUSSIAN = TableEvent(
    ("age",),
    3,
    1,
    mechanism="discrete-gaussian",
    rho=Fraction(1, 100),
    sensitivity_l2_squared=1,
)
DELTA = Fraction(1, 10**9)
CAP = Budget(Fraction(4), DELTA)


def charge(ledger, *events, cap=CAP, release_id="a"):
    return ledger.reserve(
        release_id=release_id,
        configuration_hash="c",
        population="people",
        promise=Promise("add-remove", None, None),
        cap=cap,
        events=events,
        delta=DELTA,
    )


def test_every_list_survives_its_plain_form():
    events = (PURE_LIST, SELECTION, LAPLACE)
    assert tables_from_plain(json.loads(json.dumps(tables_to_plain(events)))) == events


def test_a_pure_list_costs_its_epsilon_alone(ledger):
    charge(ledger, PURE_LIST, LAPLACE)
    assert recount(ledger.history())["people"] == ((17, 70), (0, 1))


def test_partition_selection_costs_its_delta_by_hand(ledger):
    charge(ledger, SELECTION, LAPLACE)
    assert recount(ledger.history())["people"] == ((10, 21), (1, 2 * 10**9))
    ledger.void("a", "a reason")
    assert recount(ledger.history())["people"] == ((0, 1), (0, 1))


def test_gaussian_tables_get_the_delta_that_is_left(ledger):
    charge(ledger, SELECTION, GAUSSIAN, LAPLACE)
    spent, loss = recount(ledger.history())["people"]
    alone = total_budget([GAUSSIAN, LAPLACE], delta=DELTA - HALF)
    assert Fraction(*spent) == alone.epsilon + Fraction(1, 3)
    assert Fraction(*loss) == DELTA


def test_a_delta_over_the_cap_is_refused(ledger):
    with pytest.raises(BudgetRefusedError):
        charge(ledger, SELECTION, cap=Budget(Fraction(4), HALF / 2))


@pytest.mark.parametrize(
    ("epsilon", "delta", "message"),
    [(0, HALF, "no delta"), (-Fraction(1, 1000), 0, "too small")],
)
def test_the_recount_sees_a_charge_that_is_too_small(ledger, epsilon, delta, message):
    charge(ledger, SELECTION, GAUSSIAN)
    history = list(ledger.history())
    payload = json.loads(history[-1].payload)
    paid = payload["charge"]
    paid["epsilon"] = str(Fraction(paid["epsilon"]) + epsilon)
    paid["delta"] = str(Fraction(paid["delta"]) - delta)
    forged = LedgerEvent.chained(
        seq=history[-1].seq,
        previous_hash=history[-1].previous_hash,
        kind="reserve",
        population="people",
        release_id="a",
        day=history[-1].day,
        payload=payload,
    )
    with pytest.raises(ValueError, match=message):
        recount([*history[:-1], forged])
