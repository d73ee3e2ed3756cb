"""Strikes: a job dies, or an operation fails, right before its n-th step that lasts.

A step is an operation of Python on files that outlasts the process: opening for writing, link,
rename, remove, making and removing directories, modes, locks, forcing to storage (before and
after), and every SQL statement of the ledger. They are heard through audit events, which come
before the operation and can make it fail.
"""

from __future__ import annotations

import errno
import os
import signal
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Action = Literal["record", "kill", "kill-group", "terminate", "full", "broken", "denied"]

FAILURES = {"full": errno.ENOSPC, "broken": errno.EIO, "denied": errno.EACCES}

_NAMED = {
    "os.link",
    "os.rename",
    "os.remove",
    "os.mkdir",
    "os.rmdir",
    "os.chmod",
    "os.truncate",
    "fcntl.flock",
    "sqlite3.connect",
}
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


@dataclass(frozen=True)
class Plan:
    """What happens in which process before which step; `record` writes every step down."""

    action: Action
    role: str = "run"
    step: int = -1


class _Striker:
    """The one of this process."""

    plan: Plan | None = None
    role = ""
    count = 0
    record = -1
    busy = False


_striker = _Striker()


def prepare(plan: Plan, *, role: str, place: Path) -> None:
    """Listen to the steps of this process and of those that it forks."""
    _striker.plan = plan
    if plan.action == "record":
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        _striker.record = os.open(place / "steps.txt", flags, 0o600)
    enter_role(role)
    sys.addaudithook(_heard)
    os.fsync = _around(os.fsync, "fsync")
    sqlite3.connect = _traced(sqlite3.connect)  # type: ignore[assignment]


def enter_role(role: str) -> None:
    """Count the steps of this process from 0."""
    _striker.role, _striker.count = role, 0


@contextmanager
def unheard() -> Iterator[None]:
    """What the harness itself does meanwhile is no step."""
    _striker.busy = True
    try:
        yield
    finally:
        _striker.busy = False


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open":
        path, _mode, flags = arguments
        if isinstance(flags, int) and flags & _WRITES and path != os.devnull:
            _step("open", path)
    elif event in _NAMED:
        _step(event, arguments[0])


def _around(original: Any, name: str) -> Any:
    def around(*arguments: Any) -> Any:
        _step(f"before {name}", "")
        done = original(*arguments)
        _step(f"after {name}", "", may_fail=False)
        return done

    return around


def _traced(original: Any) -> Any:
    def connect(*arguments: Any, **options: Any) -> Any:
        connection = original(*arguments, **options)
        connection.set_trace_callback(lambda sql: _step("sql", sql[:20], may_fail=False))
        return connection

    return connect


def _step(name: str, what: object, *, may_fail: bool = True) -> None:
    plan = _striker.plan
    if plan is None or _striker.busy:
        return
    number = _striker.count
    _striker.count += 1
    if plan.action == "record":
        line = f"{_striker.role} {int(may_fail)} {name} {what}\n"
        os.write(_striker.record, line.encode("utf-8", "replace"))
        return
    if (plan.role, plan.step) != (_striker.role, number):
        return
    if plan.action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif plan.action == "kill-group":
        os.killpg(0, signal.SIGKILL)
    elif plan.action == "terminate":
        os.kill(os.getpid(), signal.SIGTERM)
    elif may_fail:
        code = FAILURES[plan.action]
        raise OSError(code, os.strerror(code))
