"""What all commands have in common: the options that several share, the voice, the exit codes.

From what went wrong to an exit code of the contract, and a message that shows no data: 0 done,
1 expected failure, 2 configuration, 3 bug, 4 budget refused, 5 verification failed, 130
interrupted. Whatever fails after a signal is an interruption; after the alarm of a time limit it
is the expected failure that the limit stands for.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from synth.errors import (
    EXIT_INTERRUPTED,
    CommandError,
    StoppedError,
    SynthError,
    told_as,
)
from synth.job.log import JsonLog, Log, StageLog


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


@dataclass
class Voice:
    """How the command under way says what went wrong: as its options ask for."""

    log: Log | None = None
    as_json: bool = False


voice = Voice()
"""That of this process; set as soon as the options are parsed."""


def command_log(command: str, *, log_json: bool, timeout: int | None = None) -> Log:
    """The log of a command, which also hears what went wrong; its time begins to run."""
    time_limit.start(timeout)
    voice.log = JsonLog(command) if log_json else StageLog()
    return voice.log


def print_json(plain: Any) -> None:
    """Print JSON for a program to read."""
    print(json.dumps(plain, indent=2, ensure_ascii=False))


def exit_code_of(command: Callable[[], int], interruption: Interruption) -> int:
    """Carry out the command; say what went wrong, if something did; return the exit code."""
    code = 0
    try:
        code = command()
        time_limit.stop()
    except BaseException as error:
        time_limit.stop()
        if not (interruption.came or time_limit.is_over):
            return _exit_code_of_error(error)
    if interruption.came:
        return _report(StoppedError())
    return _report(time_limit.error) if time_limit.is_over else code


def _exit_code_of_error(error: BaseException) -> int:
    """The exit code of an expected failure, a wrong command, a closed pipe, or a bug of ours."""
    match error:
        case SynthError():
            return _report(error)
        case SystemExit(code=code):  # how the command line library leaves a closed pipe
            return code if isinstance(code, int) else SynthError.exit_code
        case typer.Abort():
            return EXIT_INTERRUPTED
        case BrokenPipeError():
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads on
            return SynthError.exit_code
    if hasattr(error, "show") and hasattr(error, "format_message"):  # typer's own, of any version
        return _wrong_command(error)
    return _report(told_as(error))


def _wrong_command(error: Any) -> int:
    """Say what is wrong with the command line, in the log if that was asked for before."""
    context = getattr(error, "ctx", None)
    if context is not None and context.params.get("log_json"):
        voice.log = JsonLog(str(context.info_name))
        return _report(CommandError(error.format_message()))
    error.show()
    return CommandError.exit_code


def _report(error: SynthError) -> int:
    """Say what is wrong: in the log, and as JSON on standard output where asked for."""
    (voice.log or StageLog()).failed(error)
    if voice.as_json:
        print_json({"error": error.to_plain()})
    return error.exit_code


ConfigPath = Annotated[Path, typer.Argument(metavar="CONFIG", help="The YAML configuration.")]
ReleasePath = Annotated[Path, typer.Argument(metavar="RELEASE", help="The release folder.")]
Period = Annotated[str | None, typer.Option(help="Fills {period} in release.id and the source.")]


def _say_as_json(value: bool) -> bool:
    voice.as_json = value
    return value


AsJson = Annotated[
    bool,
    typer.Option("--json", callback=_say_as_json, help="Print JSON for a program to read."),
]
PolicyPath = Annotated[
    Path | None,
    typer.Option(
        "--policy", help="A policy that must allow it, besides the one that SYNTH_POLICY names."
    ),
]
SignKey = Annotated[
    Path | None,
    typer.Option(
        "--sign-key", help="The private key that signs the release, for `output.signing_key`."
    ),
]
LogJson = Annotated[
    bool, typer.Option("--log-json", help="Log one JSON object a line on standard error.")
]
Timeout = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=10**7,
        metavar="SECONDS",
        help="Stop cleanly after so long, with exit code 1; the same command continues.",
    ),
]
