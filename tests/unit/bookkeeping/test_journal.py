"""The journal: forward one step at a time, and a way out before noise exists."""

from itertools import pairwise

import pytest

from synth.bookkeeping import Ledger, RunLock, RunState
from synth.errors import BusyError, LedgerError

FORWARD = [RunState.RESERVED, RunState.MEASURED, RunState.DISCARDED, RunState.PUBLISHED]
ALLOWED = set(pairwise(FORWARD)) | {(state, state) for state in FORWARD[1:]}


def bring_to(ledger, reserve, release_id, state):
    if state is RunState.PLANNED:
        return
    reserve(release_id)
    if state is RunState.VOIDED:
        ledger.void(release_id, "a reason")
        return
    for step in FORWARD[1 : FORWARD.index(state) + 1]:
        ledger.advance(release_id, step)


@pytest.mark.parametrize("state", list(RunState))
@pytest.mark.parametrize("target", list(RunState))
def test_every_transition(ledger, reserve, state, target):
    bring_to(ledger, reserve, "a", state)
    before = ledger.history()
    if (state, target) in ALLOWED:
        ledger.advance("a", target)
        assert ledger.state("a").state is target
        assert len(ledger.history()) == len(before) + (state is not target)
    else:
        with pytest.raises(LedgerError):
            ledger.advance("a", target)
        assert ledger.history() == before


@pytest.mark.parametrize("state", list(RunState))
def test_void_is_for_reserved_runs_only(ledger, reserve, state):
    bring_to(ledger, reserve, "a", state)
    before = ledger.history()
    if state is RunState.RESERVED:
        ledger.void("a", "the source was the wrong file")
        assert ledger.state("a").state is RunState.VOIDED
        assert ledger.state("a").void_reason == "the source was the wrong file"
        assert ledger.position("people").spent.epsilon == 0
    else:
        with pytest.raises(LedgerError):
            ledger.void("a", "a reason")
        assert ledger.history() == before


def test_a_measured_run_says_why_it_cannot_be_voided(ledger, reserve):
    bring_to(ledger, reserve, "a", RunState.MEASURED)
    with pytest.raises(LedgerError, match="noise was drawn for it"):
        ledger.void("a", "a reason")


def test_a_run_whose_measurements_are_durable_but_not_recorded_cannot_be_voided(
    path, ledger, reserve
):
    reserve("a")
    directory = path.parent / "runs" / "a"
    (directory / "measurements.parquet").write_bytes(b"noise")
    with pytest.raises(LedgerError, match="noise was drawn for it"):
        ledger.void("a", "a reason")
    (directory / "measurements.parquet").unlink()
    ledger.void("a", "a reason")


def test_a_run_under_way_cannot_be_voided(path, ledger, reserve):
    reserve("a")
    with RunLock.for_run(path, "a"), pytest.raises(BusyError):
        ledger.void("a", "a reason")
    assert ledger.state("a").state is RunState.RESERVED


@pytest.mark.parametrize("reason", ["", " \n"])
def test_void_needs_a_reason(ledger, reserve, reason):
    reserve("a")
    with pytest.raises(LedgerError, match="reason"):
        ledger.void("a", reason)


def test_details_are_kept_per_state(path, ledger, reserve):
    reserve("a")
    ledger.advance("a", RunState.MEASURED, {"measurements_sha256": "ab"})
    ledger.advance("a", RunState.DISCARDED, {"checked": "absent"})
    with Ledger.open_existing(path) as again:
        run = again.state("a")
    assert run.recorded(RunState.MEASURED) == {"measurements_sha256": "ab"}
    assert run.recorded(RunState.DISCARDED) == {"checked": "absent"}
    assert run.recorded(RunState.PUBLISHED) == {}


def test_a_state_is_recorded_once(ledger, reserve):
    reserve("a")
    ledger.advance("a", RunState.MEASURED, {"measurements_sha256": "ab"})
    ledger.advance("a", RunState.MEASURED, {"measurements_sha256": "ab"})
    ledger.advance("a", RunState.MEASURED)
    with pytest.raises(LedgerError, match="other details"):
        ledger.advance("a", RunState.MEASURED, {"measurements_sha256": "cd"})
    assert ledger.state("a").recorded(RunState.MEASURED) == {"measurements_sha256": "ab"}


def test_voiding_one_run_leaves_the_positions_of_others(ledger, reserve):
    reserve("a", "1")
    _, position = reserve("b", "1")
    ledger.void("a", "a reason")
    assert ledger.state("b").position == position
    assert reserve("c", "3")[1].earlier_releases == ("b",)
