"""The commands for series of releases that nobody watches."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from synth.cli.exit_code import command_log, print_json, time_limit, voice
from synth.cli.options import AsJson, ConfigPath, LogJson, PolicyPath, SignKey, Timeout
from synth.errors import CommandError

if TYPE_CHECKING:
    from synth.job.log import Log

Today = Annotated[
    str | None,
    typer.Option(metavar="DATE", help="A UTC day to be taken for today, such as 2026-02-01."),
]


def _day(text: str | None) -> date | None:
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        raise CommandError("--today is no day such as 2026-02-01") from None


def due(
    config: ConfigPath,
    today: Today = None,
    policy: PolicyPath = None,
    sign_key: SignKey = None,
    timeout: Timeout = None,
    log_json: LogJson = False,
    log_file: Annotated[
        Path | None,
        typer.Option(help="Append the JSON log to this file as well; its directory is made."),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Say what is done; else only what fails.")
    ] = False,
) -> None:
    """Publish every period of a series that is due and not published, oldest first."""
    log = _log_of_due(log_json=log_json, log_file=log_file, verbose=verbose)
    time_limit.start(timeout)
    from synth.schedule.due import due as publish_due

    day = _day(today)
    outcome = publish_due(config, today=day, log=log, policy=policy, sign_key=sign_key)
    if outcome.exit_code:
        raise typer.Exit(outcome.exit_code)


def _log_of_due(*, log_json: bool, log_file: Path | None, verbose: bool) -> Log:
    if log_json or (verbose and log_file is None):
        log = command_log("due", log_json=log_json)
    else:
        from synth.job.log import StageLog
        from synth.schedule.due import DueLog

        log = voice.log = StageLog() if verbose else DueLog()
    if log_file is not None:
        from synth.job.log_file import AlsoToFile

        log = voice.log = AlsoToFile(log, "due", log_file)
    return log


def status(
    configs: Annotated[
        list[Path], typer.Argument(metavar="CONFIG...", help="The configurations of the series.")
    ],
    prometheus: Annotated[
        Path | None,
        typer.Option(help="Also write gauges to this file of a textfile collector."),
    ] = None,
    today: Today = None,
    policy: PolicyPath = None,
    as_json: AsJson = False,
) -> None:
    """Say how series stand: published, due, failed and why, and what is left. Opens no data."""
    from synth.schedule.status import status as status_of
    from synth.schedule.status_text import status_lines, write_metrics

    found = status_of(configs, today=_day(today), policy=policy)
    if prometheus is not None:
        write_metrics(prometheus, found)
    if as_json:
        print_json([each.to_plain() for each in found])
    else:
        print("\n".join(status_lines(found)))
    codes = [each.exit_code for each in found]
    if any(codes):
        raise typer.Exit(next(code for code in (2, 1, 4, *codes) if code in codes and code))


def tidy(
    config: ConfigPath,
    delete: Annotated[
        bool, typer.Option("--delete", help="Delete what is listed; else only list it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the noisy tables of published runs that are kept twice; with --delete remove them."""
    from synth.schedule.tidy import tidy as tidy_runs
    from synth.schedule.tidy import tidy_lines

    found = tidy_runs(config, delete=delete)
    if as_json:
        print_json([each.to_plain() for each in found])
    else:
        print("\n".join(tidy_lines(found)))
