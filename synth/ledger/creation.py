"""How a new ledger file comes into being: whole, private to its owner, or not at all."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import BinaryIO

from synth.errors import OutputError
from synth.ledger.event import GENESIS, LedgerEvent
from synth.measurements.durable import create_durably, make_private_directory

SCHEMA_VERSION = 3
SCHEMA_VERSIONS = range(1, SCHEMA_VERSION + 1)
"""Those that are read; an older one becomes the newest when an event needs it."""
DIVIDED_SINCE = 2
"""The first one in which a reservation may be about a part of a population."""
PROMISED_SINCE = 3
"""The first one in which every reservation says which unit and neighbours it is charged for."""
APPLICATION_ID = 0x53594E54
"""`SYNT`: tells a ledger from any other SQLite file."""

_TABLE = """CREATE TABLE events (
  seq INTEGER PRIMARY KEY,
  previous_hash TEXT NOT NULL,
  kind TEXT NOT NULL,
  population TEXT NOT NULL,
  release_id TEXT NOT NULL,
  day TEXT NOT NULL,
  payload TEXT NOT NULL,
  hash TEXT NOT NULL
) STRICT"""
_NO_UPDATE = """CREATE TRIGGER events_no_update BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"""
_NO_DELETE = """CREATE TRIGGER events_no_delete BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"""
# Also closes INSERT OR REPLACE, which deletes a row without firing the trigger above.
_ONLY_AT_END = """CREATE TRIGGER events_only_at_end BEFORE INSERT ON events
WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM events)
  OR NEW.previous_hash IS NOT
    coalesce((SELECT hash FROM events ORDER BY seq DESC LIMIT 1), NEW.previous_hash)
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"""
SCHEMA = (_TABLE, _NO_UPDATE, _NO_DELETE, _ONLY_AT_END)

INSERT = (
    "INSERT INTO events (seq, previous_hash, kind, population, release_id, day, payload, hash) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)


def create_ledger_file(path: Path, *, day: str) -> None:
    """Make a new ledger at `path`; one that another process made meanwhile is left alone.

    Ensures: the file has mode 0600, and directories made on the way have 0700, whatever the
    umask; it appears with its first event in it or not at all.
    Raises: OutputError if the place cannot be written.
    """
    image = _image(day)

    def write(stream: BinaryIO) -> None:
        stream.write(image)

    try:
        make_private_directory(path.parent)
        create_durably(path, write)
    except OSError as error:
        if isinstance(error, FileExistsError) and path.exists():
            return
        raise OutputError(
            f"{path}: the ledger cannot be created ({error.strerror})",
            why="every charge must be on the disk before any record is read",
            fix="make the directory writable and free some space, or change `ledger.path`",
        ) from error


def _image(day: str) -> bytes:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        for statement in SCHEMA:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        first = LedgerEvent.chained(
            seq=1,
            previous_hash=GENESIS,
            kind="created",
            population="",
            release_id="",
            day=day,
            payload={"schema_version": SCHEMA_VERSION},
        )
        connection.execute(INSERT, first.row)
        return connection.serialize()
    finally:
        connection.close()
