"""One population, one promise: only epsilons of one unit and one relation are added up."""

import json
from fractions import Fraction
from itertools import product

import pytest

from synth.bookkeeping import Ledger, RunState
from synth.errors import BudgetRefusedError, BugError, LedgerError, PublishedDifferentlyError
from synth.privacy import Budget, Charge, Promise, TableEvent, population_total
from synth.privacy.population import common_promise
from tests.unit.bookkeeping.test_parts import forged, part

UNITS = [(None, None), *product(("a", "b"), (1, 2, 5))]
PROMISES = [
    Promise(neighbours, column, most)
    for neighbours, (column, most) in product(("add-remove", "replace-one"), UNITS)
]
RECORDS = Promise("add-remove", None, None)
PEOPLE = Promise("add-remove", "a", 5)


def same_neighbours(one, other):
    """The slow definition, from the words of the promises: the bound alone may differ."""
    plain = [{**promise.to_plain(), "max_records": None} for promise in (one, other)]
    return plain[0] == plain[1]


@pytest.mark.parametrize("first", PROMISES, ids=str)
def test_of_all_ordered_pairs_those_are_refused_that_do_not_add_up(ledger, reserve, first):
    for number, second in enumerate(PROMISES):
        population = f"people {number}"
        reserve(f"one-{number}", "1", population=population, promise=first)
        if same_neighbours(first, second):
            _, position = reserve(f"two-{number}", "1/2", population=population, promise=second)
            assert position.promise == second
            assert ledger.state(f"two-{number}").promise == second
            assert position.spent_after == Budget(Fraction(3, 2), Fraction(0))
        else:
            before = ledger.history()
            with pytest.raises(BudgetRefusedError, match="is bound to") as refusal:
                reserve(f"two-{number}", "1/2", population=population, promise=second)
            assert str(first) in refusal.value.sentence
            assert str(second) in refusal.value.sentence
            assert refusal.value.exit_code == 4
            assert refusal.value.why
            assert "ledger.population" in refusal.value.fix
            assert ledger.history() == before
        assert ledger.position(population).promise == first


def test_voided_runs_bind_nobody(ledger, reserve):
    reserve("r", promise=RECORDS)
    ledger.void("r", "wrong unit")
    assert ledger.position("people").promise is None
    reserve("p", promise=PEOPLE)
    assert ledger.position("people").promise == PEOPLE
    with pytest.raises(BudgetRefusedError):
        reserve("r", promise=RECORDS)


def test_another_population_is_bound_by_its_own_releases(ledger, reserve):
    reserve("r", promise=RECORDS)
    reserve("p", population="persons", promise=PEOPLE)
    assert ledger.position("persons").promise == PEOPLE


def test_the_same_release_cannot_be_taken_up_with_another_promise(reserve):
    reserve("r", promise=RECORDS)
    with pytest.raises(PublishedDifferentlyError, match="another privacy unit or neighbouring"):
        reserve("r", promise=PEOPLE)


def test_a_part_under_replace_one_is_never_charged(ledger):
    with pytest.raises(BugError):
        ledger.reserve(
            release_id="n",
            configuration_hash="c",
            population="people",
            promise=Promise("replace-one", None, None),
            cap=Budget(Fraction(1), Fraction(0)),
            events=[TableEvent(("age",), 6, 1, Fraction(1))],
            disjoint_part=part("north"),
        )
    assert len(ledger.history()) == 1


@pytest.mark.parametrize("version", [1, 2])
def test_an_old_account_takes_no_more_and_says_what_to_do(make_old, version):
    """A charge of sensitivity 1 may be about records or about persons of one record: unknown."""
    path = make_old(version, {"before": "1/2"})
    with Ledger.open(path) as ledger:
        assert ledger.position("people").promise is None
        for promise in PROMISES:
            with pytest.raises(BudgetRefusedError, match="before the ledger kept") as refusal:
                _charge(ledger, "after", promise)
            assert "a cap of what those left" in refusal.value.fix
        ledger.void("before", "it was never measured")
        _charge(ledger, "after", PEOPLE)
        assert ledger.position("people").promise == PEOPLE


def test_an_old_reservation_is_voided_not_measured(make_old):
    """Nothing tells what the releases before it promised, with which it would be added up."""
    with Ledger.open(make_old(2, {"before": "1/2"})) as ledger:
        with pytest.raises(PublishedDifferentlyError, match="or none was kept yet") as refusal:
            _charge(ledger, "before", RECORDS)
        assert "frees the charge" in refusal.value.fix
        ledger.advance("before", RunState.MEASURED)
        assert _charge(ledger, "before", RECORDS)[0] is RunState.MEASURED


def _charge(ledger, release_id, promise):
    return ledger.reserve(
        release_id=release_id,
        configuration_hash="c0ffee",
        population="people",
        promise=promise,
        cap=Budget(Fraction(2), Fraction(0)),
        events=[TableEvent(("age",), 6, 1, Fraction(1, 2))],
    )


def with_promise(**changes):
    return lambda payload: payload | {"promise": payload["promise"] | changes}


@pytest.mark.parametrize(
    "change",
    [
        with_promise(neighbours="replace-one"),
        with_promise(neighbours="both"),
        with_promise(unit="record"),
        with_promise(person_column="b"),
        with_promise(person_column=7),
        with_promise(max_records=0),
        with_promise(max_records="5"),
        with_promise(max_records=True),
        with_promise(comment="none"),
        lambda payload: payload | {"promise": RECORDS.to_plain()},
        lambda payload: payload | {"promise": None},
        lambda payload: payload | {"promise": {}},
        lambda payload: {key: item for key, item in payload.items() if key != "promise"},
    ],
)
def test_a_promise_that_makes_no_sense_is_refused_even_with_a_fresh_hash(
    path, ledger, reserve, change
):
    reserve("one", promise=PEOPLE)
    reserve("two", promise=Promise("add-remove", "a", 1))
    ledger.close()
    forged(path, change)
    with pytest.raises(LedgerError, match="event 3 makes no sense here"):
        Ledger.open(path)


def test_an_old_schema_keeps_no_promises(make_old):
    path = make_old(2, {"before": "1/2"})
    forged(path, lambda payload: payload | {"promise": RECORDS.to_plain()})
    with pytest.raises(LedgerError, match="event 2 makes no sense here"):
        Ledger.open(path)


@pytest.mark.parametrize("promise", PROMISES, ids=str)
def test_a_promise_survives_as_text(promise):
    assert Promise.from_plain(json.loads(json.dumps(promise.to_plain()))) == promise


@pytest.mark.parametrize(
    "wrong", [("swap", None, None), ("add-remove", "a", None), ("add-remove", None, 1)]
)
def test_a_promise_needs_a_relation_and_a_whole_unit(wrong):
    with pytest.raises(ValueError, match=r"promise|persons have"):
        Promise(*wrong)


def charged(epsilon, promise, about=None):
    return Charge(Budget(Fraction(epsilon), Fraction(0)), promise, about)


def test_totals_are_sums_for_one_promise_and_the_largest_part():
    charges = [charged("1/3", PEOPLE), charged(1, PEOPLE, "n"), charged(2, PEOPLE, "s")]
    assert population_total(charges).epsilon == Fraction(7, 3)
    assert population_total([]).epsilon == 0
    assert common_promise([PEOPLE, Promise("add-remove", "a", 1)]) == PEOPLE


@pytest.mark.parametrize(
    "charges",
    [
        [charged(1, RECORDS), charged(1, PEOPLE)],
        [charged(1, RECORDS), charged(1, Promise("replace-one", None, None))],
        [charged(1, RECORDS), charged(1, None)],
        [charged(1, Promise("replace-one", None, None), "n")],
    ],
)
def test_there_is_no_total_of_what_does_not_add_up(charges):
    with pytest.raises(ValueError, match=r"do not add up|parts are disjoint only"):
        population_total(charges)


@pytest.mark.parametrize(
    "other",
    [
        "Mix",
        "mix ",
        " MIX",
        "m\u200bix",
        "\uff4dix",
        "m ix",
        "mi\u212a",
        "mix\ufe0f",
        "m\u034fix",
        "mix\u3164",
        "mix\u115f",
        "mix\U000e0100",
        "mi\u2800x",
    ],
)
def test_a_population_under_another_spelling_is_refused(ledger, reserve, other):
    first = "mik" if other.endswith("\u212a") else "mix"
    reserve("one", population=first)
    with pytest.raises(BudgetRefusedError, match="under another spelling") as refusal:
        reserve("two", population=other)
    assert repr(first) in refusal.value.fix
    reserve("two", population=first)
    reserve("three", population="mixed")
    ledger.void("one", "a reason")
    ledger.void("two", "a reason")
    reserve("four", population=other)
