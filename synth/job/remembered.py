"""What is remembered of a release, or of a series of releases, between two starts of its job.

One small file beside the ledger: how the last attempts failed, and what was delivered. Nothing of
it decides what is charged, measured or published, and a file that is lost or damaged costs no more
than deliveries that are made once more.
Privacy: it holds words of the configuration, messages that were shown, and days.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from synth.config import Config
from synth.config.schema.scalars import PERIOD
from synth.errors import SynthError
from synth.job.account import ledger_of
from synth.measurements.durable import (
    make_private_directory,
    remove_partial_files,
    replace_durably,
    translate_write_errors,
)

Value = TypeVar("Value")

STATE_VERSION = 1
JOBS = "jobs"
"""The directory beside the ledger."""


def utc_today() -> str:
    """The day in UTC, ISO 8601: no finer time is kept."""
    return datetime.now(UTC).date().isoformat()


@dataclass(frozen=True)
class Failure:
    """How the last of so many attempts failed."""

    error: str
    """The class of what went wrong; empty for an attempt that is under way or was killed."""
    sentence: str
    why: str
    fix: str
    exit_code: int
    attempts: int
    first_on: str
    """The UTC day of the first attempt, ISO 8601."""
    last_on: str

    @classmethod
    def begun(cls, before: Failure | None) -> Failure:
        """An attempt that begins now; who finds it so later knows that it never ended."""
        today = utc_today()
        return cls(
            error="",
            sentence="the last attempt did not end",
            why="its process was killed, the machine went down, or it is still under way",
            fix="start the same command again; nothing is charged twice",
            exit_code=1,
            attempts=1 if before is None else before.attempts + 1,
            first_on=today if before is None else before.first_on,
            last_on=today,
        )

    def ended(self, error: SynthError) -> Failure:
        """What becomes of an attempt that ended so."""
        plain = error.to_plain()
        sentence = str(error) if {"problems", "findings"} & plain.keys() else error.sentence
        return replace(
            self,
            error=type(error).__name__,
            sentence=sentence,
            why=error.why,
            fix=error.fix,
            exit_code=error.exit_code,
        )


@dataclass(frozen=True)
class Remembered:
    """What the file holds, by release id."""

    failed: Mapping[str, Failure] = field(default_factory=dict)
    """Releases that could not be published."""
    undelivered: Mapping[str, Failure] = field(default_factory=dict)
    """Releases whose delivery failed."""
    delivered: Mapping[str, str] = field(default_factory=dict)
    """On which UTC day."""
    warned: tuple[str, ...] = ()
    """The releases at whose publication the end of the series was announced."""

    def to_json(self) -> str:
        """The text of the file."""
        return json.dumps({"state_version": STATE_VERSION, **asdict(self)}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Remembered:
        """Read it back; raises ValueError, KeyError, TypeError or AttributeError if damaged."""
        plain: dict[str, Any] = json.loads(text)
        if plain.pop("state_version") != STATE_VERSION:
            raise ValueError("another version")
        for name in ("failed", "undelivered"):
            plain[name] = {key: Failure(**value) for key, value in plain[name].items()}
        plain["delivered"] = dict(plain["delivered"])
        plain["warned"] = tuple(map(str, plain["warned"]))
        return cls(**plain)


def without(values: Mapping[str, Value], key: str) -> dict[str, Value]:
    """The values of all other keys."""
    return {each: value for each, value in values.items() if each != key}


def job_directory(config: Config) -> Path:
    """What a configuration has beside its ledger: one directory for a whole series."""
    name = config.release.id if config.series is None else config.series.name
    return ledger_of(config).path.parent / JOBS / name.replace(PERIOD, "PERIOD")


def state_file(config: Config) -> Path:
    """Where it is remembered."""
    return job_directory(config) / "state.json"


def recall(path: Path) -> Remembered:
    """What the file holds; nothing if there is none, or none that can be read."""
    try:
        return Remembered.from_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Remembered()


@contextmanager
def changing(path: Path) -> Iterator[list[Remembered]]:
    """What the file holds, as the one item of a list; what the item is then is kept.

    Waits for another process that changes the file at this instant.
    Raises: OutputError if it cannot be written; then it is as before.
    """
    with translate_write_errors("what is remembered beside the ledger"):
        make_private_directory(path.parent)
        lock = os.open(
            path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
        )
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            remove_partial_files(path.parent)
            before = recall(path)
            held = [before]
            yield held
            if held[0] != before:
                text = held[0].to_json()
                replace_durably(path, lambda stream: stream.write(text.encode()))
        finally:
            os.close(lock)
