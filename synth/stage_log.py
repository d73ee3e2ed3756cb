"""What a job says while it works: one line per finished stage, and a live line on a terminal.

Lines hold words of the configuration only: the same lines come out for an empty, a one-row and
a full source. The live line is drawn on a terminal and nowhere else; what it may tell while raw
data are open is decided in `synth.progress`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Protocol, TextIO

from synth import progress

if TYPE_CHECKING:
    from synth.live_line import LiveLine


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
        from synth.live_line import LiveLine

        terminal = self._stream or os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding="utf-8")
        try:
            with LiveLine(terminal, what) as live, progress.watched_by(live):
                self._live = live
                yield
        finally:
            self._live = None
            if self._stream is None:
                terminal.close()
