"""From what went wrong to an exit code of the contract, and a message that shows no data.

0 done, 1 expected failure, 2 configuration, 3 bug, 4 budget refused, 5 verification failed,
130 interrupted. Whatever fails after a signal is an interruption; after the alarm of a time limit
it is the expected failure that the limit stands for.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import typer

from synth.errors import EXIT_INTERRUPTED, BugError, ConfigError, SynthError
from synth.job.log import FAILED, INTERRUPTED, record


class Interruption:
    """A signal handler that remembers that a signal came."""

    came = False

    def __call__(self, *_: object) -> NoReturn:
        """Stop what is under way."""
        self.came = True
        raise KeyboardInterrupt


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


def exit_code_of(command: Callable[[], int], interruption: Interruption) -> int:
    """Carry out the command; say what went wrong, if something did; return the exit code."""
    try:
        code = command()
        time_limit.stop()
    except (SynthError, MemoryError) as error:
        time_limit.stop()
        code = _expected_failure(error, silent=interruption.came or time_limit.is_over)
    except BaseException as error:
        time_limit.stop()
        stopped = interruption.came or time_limit.is_over
        code = EXIT_INTERRUPTED if stopped else _other_failure(error)
    if interruption.came:
        code = EXIT_INTERRUPTED
        _say("interrupted; start the same command again to continue", INTERRUPTED, code)
    elif time_limit.is_over:
        code = _expected_failure(time_limit.error, silent=False)
    return code


def print_json(plain: Any) -> None:
    """Print JSON for a program to read."""
    print(json.dumps(plain, indent=2, ensure_ascii=False))


def _expected_failure(error: SynthError | MemoryError, *, silent: bool) -> int:
    if isinstance(error, MemoryError):
        error = SynthError(
            "there was not enough memory",
            fix="run on a larger machine; `synth plan` says roughly how much is needed",
        )
    if not silent:
        _report(error)
    return error.exit_code


def _other_failure(error: BaseException) -> int:
    """The exit code of a wrong command line, of a closed pipe, or of a bug of ours."""
    if isinstance(error, SystemExit):  # how the command line library leaves a closed pipe
        return error.code if isinstance(error.code, int) else SynthError.exit_code
    if isinstance(error, typer.Abort):
        return EXIT_INTERRUPTED
    if hasattr(error, "show") and hasattr(error, "format_message"):  # a wrong command line
        if "--log-json" in sys.argv:
            _say(str(error.format_message()), FAILED, ConfigError.exit_code)
        else:
            error.show()
        return ConfigError.exit_code
    if isinstance(error, BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads on
        return SynthError.exit_code
    where = error.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    place = f" in {Path(where.tb_frame.f_code.co_filename).name}:{where.tb_lineno}" if where else ""
    _report(
        BugError(
            f"internal error: {type(error).__name__}{place}",
            fix="this is a bug of synth; report this line and the configuration, never the data",
        )
    )
    return BugError.exit_code


def _report(error: SynthError) -> None:
    """Say what is wrong: on standard error, and as JSON on standard output where asked for."""
    from synth.job.measuring_process import MeasuringProcessError

    if isinstance(error, MeasuringProcessError):
        return
    prefix = "" if error.exit_code in (2, 5) else "error: "
    _say(f"{prefix}{error}", FAILED, error.exit_code)
    if "--json" in sys.argv:
        print_json({"error": error.to_plain()})


def _say(line: str, stage: str, exit_code: int) -> None:
    """Say it on standard error, as a line of the JSON log where that was asked for."""
    if "--log-json" in sys.argv:
        line = record(sys.argv[1], stage, line, exit_code)
    print(line, file=sys.stderr, flush=True)
