"""What a job says while it works: one line per finished stage, and a spinner on a terminal.

Lines hold words of the configuration only: the same lines come out for an empty, a one-row and
a full source.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol


class Log(Protocol):
    """Receives the stages of a job."""

    def doing(self, what: str) -> AbstractContextManager[None]:
        """A stage that takes a while; shown while the context lasts."""

    def done(self, line: str) -> None:
        """A stage that is finished."""


class StageLog:
    """Writes to standard error: plain lines, or on a terminal ticks and a spinner."""

    def done(self, line: str) -> None:
        """Print one finished stage."""
        mark = "\N{CHECK MARK} " if sys.stderr.isatty() else ""
        print(f"{mark}{line}", file=sys.stderr, flush=True)

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Show a spinner while the stage lasts, on a terminal only."""
        if not sys.stderr.isatty():
            yield
            return
        from rich.console import Console

        with Console(stderr=True).status(f"{what} ..."):
            yield
