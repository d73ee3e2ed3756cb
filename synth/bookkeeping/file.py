"""The ledger's file: one append-only table in SQLite, durable and written by one at a time.

A new one comes into being whole and private to its owner, or not at all. A row is an event: what
happened, on which day, chained to everything before it.

Why a rollback journal (`journal_mode=DELETE`) with `synchronous=EXTRA`: a commit is on the
disk, the removal of its journal included, before `reserve` returns. With a weaker setting a
power cut can bring the journal back and undo a charge whose noise was already drawn. A
write-ahead log would need shared memory beside the file and gains nothing at a handful of
commits per release.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from synth.errors import BusyError, LedgerError, OutputError, SynthError
from synth.measurements.durable import create_durably, make_private_directory
from synth.strict_json import canonical_json

GENESIS = "0" * 64
"""The previous hash of the first event."""


@dataclass(frozen=True)
class LedgerEvent:
    """One row of the ledger; `hash` covers every other field and so the whole past."""

    seq: int
    previous_hash: str
    kind: str
    """`created`, `migrated`, `reserve`, `attempt`, `measured`, `discarded`, `published`, `void`."""
    population: str
    """Empty for events about the file itself, `created` and `migrated`."""
    release_id: str
    """Empty for events about the file itself."""
    day: str
    """The UTC day, ISO 8601; no finer time is kept."""
    payload: str
    """Canonical JSON."""
    hash: str

    @staticmethod
    def chained(
        *,
        seq: int,
        previous_hash: str,
        kind: str,
        population: str,
        release_id: str,
        day: str,
        payload: Mapping[str, Any],
    ) -> LedgerEvent:
        """The event that follows `previous_hash`, with its hash computed."""
        text = canonical_json(payload)
        fields = (seq, previous_hash, kind, population, release_id, day, text)
        return LedgerEvent(*fields, hash=_digest(fields))

    @property
    def row(self) -> tuple[int | str, ...]:
        """All fields, in the order of the table's columns."""
        return (
            self.seq,
            self.previous_hash,
            self.kind,
            self.population,
            self.release_id,
            self.day,
            self.payload,
            self.hash,
        )

    @property
    def expected_hash(self) -> str:
        """The SHA-256 that the other fields call for."""
        return _digest(self.row[:-1])

    def read(self) -> dict[str, Any]:
        """The payload as plain values; raises ValueError if it is no JSON object."""
        plain = json.loads(self.payload)
        if not isinstance(plain, dict):
            raise ValueError("the payload is not an object")
        return plain


def _digest(fields: tuple[int | str, ...]) -> str:
    return hashlib.sha256(canonical_json(list(fields)).encode("utf-8")).hexdigest()


SCHEMA_VERSION = 3
"""That of a new ledger."""
LOOKED_SINCE = 4
"""The first one in which a reservation may be of a look and of what is planned after it."""
SERIES_SINCE = 5
"""The first one in which a reservation may be a part of a series."""
SCHEMA_VERSIONS = range(1, SERIES_SINCE + 1)
"""Those that are read; an older one becomes a newer one when an event needs it."""
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
_CANNOT_WRITE = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
}


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


class LedgerFile:
    """An open ledger file: reads events, and appends them in transactions."""

    def __init__(self, path: Path, *, busy_timeout_seconds: float) -> None:
        """Open an existing ledger; never creates or repairs anything."""
        self.path = path
        if path.is_dir():
            raise LedgerError(
                f"{path}: this is a directory, and the ledger is a file",
                fix="name a file in `ledger.path`, such as state/ledger.sqlite",
            )
        if not path.is_file():
            raise LedgerError(
                f"{path}: there is no ledger here",
                fix="check `ledger.path`; the first run creates the ledger",
            )
        with self._errors():
            self._connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode=rw",
                uri=True,
                timeout=busy_timeout_seconds,
                isolation_level=None,
            )
        try:
            with self._errors():
                self._check_identity()
                self._connection.execute("PRAGMA synchronous = EXTRA")
        except BaseException:
            self._connection.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def events_after(self, seq: int) -> list[LedgerEvent]:
        """All committed events behind `seq`, in order."""
        with self._errors():
            rows = self._connection.execute(
                "SELECT seq, previous_hash, kind, population, release_id, day, payload, hash "
                "FROM events WHERE seq > ? ORDER BY seq",
                (seq,),
            ).fetchall()
        return [LedgerEvent(*row) for row in rows]

    def last(self) -> tuple[int, str]:
        """Number and hash of the last event, one that this transaction appended included."""
        with self._errors():
            seq, head = self._connection.execute(
                "SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1"
            ).fetchone()
        return int(seq), str(head)

    def schema_version(self) -> int:
        """The version that stands in the file's header."""
        with self._errors():
            (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        return int(version)

    def migrate(self, event: LedgerEvent, version: int) -> None:
        """Raise the schema, inside `writing`, and append the event that says so."""
        self.append(event)
        with self._errors():
            self._connection.execute(f"PRAGMA user_version = {version}")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Everything read inside is of one moment."""
        with self._errors():
            self._connection.execute("BEGIN")
        try:
            yield
        finally:
            with self._errors():
                self._connection.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction of the only writer; durable when the block is left without error.

        Raises: BusyError if another writer holds the file for too long, OutputError if it
        cannot be written.
        """
        with self._errors():
            self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            with self._errors():
                self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                with self._errors():
                    self._connection.execute("ROLLBACK")
            raise

    def append(self, event: LedgerEvent) -> None:
        """Add one event inside `writing`."""
        with self._errors():
            self._connection.execute(INSERT, event.row)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise _translated(self.path, error) from error
        except UnicodeError as error:
            raise damaged(self.path, "it holds text that is no UTF-8") from error

    def _check_identity(self) -> None:
        (application,) = self._connection.execute("PRAGMA application_id").fetchone()
        if application != APPLICATION_ID:
            raise LedgerError(
                f"{self.path}: this is not a ledger of `synth`",
                why="another program's file, or what is left of a damaged ledger",
                fix="correct `ledger.path`, or restore the ledger from a backup",
            )
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        if version not in SCHEMA_VERSIONS:
            raise LedgerError(
                f"{self.path}: ledger schema {version} is not known to this version of `synth`, "
                f"which reads schemas {SCHEMA_VERSIONS[0]} to {SCHEMA_VERSIONS[-1]}",
                why="a newer `synth` wrote it"
                if version > SCHEMA_VERSIONS[-1]
                else "no version of `synth` ever wrote one like it",
                fix="use the version of `synth` that wrote it, or a newer one"
                if version > SCHEMA_VERSIONS[-1]
                else "restore the ledger from a backup",
            )
        (journal,) = self._connection.execute("PRAGMA journal_mode").fetchone()
        (health,) = self._connection.execute("PRAGMA quick_check(1)").fetchone()
        if health != "ok" or journal != "delete":
            raise damaged(self.path, "SQLite finds it inconsistent")
        statements = self._connection.execute("SELECT sql FROM sqlite_schema").fetchall()
        if sorted(str(sql) for (sql,) in statements) != sorted(SCHEMA):
            raise damaged(self.path, "its tables or triggers are not those that `synth` wrote")


def damaged(path: Path, what: str) -> LedgerError:
    """The error for a ledger that cannot be trusted any more."""
    return LedgerError(
        f"{path}: the ledger is damaged: {what}",
        why="what was spent is not known for certain, so nothing more may be spent",
        fix="restore the file from a backup; do not start a new one for the same population",
    )


def _translated(path: Path, error: sqlite3.Error) -> SynthError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return BusyError(
            f"{path}: another process is writing to the ledger",
            fix="wait until it is done and start again",
        )
    if code in _CANNOT_WRITE:
        return OutputError(
            f"{path}: the ledger cannot be read or written ({error})",
            why="every charge must be on the disk before any record is read",
            fix="make the file and its directory writable, free some space, and start again",
        )
    return damaged(path, str(error))
