"""The chain: nothing is changed, removed or slipped in without being seen."""

import hashlib
import json
import sqlite3

import pytest

from synth.errors import LedgerError
from synth.ledger import Ledger, LedgerEvent, RunState
from synth.ledger.creation import INSERT

TRIGGERS = ("events_no_update", "events_no_delete", "events_only_at_end")


@pytest.fixture
def written(path, ledger, reserve):
    """A ledger with seven events."""
    reserve("a", "1/2")
    ledger.advance("a", RunState.MEASURED, {"measurements_sha256": "ab"})
    ledger.advance("a", RunState.DISCARDED)
    reserve("b", "1/4")
    ledger.void("b", "wrong file")
    reserve("b", "1/8")
    return path


def tamper(path, *statements):
    """What somebody with an editor for SQLite files could do, triggers put back afterwards."""
    connection = sqlite3.connect(path, isolation_level=None)
    kept = dict(connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"))
    for name in kept:
        connection.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        connection.execute(*statement) if isinstance(statement, tuple) else connection.execute(
            statement
        )
    for sql in kept.values():
        connection.execute(sql)
    connection.close()


@pytest.mark.usefixtures("written")
def test_hashes_follow_their_definition(ledger):
    events = ledger.history()
    assert [event.seq for event in events] == list(range(1, 8))
    previous = "0" * 64
    for event in events:
        fields = [
            event.seq,
            previous,
            event.kind,
            event.population,
            event.release_id,
            event.day,
            event.payload,
        ]
        text = json.dumps(fields, separators=(",", ":"), ensure_ascii=False)
        assert event.hash == hashlib.sha256(text.encode()).hexdigest()
        previous = event.hash
    ledger.verify_chain()


@pytest.mark.parametrize("seq", range(1, 8))
@pytest.mark.parametrize(
    "column", ["previous_hash", "kind", "population", "release_id", "day", "payload", "hash"]
)
def test_a_changed_field_is_found_and_named(ledger, written, seq, column):
    tamper(written, f"UPDATE events SET {column} = {column} || 'x' WHERE seq = {seq}")
    with pytest.raises(LedgerError, match=f"event {seq}"):
        ledger.verify_chain()
    with pytest.raises(LedgerError, match=f"event {seq}") as refusal:
        Ledger.open(written)
    assert refusal.value.exit_code == 1
    assert "backup" in refusal.value.fix


@pytest.mark.parametrize("seq", range(1, 7))
def test_a_removed_event_is_found(ledger, written, seq):
    tamper(written, f"DELETE FROM events WHERE seq = {seq}")
    with pytest.raises(LedgerError, match=f"event {seq} is missing"):
        ledger.verify_chain()
    with pytest.raises(LedgerError, match=f"event {seq} is missing"):
        Ledger.open(written)


def test_a_removed_end_is_found_by_whoever_saw_it(ledger, written):
    tamper(written, "DELETE FROM events WHERE seq = 7")
    with pytest.raises(LedgerError, match="event 7 is missing"):
        ledger.verify_chain()


def test_a_ledger_without_events_is_damaged(written):
    tamper(written, "DELETE FROM events")
    with pytest.raises(LedgerError, match="event 1 is missing"):
        Ledger.open(written)


def test_swapped_events_are_found(written):
    tamper(
        written,
        "UPDATE events SET seq = -1 WHERE seq = 3",
        "UPDATE events SET seq = 3 WHERE seq = 4",
        "UPDATE events SET seq = 4 WHERE seq = -1",
    )
    with pytest.raises(LedgerError, match="event 3"):
        Ledger.open(written)


@pytest.mark.parametrize(
    ("kind", "release_id", "payload"),
    [
        ("published", "b", {"details": {}}),  # b is reserved only
        ("measured", "nobody", {"details": {}}),
        ("void", "a", {"reason": "noise exists"}),
        ("attempt", "a", {}),
        ("created", "", {"schema_version": 1}),
        ("refund", "a", {}),
        ("measured", "b", {}),
        (
            "reserve",
            "c",  # ten times the tables' price
            {
                "configuration_hash": "c",
                "charge": {"epsilon": "1/10", "delta": "0"},
                "cap": {"epsilon": "4", "delta": "0"},
                "tables": [
                    {
                        "table": ["age"],
                        "cells": "3",
                        "sensitivity_l1": 1,
                        "epsilon": "1",
                        "mechanism": "discrete-laplace",
                    }
                ],
            },
        ),
        (
            "reserve",
            "c",  # over its own cap
            {
                "configuration_hash": "c",
                "charge": {"epsilon": "1", "delta": "0"},
                "cap": {"epsilon": "1", "delta": "0"},
                "tables": [
                    {
                        "table": ["age"],
                        "cells": "3",
                        "sensitivity_l1": 1,
                        "epsilon": "1",
                        "mechanism": "discrete-laplace",
                    }
                ],
            },
        ),
    ],
)
def test_an_event_with_a_right_hash_that_makes_no_sense_is_refused(
    ledger, written, kind, release_id, payload
):
    last = ledger.history()[-1]
    forged = LedgerEvent.chained(
        seq=8,
        previous_hash=last.hash,
        kind=kind,
        population="people",
        release_id=release_id,
        day="2026-01-31",
        payload=payload,
    )
    tamper(written, (INSERT, forged.row))
    with pytest.raises(LedgerError, match="event 8 makes no sense"):
        ledger.verify_chain()
    with pytest.raises(LedgerError, match="event 8 makes no sense"):
        Ledger.open(written)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET day = '2000-01-01'",
        "DELETE FROM events",
        "INSERT OR REPLACE INTO events SELECT * FROM events WHERE seq = 2",
        "INSERT OR REPLACE INTO events VALUES (2, 'anything', 'x', '', '', '', '', '')",
        "INSERT INTO events SELECT 9, hash, 'x', '', '', '', '', '' FROM events WHERE seq = 7",
        "INSERT INTO events VALUES (8, 'not the head', 'x', '', '', '', '', '')",
    ],
)
def test_the_file_itself_forbids_changes(written, statement):
    connection = sqlite3.connect(written, isolation_level=None)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute(statement)
    connection.close()
    Ledger.open_existing(written).close()


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_a_ledger_without_its_triggers_is_refused(written, trigger):
    connection = sqlite3.connect(written)
    connection.execute(f"DROP TRIGGER {trigger}")
    connection.close()
    with pytest.raises(LedgerError, match="triggers"):
        Ledger.open(written)


def test_a_wrong_recount_stops_everything(ledger, written, monkeypatch):
    from synth.errors import BugError

    monkeypatch.setattr("synth.ledger.check.recount", lambda _events: {"people": ((1, 2), (0, 1))})
    with pytest.raises(BugError, match="disagree"):
        ledger.verify_chain()
    with pytest.raises(BugError, match="disagree"):
        Ledger.open(written)
