"""Charges of a series: equal ones of a part once, by the rule of the series, counted twice."""

from fractions import Fraction
from io import StringIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from synth.bookkeeping import Ledger, RunState
from synth.bookkeeping.file import SERIES_SINCE, LedgerEvent
from synth.bookkeeping.recount import recount
from synth.bookkeeping.statement import ledger_report, render_ledger
from synth.config import SeriesPart
from synth.errors import BudgetRefusedError, LedgerError, OutputError
from synth.measurements.receipt import LedgerPosition
from synth.privacy import Budget, Promise, TableEvent

TREE = {"kind": "tree", "horizon": 4, "arity": 2}
RULES = [("largest", 1), ("largest", 2), ("sum", None), ("window", 2)]


def part(number, rule="largest", most=1, name="s-{period}", definition="d"):
    return SeriesPart(name, f"p{number}", number + 1, number, rule, most, definition)


RECORDS = Promise("add-remove", None, None)
PERSONS = Promise("add-remove", "id", 3)


def charge(ledger, release_id, epsilon, series, cap="9", factorization=None, promise=RECORDS):
    return ledger.reserve(
        release_id=release_id,
        configuration_hash="c0ffee",
        population="people",
        promise=promise,
        cap=Budget(Fraction(cap), Fraction(0)),
        events=[TableEvent(("age",), 6, 1, Fraction(epsilon))],
        series=series,
        factorization=factorization,
    )


def spent(ledger):
    ledger.verify_chain()
    return ledger.position("people").spent.epsilon


@pytest.mark.parametrize(("rule", "total"), list(zip(RULES, (2, 4, 5, 3), strict=True)))
def test_parts_come_together_by_the_rule(ledger, rule, total):
    for number, epsilon in enumerate(("2", "1", "2")):
        charge(ledger, f"s-{number}", epsilon, part(number, *rule))
    assert spent(ledger) == total
    charge(ledger, "other", "1/2", None)
    assert spent(ledger) == total + Fraction(1, 2)
    (account,) = ledger.position("people").series
    assert account.for_ever.epsilon == (5 if rule[0] == "window" else total)


def test_what_a_further_release_of_a_part_adds_is_nothing(ledger):
    _, first = charge(ledger, "s-1", "1", part(0), cap="1", factorization=TREE)
    assert (first.spent_now.epsilon, first.added.epsilon, first.left.epsilon) == (1, 1, 0)
    _, later = charge(ledger, "s-2", "1", part(0), cap="1", factorization=TREE)
    assert (later.spent_before.epsilon, later.added.epsilon, later.left.epsilon) == (1, 0, 0)
    assert later.left_to_lose.epsilon == 0
    assert later.earlier_releases == ("s-1",)
    with pytest.raises(BudgetRefusedError, match="epsilon 1/9 asked for, 0 left of 1"):
        charge(ledger, "x", "1/9", None, cap="1")
    with pytest.raises(ValueError, match="at most itself"):
        LedgerPosition(
            "people",
            first.cap,
            first.spent_before,
            first.spent_now,
            (),
            added=later.cap + first.cap,
        )


def test_an_over_large_part_is_refused_by_what_it_would_add(ledger):
    charge(ledger, "s-1", "1", part(1), cap="3/2")
    with pytest.raises(BudgetRefusedError, match="epsilon 1 asked for, 1/2 left of 3/2"):
        charge(ledger, "s-2", "2", part(2), cap="3/2")
    charge(ledger, "s-2", "3/2", part(2), cap="3/2")


def test_a_void_of_one_period_frees_nothing_that_another_of_the_part_holds(ledger):
    for number in range(3):
        charge(ledger, f"s-{number}", "1", part(0), factorization=TREE)
    ledger.void("s-0", "a reason")
    assert spent(ledger) == 1
    ledger.void("s-2", "a reason")
    assert spent(ledger) == 1
    assert ledger.series_plan("s-{period}", 0).factorization == TREE
    ledger.void("s-1", "a reason")
    assert spent(ledger) == 0
    assert ledger.series_plan("s-{period}", 0) is None


def test_the_first_charge_of_a_part_binds_all_later_ones(ledger):
    charge(ledger, "s-1", "1", part(0), factorization=TREE)
    plan = ledger.series_plan("s-{period}", 0)
    assert plan.events == (TableEvent(("age",), 6, 1, Fraction(1)),)
    assert plan.factorization == TREE
    assert ledger.series_plan("s-{period}", 1) is None
    assert ledger.series_plan("t-{period}", 0) is None
    for epsilon, factorization in (("2", TREE), ("1", {**TREE, "arity": 3}), ("1", None)):
        with pytest.raises(BudgetRefusedError, match="what is measured, or the budget"):
            charge(ledger, "s-2", epsilon, part(0), factorization=factorization)
    charge(ledger, "s-5", "2", part(1), factorization={**TREE, "arity": 3})


def test_another_delta_of_the_same_tables_is_another_charge(ledger):
    def reserve(release_id, delta):
        ledger.reserve(
            release_id=release_id,
            configuration_hash="c0ffee",
            population="people",
            promise=Promise("add-remove", None, None),
            cap=Budget(Fraction(9), Fraction(1, 10)),
            events=[
                TableEvent(
                    ("age",),
                    6,
                    1,
                    mechanism="discrete-gaussian",
                    rho=Fraction(1, 8),
                    sensitivity_l2_squared=1,
                )
            ],
            delta=Fraction(delta),
            series=part(0),
        )

    reserve("s-1", "1/1000")
    reserve("s-2", "1/1000")
    with pytest.raises(BudgetRefusedError, match="what is measured, or the budget"):
        reserve("s-3", "1/2000")
    assert ledger.position("people").spent.delta == Fraction(1, 1000)


@pytest.mark.parametrize(
    "other", [part(1, "largest", 2), part(1, "sum", None), part(1, definition="other")]
)
def test_a_series_that_is_declared_otherwise_is_refused(ledger, other):
    charge(ledger, "s-0", "1", part(0))
    with pytest.raises(BudgetRefusedError, match="which records are in which period"):
        charge(ledger, "s-1", "1", other)
    charge(ledger, "t-1", "1", part(1, "sum", None, name="t-{period}"))
    assert spent(ledger) == 2


def test_periods_that_count_the_first_ones_of_a_person_come_in_order(ledger):
    """Else a row that arrives late counts its person in one period more."""

    def month(number, promise=PERSONS, rule=("largest", 2)):
        name = f"{rule[0]}-{promise.person_column}-{{period}}"
        return charge(
            ledger, f"{name[:-9]}-{number}", "1", part(number, *rule, name), promise=promise
        )

    month(2)
    with pytest.raises(OutputError, match="a later period, was charged before"):
        month(1)
    with pytest.raises(OutputError, match="earlier period, is charged and not measured"):
        month(3)
    assert month(2)[0] is RunState.RESERVED
    ledger.advance("largest-id-2", RunState.MEASURED, {"sha256": "0"})
    month(4)
    ledger.void("largest-id-4", "a reason")
    month(3)
    month(5, rule=("sum", None))
    month(4, rule=("sum", None))
    with Ledger.open(ledger._file.path.parent / "other" / "ledger.sqlite") as ledger:
        month(2, RECORDS, ("largest", 1))
        month(1, RECORDS, ("largest", 1))
        month(3, RECORDS, ("largest", 1))


def test_the_same_release_is_charged_once_and_taken_up_again(ledger):
    assert charge(ledger, "s-0", "1", part(0)) == charge(ledger, "s-0", "1", part(0))
    assert spent(ledger) == 1


def test_the_ledger_moves_on_to_the_schema_of_series_with_the_first_one(ledger, path):
    charge(ledger, "other", "1", None)
    assert [event.kind for event in ledger.history()] == ["created", "reserve"]
    charge(ledger, "s-0", "1", part(0))
    kinds = [event.kind for event in ledger.history()]
    assert kinds == ["created", "reserve", "migrated", "reserve"]
    assert ledger.history()[2].read() == {"schema_version": SERIES_SINCE}
    with Ledger.open_existing(path) as again:
        assert again.position("people").spent.epsilon == 2


@pytest.mark.parametrize("version", [3, SERIES_SINCE])
def test_a_forged_part_that_is_charged_otherwise_is_refused(ledger, path, version):
    charge(ledger, "other", "1", None)
    if version == SERIES_SINCE:
        charge(ledger, "s-0", "1", part(0))
    history = ledger.history()
    forged = history[-1].read() | {"series": part(0).to_plain()}
    forged["tables"] = [{**forged["tables"][0], "table": ["sex"]}]
    event = LedgerEvent.chained(
        seq=history[-1].seq + 1,
        previous_hash=history[-1].hash,
        kind="reserve",
        population="people",
        release_id="s-1",
        day="2026-01-31",
        payload=forged,
    )
    with ledger._file.writing():
        ledger._file.append(event)
    with pytest.raises(LedgerError, match=f"event {event.seq} makes no sense"):
        Ledger.open_existing(path)


def test_the_statement_says_what_a_series_comes_to(ledger):
    for number in range(3):
        charge(ledger, f"s-{number}", "1", part(number, "window", 2))
    said = StringIO()
    render_ledger(ledger, "people", Console(file=said, width=200))
    assert (
        "series s-{period}: 3 charges, together epsilon 2: counted for every 2 periods in a row; "
        "over all they come to epsilon 3"
    ) in said.getvalue()
    (account,) = ledger_report(ledger, "people")["series"]
    assert (account["rule"], account["most"], len(account["parts"])) == ("window", 2, 3)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["charge", "void", "whole"]), st.integers(0, 5), st.sampled_from("ab")
    ),
    max_size=14,
)


@settings(max_examples=30)
@given(STEPS, st.sampled_from(RULES))
def test_two_ways_of_counting_agree_whatever_is_charged_and_voided(tmp_path_factory, steps, rule):
    path = tmp_path_factory.mktemp("ledger") / "ledger.sqlite"
    with Ledger.open(path, today=lambda: "2026-01-31") as ledger:
        for kind, number, name in steps:
            release = f"{name}-{number}"
            state = ledger.state(release)
            if kind == "void":
                if state is not None and state.state is RunState.RESERVED:
                    ledger.void(release, "a reason")
            elif state is None or not state.is_charged:
                epsilon = Fraction(1 + number // 2, 3)
                series = part(number // 2, *rule, name=f"{name}-{{period}}")
                charge(ledger, release, str(epsilon), None if kind == "whole" else series, cap="99")
        ledger.verify_chain()
        found = recount(ledger.history()).get("people", ((0, 1), (0, 1)))
        assert Fraction(*found[0]) == ledger.position("people").spent.epsilon
