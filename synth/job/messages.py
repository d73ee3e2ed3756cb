"""What the measuring process tells its parent: JSON lines of four forms, written and read here.

    {"line": {...}}                      a line of the log, see `Record`
    {"failed": [text, {...}]}            how it failed: in words, and in JSON values
    {"entered": ["NOISE", 1, 3]}         the step under way, or null
    {"advanced": [250, 1000, "cells"]}   how far it is

The last two hold nothing but names of stages and numbers of the public plan; see `synth.progress`
for what may be told while raw data are open. They are sent only where somebody watches.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import asdict
from typing import Any, cast, get_args

from synth import errors, progress
from synth.errors import SynthError
from synth.job.log import Log, Record
from synth.progress import Stage, Step, Unit, Watcher

SECONDS_BETWEEN_REPORTS = 0.1


class MeasuringProcessError(SynthError):
    """The measuring process failed: what it said of that."""

    def __init__(self, text: str, plain: dict[str, Any]) -> None:
        """Keep the text of the error, and the error in JSON values."""
        SynthError.__init__(self, plain["sentence"], why=plain["why"], fix=plain["fix"])
        self.exit_code = plain["exit_code"]
        self._text, self._plain = text, plain

    def __str__(self) -> str:
        return self._text

    def to_plain(self) -> dict[str, Any]:
        """As the process itself would have said it."""
        return self._plain


def told_error(text: str, plain: dict[str, Any]) -> MeasuringProcessError:
    """The error, of the class that it had there as well: who catches that one catches it."""
    kind = getattr(errors, str(plain["error"]), None)
    if not isinstance(kind, type) or not issubclass(kind, SynthError):
        return MeasuringProcessError(text, plain)
    told = type(kind.__name__, (MeasuringProcessError, kind), {})
    return cast("MeasuringProcessError", told(text, plain))


class ToldParent(Log):
    """The log of a measuring process, which also watches its progress where that is wanted.

    It writes whole lines to a descriptor of its own, past the silence of the curator: that sends
    the standard ones to nowhere while raw data are open, and libraries know of no other.
    A parent that is gone is no reason to stop measuring.
    """

    def __init__(self, descriptor: int, *, is_watched: bool) -> None:
        """Write to a copy of this descriptor."""
        self._descriptor = os.dup(descriptor)
        self._is_watched = is_watched
        self._next = 0.0

    def write(self, record: Record) -> None:
        """Tell a line of the log."""
        self._tell("line", asdict(record))

    def failed(self, error: SynthError) -> None:
        """Tell how this process failed."""
        self._tell("failed", [str(error), error.to_plain()])

    def doing(self, what: str) -> AbstractContextManager[None]:  # noqa: ARG002
        """Report progress while the context lasts, if somebody watches."""
        return progress.watched_by(self) if self._is_watched else nullcontext()

    def entered(self, step: Step | None) -> None:
        """Report the step under way."""
        self._next = 0.0
        self._tell("entered", step and [step.stage.name, step.part, step.parts])

    def advanced(self, done: int, total: int, unit: Unit) -> None:
        """Report how far it is, if the last report was not just now."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + SECONDS_BETWEEN_REPORTS
            self._tell("advanced", [done, total, unit])

    def _tell(self, form: str, content: Any) -> None:
        with suppress(OSError):
            os.write(self._descriptor, f"{json.dumps({form: content})}\n".encode())


def pass_on(line: bytes, log: Log, watcher: Watcher | None) -> MeasuringProcessError | None:
    """Tell the log or the watcher what a line says; return the error that it tells of.

    A line of no such form, such as one that a library printed, reaches nobody.
    """
    try:
        told = json.loads(line)
    except ValueError:
        return None
    match told:
        case {"line": {"stage": str(), "message": str()} as fields}:
            log.write(Record(**fields))
        case {"failed": [str(text), dict(plain)]}:
            return told_error(text, plain)
        case {"entered": None} if watcher:
            watcher.entered(None)
        case {"entered": [str(name), int(part), int(parts)]} if watcher:
            if name in Stage.__members__:
                watcher.entered(Step(Stage[name], part, parts))
        case {"advanced": [int(done), int(total), str(unit)]} if watcher:
            for known in get_args(Unit):
                if known == unit and 0 <= done <= total:
                    watcher.advanced(done, total, known)
    return None
