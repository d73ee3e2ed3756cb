"""What cron and systemd do with a job: start it, and tell a person what came of it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

STOPPED = 130
"""An exit code that the shipped service counts as stopped, not as failed (SuccessExitStatus)."""
LONGEST_SECONDS = 600


@dataclass(frozen=True)
class Ended:
    """A start that is over."""

    exit_code: int
    """Negative where a signal ended it."""
    said: str
    """Standard output and standard error, as they would stand in a mail of cron."""
    seconds: float

    @property
    def was_killed(self) -> bool:
        """Whether a signal ended it."""
        return self.exit_code < 0

    @property
    def sets_off_on_failure(self) -> bool:
        """Whether systemd starts what `OnFailure=` names."""
        return self.exit_code not in (0, STOPPED)

    @property
    def is_mailed(self) -> bool:
        """Whether cron sends a mail."""
        return bool(self.said)


@dataclass(frozen=True)
class Timer:
    """Starts one program in the almost empty environment that cron gives."""

    words: Sequence[str]
    place: Path
    environment: Mapping[str, str]

    def start(
        self,
        *arguments: str,
        after: float = LONGEST_SECONDS,
        strike: Callable[[subprocess.Popen[str]], None] | None = None,
    ) -> Ended:
        """Start the program and wait for its end; strike after so many seconds if it still runs."""
        begun = time.monotonic()
        with subprocess.Popen(
            [*self.words, *arguments],
            cwd=self.place,
            env={"PATH": "/usr/bin:/bin", "HOME": str(self.place), **self.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as job:
            said = ""
            with suppress(subprocess.TimeoutExpired):
                said = job.communicate(timeout=after)[0]
            if job.returncode is None:
                (strike or kill)(job)
                said = job.communicate(timeout=LONGEST_SECONDS)[0]
        return Ended(job.returncode, said, time.monotonic() - begun)


def kill(job: subprocess.Popen[str]) -> None:
    """End the job and all of its processes at once."""
    with suppress(ProcessLookupError):
        os.killpg(job.pid, signal.SIGKILL)
