"""The chain: nothing is changed, removed or slipped in without being seen."""

import hashlib
import json
import sqlite3
from fractions import Fraction

import pytest

from synth.bookkeeping import Ledger, LedgerEvent, RunState
from synth.bookkeeping.file import INSERT
from synth.errors import BugError, LedgerError
from synth.privacy import Budget, Promise, TableEvent
from synth.strict_json import canonical_json

TRIGGERS = ("events_no_update", "events_no_delete", "events_only_at_end")


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    """A ledger file with seven events, as bytes: made once, as every commit waits for the disk."""
    path = tmp_path_factory.mktemp("chain") / "ledger.sqlite"
    with Ledger.open(path, today=lambda: "2026-01-31") as ledger:

        def reserve(release_id, epsilon):
            ledger.reserve(
                release_id=release_id,
                configuration_hash="c0ffee",
                population="people",
                promise=Promise("add-remove", None, None),
                cap=Budget(Fraction(4), Fraction(0)),
                events=[TableEvent(("age", "sex"), 6, 1, Fraction(epsilon))],
            )

        reserve("a", "1/2")
        ledger.advance("a", RunState.MEASURED, {"measurements_sha256": "ab"})
        ledger.advance("a", RunState.DISCARDED)
        reserve("b", "1/4")
        ledger.void("b", "wrong file")
        reserve("b", "1/8")
    return path.read_bytes()


@pytest.fixture
def written(tmp_path, content):
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(content)
    return path


@pytest.fixture
def ledger(written):
    """The ledger, opened before anybody changes it."""
    with Ledger.open_existing(written) as opened:
        yield opened


def tamper(path, *statements):
    """What somebody with an editor for SQLite files could do, triggers put back afterwards."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous = OFF")
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


def reservation(*, charge, table, cap="4"):
    entry = {
        "table": ["age"],
        "cells": "3",
        "sensitivity_l1": 1,
        "epsilon": table,
        "mechanism": "discrete-laplace",
    }
    return {
        "configuration_hash": "c",
        "charge": {"epsilon": charge, "delta": "0"},
        "cap": {"epsilon": cap, "delta": "0"},
        "tables": [entry],
        "token": "0" * 32,
        "promise": Promise("add-remove", None, None).to_plain(),
    }


def append(ledger, written, **changes):
    """An event behind the last one, with a hash that is right for it."""
    event = {
        "seq": 8,
        "previous_hash": ledger.history()[-1].hash,
        "kind": "measured",
        "population": "people",
        "release_id": "b",
        "day": "2026-01-31",
        "payload": {"details": {}},
    }
    tamper(written, (INSERT, LedgerEvent.chained(**event | changes).row))


@pytest.mark.parametrize(
    ("kind", "release_id", "payload"),
    [
        ("measured", "b", {"details": {}}),
        ("reserve", "c", reservation(charge="1", table="1")),
        ("reserve", "c", reservation(charge="27/8", table="27/8")),  # the cap to the last part
    ],
)
def test_an_event_that_makes_sense_is_taken(ledger, written, kind, release_id, payload):
    """So that those below are refused for what is wrong with them, and for nothing else."""
    append(ledger, written, kind=kind, release_id=release_id, payload=payload)
    ledger.verify_chain()
    Ledger.open(written).close()


def test_an_event_about_a_release_of_another_population_is_refused(ledger, written):
    append(ledger, written, population="others")
    with pytest.raises(LedgerError, match="event 8 makes no sense"):
        Ledger.open(written)


def test_an_event_that_follows_another_past_is_refused(ledger, written):
    """Its own hash is right for what it says, also for the past that it names."""
    append(ledger, written, previous_hash="f" * 64)
    with pytest.raises(LedgerError, match="chain of hashes is broken at event 8"):
        Ledger.open(written)


def test_equal_payloads_are_written_alike():
    assert canonical_json({"b": 1, "a": {"d": 2, "c": 3}}) == '{"a":{"c":3,"d":2},"b":1}'


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
        ("reserve", "a", reservation(charge="1", table="1")),  # a second time
        ("reserve", "c", reservation(charge="1/10", table="1")),  # a tenth of the price
        ("reserve", "c", reservation(charge="-1", table="-1")),  # a refund
        ("reserve", "c", reservation(charge="1", table="1", cap="1")),  # over its own cap
        ("reserve", "c", reservation(charge="7/2", table="7/2")),  # over the cap of all
        ("reserve", "b", reservation(charge="1", table="1")),  # again, while it is reserved
        ("reserve", "c", reservation(charge=0.5, table=0.5)),  # not exact
        ("reserve", "c", reservation(charge="1/0", table="1/0")),
    ],
)
def test_an_event_with_a_right_hash_that_makes_no_sense_is_refused(
    ledger, written, kind, release_id, payload
):
    append(ledger, written, kind=kind, release_id=release_id, payload=payload)
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

    monkeypatch.setattr(
        "synth.bookkeeping.book.recount", lambda _events: {"people": ((1, 2), (0, 1))}
    )
    with pytest.raises(BugError, match="disagree"):
        ledger.verify_chain()
    with pytest.raises(BugError, match="disagree"):
        Ledger.open(written)


def test_a_charge_that_the_recount_finds_too_small_stops_everything(ledger, written, monkeypatch):
    def too_small(_):
        raise ValueError("a charge is too small for its Gaussian tables")

    monkeypatch.setattr("synth.bookkeeping.book.recount", too_small)
    for look in (ledger.verify_chain, lambda: Ledger.open(written)):
        with pytest.raises(BugError, match="does not cover its tables"):
            look()
