"""The charge of a look: with all that is planned after it, and nothing else."""

from fractions import Fraction

import pytest

from synth.bookkeeping import Ledger
from synth.bookkeeping.file import LOOKED_SINCE, SCHEMA_VERSION
from synth.bookkeeping.recount import recount
from synth.errors import LedgerError
from synth.privacy import AfterLookEvent, Budget, LookEvent, TableEvent, total_budget
from tests.unit.bookkeeping.conftest import RECORDS

LOOK = LookEvent((1, 14), (("a", "b"), ("a", "c")), 2, Fraction(1, 25))
AFTER = AfterLookEvent(Fraction(24, 25), Fraction(1, 10**6))
PURE = AfterLookEvent(Fraction(24, 25), Fraction(0))
TABLE = TableEvent(("age",), 6, 1, Fraction(1, 3))


def charge(ledger, events, release_id="r", delta="1/1000000"):
    return ledger.reserve(
        release_id=release_id,
        configuration_hash="c0ffee",
        population="people",
        cap=Budget(Fraction(4), Fraction(1, 1000)),
        events=events,
        promise=RECORDS,
        delta=Fraction(delta),
    )


@pytest.mark.parametrize("after", [AFTER, PURE])
def test_a_look_costs_itself_and_what_is_reserved_after_it(ledger, path, after):
    _, position = charge(ledger, [LOOK, after])
    assert position.spent_now == Budget(Fraction(1), after.delta)
    assert position.spent_now == total_budget([LOOK, after], delta=Fraction(0))
    spent = recount(ledger.history())["people"]
    assert spent == (Fraction(1).as_integer_ratio(), after.delta.as_integer_ratio())
    ledger.verify_chain()
    with Ledger.open(path) as again:
        assert again.position("people").runs[-1].tables == (LOOK, after)
        charge(again, [TABLE], "s")
        assert again.position("people").spent.epsilon == Fraction(4, 3)


def test_a_ledger_moves_on_with_its_first_look_alone(ledger):
    charge(ledger, [TABLE], "before")
    assert ledger.history()[0].read() == {"schema_version": SCHEMA_VERSION}
    assert "migrated" not in [event.kind for event in ledger.history()]
    charge(ledger, [LOOK, AFTER])
    charge(ledger, [LOOK, AFTER], "again")
    moved = [event.read() for event in ledger.history() if event.kind == "migrated"]
    assert moved == [{"schema_version": LOOKED_SINCE}]


def test_an_old_ledger_moves_on_at_once(make_old):
    with Ledger.open(make_old(1, {})) as ledger:
        charge(ledger, [LOOK, AFTER])
        kinds = [event.kind for event in ledger.history()]
        assert kinds == ["created", "migrated", "reserve"]


@pytest.mark.parametrize(
    "events",
    [[LOOK], [AFTER], [AFTER, LOOK], [LOOK, AFTER, TABLE], [LOOK, AFTER, AFTER], [LOOK, TABLE]],
)
def test_one_without_the_other_is_refused(ledger, events):
    with pytest.raises(ValueError, match="a look is charged together"):
        charge(ledger, events)
    assert ledger.position("people").spent.epsilon == 0


def test_a_look_in_a_ledger_that_knows_none_is_no_charge(ledger, monkeypatch):
    monkeypatch.setattr("synth.bookkeeping.ledger.LOOKED_SINCE", SCHEMA_VERSION)
    with pytest.raises(LedgerError, match="makes no sense"):
        charge(ledger, [LOOK, AFTER])


@pytest.mark.parametrize(
    ("kind", "event", "changes"),
    [
        (
            LookEvent,
            LOOK,
            [
                {"firsts": [1, 14, 14]},
                {"firsts": [0, 14]},
                {"firsts": "1"},
                {"pairs": None},
                {"pairs": "ab"},
                {"pairs": ["ab"]},
                {"pairs": [["a"]]},
                {"pairs": [["a", "a"]]},
                {"pairs": [["a", "b", "c"]]},
                {"pairs": [["a", "b"], ["b", "a"]]},
                {"pairs": [["a", 1]]},
                {"epsilon": "1/25/2"},
                {"epsilon": "-1"},
                {"mechanism": "discrete-gaussian"},
                {"sensitivity_l1": 0},
                {"more": 1},
            ],
        ),
        (
            AfterLookEvent,
            AFTER,
            [
                {"epsilon": "0"},
                {"epsilon": "98/100"},
                {"delta": "0/1"},
                {"delta": "1"},
                {"delta": "-1/2"},
                {"mechanism": "discrete-laplace"},
                {"more": 1},
            ],
        ),
    ],
)
def test_events_are_read_in_their_one_form_only(kind, event, changes):
    assert kind.from_plain(event.to_plain()) == event
    for change in changes:
        with pytest.raises((ValueError, TypeError)):
            kind.from_plain(event.to_plain() | change)
    for wrong in (None, [], "x"):
        with pytest.raises((ValueError, TypeError)):
            kind.from_plain(wrong)


def test_budgets_are_exact_and_positive():
    for wrong in (0.5, 1):
        with pytest.raises(TypeError):
            LookEvent((1,), (), 1, wrong)
        with pytest.raises(TypeError):
            AfterLookEvent(wrong, Fraction(0))
        with pytest.raises(TypeError):
            AfterLookEvent(Fraction(1), wrong)
    with pytest.raises(ValueError, match="positive"):
        AfterLookEvent(Fraction(0), Fraction(0))
    assert LOOK.as_table == TableEvent((), 3, 2, Fraction(1, 25))
    assert LookEvent((1, 14), (), 1, Fraction(1, 50)).counts == 2
