"""What a job says while it works: one line per finished stage, and a live line on a terminal.

Lines hold words of the configuration only: the same lines come out for an empty, a one-row and
a full source. The live line is drawn on a terminal and nowhere else; what it may tell while raw
data are open is decided in `synth.progress`. The log for a program to read has one JSON object a
line, always with the same keys; it holds no time and no duration: whoever collects it knows when a
line came, and nothing is added to that.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Protocol, TextIO

from synth import progress

if TYPE_CHECKING:
    from synth.job.live_line import LiveLine


LOG_VERSION = 1

KEYS = ("log_version", "command", "stage", "message", "exit_code")
"""The keys of every object, in order; `exit_code` is null until the command ends."""

STAGES = {
    "configuration accepted": "configuration",
    "already published": "already-published",
    "reserved": "reserved",
    "measured before": "already-measured",
    "measured": "measured",
    "discarded": "discarded",
    "written": "written",
    "published": "published",
    "verified": "verified",
}
"""How a line of the log begins, and what its stage is called."""

NOTE, FAILED, INTERRUPTED = "note", "failed", "interrupted"


def record(command: str, stage: str, message: str, exit_code: int | None = None) -> str:
    """One line of the log."""
    values = (LOG_VERSION, command, stage, message, exit_code)
    return json.dumps(dict(zip(KEYS, values, strict=True)), ensure_ascii=False)


def is_record(line: str) -> bool:
    """Whether a line is one of the log already, such as those of the measuring process."""
    try:
        values = json.loads(line)
    except ValueError:
        return False
    return isinstance(values, dict) and tuple(values) == KEYS


class Log(Protocol):
    """Receives the stages of a job."""

    def doing(self, what: str) -> AbstractContextManager[None]:
        """A part of the job that takes a while; its progress is shown while the context lasts."""

    def done(self, line: str) -> None:
        """A stage that is finished."""


class StageLog:
    """Writes plain lines, or on a terminal ticks and one live line below them."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """Write to this stream instead of standard error."""
        self._stream = stream
        self._live: LiveLine | None = None

    def done(self, line: str) -> None:
        """Print one finished stage."""
        stream = self._stream or sys.stderr
        mark = "\N{CHECK MARK} " if stream.isatty() else ""
        if self._live is not None:
            self._live.print_above(f"{mark}{line}")
        else:
            print(f"{mark}{line}", file=stream, flush=True)

    def doing(self, what: str) -> AbstractContextManager[None]:
        """Show what is under way, on a terminal only.

        Standard error is written to by a descriptor of its own, since the curator silences the
        usual one while raw data are open; nothing but the live line is written there.
        """
        is_terminal = (self._stream or sys.stderr).isatty()
        return self._showing(what) if is_terminal else nullcontext()

    @contextmanager
    def _showing(self, what: str) -> Iterator[None]:
        from synth.job.live_line import LiveLine

        terminal = self._stream or os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding="utf-8")
        try:
            with LiveLine(terminal, what) as live, progress.watched_by(live):
                self._live = live
                yield
        finally:
            self._live = None
            if self._stream is None:
                terminal.close()


class JsonLog:
    """Writes the stages of a command as JSON lines; see `Log`."""

    def __init__(self, command: str, stream: TextIO | None = None) -> None:
        """Write to this stream instead of standard error."""
        self._command = command
        self._stream = stream

    def doing(self, what: str) -> AbstractContextManager[None]:  # noqa: ARG002
        """Nothing: only finished stages are logged."""
        return nullcontext()

    def done(self, line: str) -> None:
        """Write one finished stage; a line of the measuring process passes as it is."""
        if not is_record(line):
            stage = next((name for head, name in STAGES.items() if line.startswith(head)), NOTE)
            line = record(self._command, stage, line)
        print(line, file=self._stream or sys.stderr, flush=True)
