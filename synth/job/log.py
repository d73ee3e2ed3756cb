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
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal, TextIO

from synth import progress
from synth.errors import EXIT_INTERRUPTED, SynthError

if TYPE_CHECKING:
    from synth.job.live_line import LiveLine

LOG_VERSION = 2

StageName = Literal[
    "configuration",
    "already-published",
    "reserved",
    "already-measured",
    "measured",
    "discarded",
    "written",
    "published",
    "delivered",
    "renewal",
    "verified",
    "note",
    "failed",
    "interrupted",
]


@dataclass(frozen=True)
class Record:
    """One line of a log. What is not known, or is no part of it, is None."""

    release: str | None
    stage: StageName
    message: str
    exit_code: int | None = None
    """Of a command that failed; None until it ends."""
    error: str | None = None
    """The class of what went wrong."""
    why: str | None = None
    fix: str | None = None
    budget_left: Mapping[str, str] | None = None
    """Of the population: `epsilon` and `delta` as exact fractions in text."""

    @classmethod
    def of_error(cls, error: SynthError, release: str | None) -> Record:
        """What a log says of a command that failed."""
        plain = error.to_plain()
        return cls(
            release,
            "interrupted" if error.exit_code == EXIT_INTERRUPTED else "failed",
            str(error),
            error.exit_code,
            plain["error"],
            plain["why"] or None,
            plain["fix"] or None,
            plain.get("budget_left"),
        )


class Log(ABC):
    """Receives the stages of a job, and in the end what went wrong."""

    release: str | None = None
    """The release that the job is about, once that is known."""

    def done(
        self, stage: StageName, message: str, *, budget_left: Mapping[str, str] | None = None
    ) -> None:
        """A stage that is finished."""
        self.write(Record(self.release, stage, message, budget_left=budget_left))

    def failed(self, error: SynthError) -> None:
        """The end of a command that did not succeed."""
        self.write(Record.of_error(error, self.release))

    @abstractmethod
    def write(self, record: Record) -> None:
        """Write one line."""

    def doing(self, what: str) -> AbstractContextManager[None]:  # noqa: ARG002
        """A part of the job that takes a while; its progress may be shown meanwhile."""
        return nullcontext()


class StageLog(Log):
    """Writes plain lines, or on a terminal ticks and one live line below them."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """Write to this stream instead of standard error."""
        self._stream = stream
        self._live: LiveLine | None = None

    def write(self, record: Record) -> None:
        """Print one line; a list of problems or findings needs no word that says it is an error."""
        stream = self._stream or sys.stderr
        mark = "\N{CHECK MARK} " if stream.isatty() else ""
        if record.exit_code is not None:
            mark = "error: " if record.exit_code not in (2, 5, EXIT_INTERRUPTED) else ""
        if self._live is not None:
            self._live.print_above(f"{mark}{record.message}")
        else:
            print(f"{mark}{record.message}", file=stream, flush=True)

    def doing(self, what: str) -> AbstractContextManager[None]:
        """Show what is under way, on a terminal or in a notebook only.

        Standard error is written to by a descriptor of its own, since the curator silences the
        usual one while raw data are open; nothing but the live line is written there.
        """
        if self._stream is None and is_notebook():
            return _showing_in_notebook(what)
        is_terminal = (self._stream or sys.stderr).isatty()
        return self._showing(what) if is_terminal else nullcontext()

    @contextmanager
    def _showing(self, what: str) -> Iterator[None]:
        from synth.job.live_line import LiveLine  # rich is slow to load, and no scheduled job draws

        terminal = self._stream or os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding="utf-8")
        try:
            with LiveLine(terminal, what) as live, progress.watched_by(live):
                self._live = live
                yield
        finally:
            self._live = None
            if self._stream is None:
                terminal.close()


def is_notebook() -> bool:
    """Whether a kernel of Jupyter runs this, and can show a widget."""
    return "ipykernel" in sys.modules and find_spec("ipywidgets") is not None


@contextmanager
def _showing_in_notebook(what: str) -> Iterator[None]:
    """Show a bar as a widget of the cell; lines go to standard error, as without it."""
    from synth.job.live_line import LiveLine  # as above

    with LiveLine(None, what) as live, progress.watched_by(live):
        yield


class JsonLog(Log):
    """Writes one JSON object a line."""

    def __init__(self, command: str, stream: TextIO | None = None) -> None:
        """Write to this stream instead of standard error."""
        self._command = command
        self._stream = stream

    def write(self, record: Record) -> None:
        """Write one line."""
        plain = {"log_version": LOG_VERSION, "command": self._command, **asdict(record)}
        print(json.dumps(plain, ensure_ascii=False), file=self._stream or sys.stderr, flush=True)
