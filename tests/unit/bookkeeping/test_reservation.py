"""Charges: exact, capped, once per release."""

import re
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import pytest

from synth.bookkeeping import ChargeRequest, Ledger, RunState
from synth.bookkeeping import ledger as ledger_room
from synth.bookkeeping.file import create_ledger_file
from synth.bookkeeping.run_directory import MEASUREMENTS, run_directory_of
from synth.config import DisjointPart
from synth.errors import (
    BudgetRefusedError,
    BugError,
    LedgerError,
    OutputError,
    PublishedDifferentlyError,
)
from synth.privacy import Budget, Promise, TableEvent

ZERO = Fraction(0)


def test_first_reservation_states_the_whole_position(reserve):
    state, position = reserve("a", "1/3")
    assert state is RunState.RESERVED
    assert position.population == "people"
    assert position.cap == Budget(Fraction(4), ZERO)
    assert position.spent_before == Budget(ZERO, ZERO)
    assert position.spent_now == Budget(Fraction(1, 3), ZERO)
    assert position.left == Budget(Fraction(11, 3), ZERO)
    assert position.earlier_releases == ()


def test_ten_tenths_fit_under_a_cap_of_one_and_nothing_more(ledger, reserve):
    for number in range(10):
        reserve(f"r{number}", "0.1", cap="1")
    assert ledger.position("people").spent.epsilon == 1
    assert ledger.position("people").left == Budget(ZERO, ZERO)
    with pytest.raises(BudgetRefusedError):
        reserve("r10", "1e-30", cap="1")


def test_a_charge_over_the_cap_by_a_hair_is_refused_and_leaves_no_trace(ledger, reserve):
    reserve("a", "1/3", cap="1")
    before = ledger.history()
    with pytest.raises(BudgetRefusedError) as refusal:
        reserve("b", "666666666666666666667/1000000000000000000000", cap="1")
    assert refusal.value.exit_code == 4
    assert "people" in str(refusal.value)
    assert "2/3 left" in str(refusal.value)
    assert ledger.history() == before
    assert ledger.state("b") is None
    assert reserve("b", "2/3", cap="1")[0] is RunState.RESERVED


def test_a_cap_below_what_is_spent_refuses_everything(reserve):
    reserve("a", "2")
    with pytest.raises(BudgetRefusedError, match="0 left of 1"):
        reserve("b", "1/1000", cap="1")


def test_populations_have_accounts_of_their_own(ledger, reserve):
    reserve("a", "4", population="people")
    reserve("b", "4", population="firms")
    assert ledger.position("people").spent == ledger.position("firms").spent
    assert [run.release_id for run in ledger.position("firms").runs] == ["b"]
    assert ledger.populations() == ("firms", "people")
    assert [event.release_id for event in ledger.history("firms")] == ["b"]


def test_several_tables_are_summed(ledger):
    tables = [
        TableEvent(("age",), 3, 1, Fraction(1, 10)),
        TableEvent(("sex",), 2, 1, Fraction(2, 10)),
    ]
    _, position = ledger.reserve(
        release_id="a",
        configuration_hash="c",
        population="people",
        promise=Promise("add-remove", None, None),
        cap=Budget(Fraction(1), ZERO),
        events=tables,
    )
    assert position.spent_now.epsilon == Fraction(3, 10)
    assert ledger.state("a").tables == tuple(tables)


def test_the_same_release_again_is_an_attempt_and_no_second_charge(ledger, reserve):
    reserve("other", "1/2")
    first = reserve("a", "1")
    reserve("later", "1/4")
    assert reserve("a", "1") == first
    assert reserve("a", "1") == first
    assert ledger.state("a").attempts == 3
    assert ledger.position("people").spent.epsilon == Fraction(7, 4)
    kinds = [event.kind for event in ledger.history("people")]
    assert kinds == ["reserve", "reserve", "reserve", "attempt", "attempt"]


def test_an_attempt_is_taken_up_even_if_the_cap_was_lowered_meanwhile(reserve):
    first = reserve("a", "2", cap="4")
    assert reserve("a", "2", cap="1") == first


def test_after_measured_the_state_is_told_and_nothing_is_recorded(ledger, reserve):
    _, position = reserve("a")
    for state in (RunState.MEASURED, RunState.DISCARDED, RunState.PUBLISHED):
        ledger.advance("a", state)
        before = ledger.history()
        assert reserve("a") == (state, position)
        assert ledger.history() == before


@pytest.mark.parametrize("steps", range(4))
@pytest.mark.parametrize("change", [{"configuration_hash": "other"}, {"population": "others"}])
def test_another_configuration_is_refused_in_every_state(ledger, reserve, steps, change):
    reserve("a")
    for state in (RunState.MEASURED, RunState.DISCARDED, RunState.PUBLISHED)[:steps]:
        ledger.advance("a", state)
    before = ledger.history()
    with pytest.raises(PublishedDifferentlyError) as refusal:
        reserve("a", **change)
    assert refusal.value.exit_code == 1
    assert ledger.history() == before
    assert ("synth ledger CONFIG void a --reason" in refusal.value.fix) == (steps == 0)


def test_a_voided_release_id_may_be_used_for_anything(ledger, reserve):
    reserve("a", "3")
    ledger.void("a", "wrong file")
    assert reserve("a", "4", configuration_hash="other")[0] is RunState.RESERVED
    assert ledger.state("a").configuration_hash == "other"
    assert ledger.state("a").position.spent_before == Budget(ZERO, ZERO)
    assert ledger.position("people").spent.epsilon == 4


def test_other_tables_are_refused_before_measured_and_ignored_afterwards(ledger, reserve):
    reserve("a", "1")
    with pytest.raises(PublishedDifferentlyError, match="other measured tables"):
        reserve("a", "1/2")
    ledger.advance("a", RunState.MEASURED)
    assert reserve("a", "1/2")[1].spent_now.epsilon == 1


def test_a_release_without_tables_is_a_bug(ledger):
    with pytest.raises(BugError):
        ledger.reserve(
            release_id="a",
            configuration_hash="c",
            population="people",
            promise=Promise("add-remove", None, None),
            cap=Budget(Fraction(4), ZERO),
            events=[],
        )
    assert ledger.state("a") is None


def asked(epsilon="1", **changes):
    return ChargeRequest(
        release_id="a",
        configuration_hash="c0ffee",
        population="people",
        cap=Budget(Fraction(4), ZERO),
        events=[TableEvent(("age", "sex"), 6, 1, Fraction(epsilon))],
        promise=Promise("add-remove", None, None),
    ) | ChargeRequest(**changes)


def test_to_ask_for_room_makes_no_ledger(tmp_path):
    path = tmp_path / "state" / "ledger.sqlite"
    assert Ledger.require_room(path, **asked("4")) is None
    with pytest.raises(BudgetRefusedError):
        Ledger.require_room(path, **asked("4.1"))
    assert list(tmp_path.iterdir()) == []
    path.parent.mkdir()
    path.with_name("ledger.sqlite-journal").touch()
    with pytest.raises(LedgerError, match="the file is gone, its journal is still there"):
        Ledger.require_room(path, **asked())


def test_a_ledger_that_another_process_makes_meanwhile_is_not_gone(tmp_path, monkeypatch):
    path = tmp_path / "ledger.sqlite"

    def made_meanwhile(beside):
        """Another process makes the ledger and charges a run before this one looks for traces."""
        create_ledger_file(beside, day="2026-01-01")
        return [SimpleNamespace(release_id="b")]

    with monkeypatch.context() as patched:
        patched.setattr(ledger_room, "traces_beside", made_meanwhile)
        ledger_room._require_never_made(path)
    path.unlink()
    monkeypatch.setattr(ledger_room, "traces_beside", lambda _: [SimpleNamespace(release_id="b")])
    with pytest.raises(LedgerError, match="the ledger is gone"):
        Ledger.open(path)


def test_to_ask_for_room_says_what_a_charge_would_and_writes_nothing(path, ledger, reserve):
    """The same rules; tests/unit/bookkeeping/test_stateful.py asks before every charge."""
    north = DisjointPart("north", ("north", "south"), "Everybody lives in one place")
    ledger.reserve(**asked("1", release_id="b", disjoint_part=north))
    reserve("a", "2")
    content = path.read_bytes()
    assert Ledger.require_room(path, **asked("2")) is RunState.RESERVED
    assert Ledger.require_room(path, **asked("1", release_id="c")) is None
    refused = [
        (BudgetRefusedError, asked("1.01", release_id="c")),
        (BudgetRefusedError, asked(release_id="c", disjoint_part=replace(north, source="other"))),
        (PublishedDifferentlyError, asked("2", configuration_hash="other")),
        (PublishedDifferentlyError, asked("1")),
        (BugError, asked(release_id="c", events=[])),
    ]
    for kind, request in refused:
        with pytest.raises(kind) as foreseen:
            Ledger.require_room(path, **request)
        with pytest.raises(kind, match=re.escape(str(foreseen.value))):
            ledger.reserve(**request)
    assert path.read_bytes() == content
    (run_directory_of(path, "a") / "reservation").unlink()
    with pytest.raises(OutputError, match="is not the one of its reservation"):
        Ledger.require_room(path, **asked("2"))
    ledger.void("b", "makes room")
    assert Ledger.require_room(path, **asked("2", release_id="c")) is None


def test_state_of_an_unknown_or_foreign_release_is_none(ledger, reserve):
    reserve("a")
    assert ledger.state("b") is None
    assert ledger.state("a", "firms") is None
    assert ledger.state("a", "people").release_id == "a"


def test_an_unknown_population_has_spent_nothing(ledger):
    position = ledger.position("nobody")
    assert position.cap is None
    assert position.left is None
    assert position.spent == Budget(ZERO, ZERO)
    assert position.runs == ()


def test_exact_fractions_survive_the_file(path, ledger, reserve):
    reserve("a", "1/3")
    reserve("b", "123456789012345678901234567890/370370367037037036703703703670")
    spent = ledger.position("people").spent
    with Ledger.open_existing(path) as again:
        assert again.position("people").spent == spent
        assert again.state("a").charge.epsilon == Fraction(1, 3)
        assert again.state("a") == ledger.state("a")


def test_what_another_process_writes_is_seen(path, ledger, reserve):
    with Ledger.open_existing(path) as other:
        reserve("a")
        assert other.state("a").state is RunState.RESERVED
        other.advance("a", RunState.MEASURED)
    assert ledger.state("a").state is RunState.MEASURED


def test_what_another_process_charged_counts_at_once(path, reserve):
    """A ledger that was opened before charges on top of it, and the file stays sound."""
    with Ledger.open_existing(path) as other:
        other.state("a")
        reserve("a", "3")
        with pytest.raises(BudgetRefusedError):
            other.reserve(
                release_id="b",
                configuration_hash="c0ffee",
                population="people",
                cap=Budget(Fraction(4), Fraction(0)),
                events=[TableEvent(("age",), 3, 1, Fraction(2))],
                promise=Promise("add-remove", None, None),
            )
    with Ledger.open_existing(path) as again:
        assert again.position("people").spent.epsilon == 3


def test_only_the_day_is_kept(ledger, reserve):
    reserve("a")
    assert ledger.state("a").reserved_on == "2026-01-31"
    assert {event.day for event in ledger.history()} == {"2026-01-31"}


def test_measurements_that_were_not_charged_here_are_not_taken_over(path, ledger, reserve):
    directory = run_directory_of(path, "a")
    directory.mkdir(parents=True, mode=0o700)
    (directory / MEASUREMENTS).write_bytes(b"")
    with pytest.raises(OutputError, match="holds measurements that this ledger did not charge"):
        reserve("a")
    assert ledger.state("a") is None
