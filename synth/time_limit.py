"""The time limit of a command: an alarm that stops it as an interruption would."""

from __future__ import annotations

import signal
from typing import NoReturn

from synth.errors import SynthError


class TimeLimit:
    """Remembers whether the time was over; the alarm stops what is under way."""

    def __init__(self) -> None:
        """There is no limit until `start`."""
        self.is_over = False
        self._seconds = 0

    def start(self, seconds: int | None) -> None:
        """From now on there are so many seconds; None for no limit."""
        if seconds is not None:
            self._seconds = seconds
            signal.signal(signal.SIGALRM, self)
            signal.setitimer(signal.ITIMER_REAL, seconds)

    def stop(self) -> None:
        """The command is done: no alarm any more."""
        signal.setitimer(signal.ITIMER_REAL, 0)

    def __call__(self, *_: object) -> NoReturn:
        """Stop what is under way, by the one way that every part of a job cleans up after."""
        self.is_over = True
        raise KeyboardInterrupt

    @property
    def error(self) -> SynthError:
        """What is said when the time is over."""
        return SynthError(
            f"stopped by the time limit of {self._seconds:,} seconds",
            why="what was reserved stays charged, and what was measured is kept",
            fix="start the same command again, with more time; nothing is charged twice",
        )


time_limit = TimeLimit()
"""That of this process."""
