"""The commands that carry out a job: whole, in halves, on made-up rows, or with nobody watching."""

from __future__ import annotations

import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from synth.cli.contract import (
    AsJson,
    ConfigPath,
    LogJson,
    Period,
    PolicyPath,
    SignKey,
    Timeout,
    command_log,
    print_json,
    time_limit,
    voice,
)
from synth.errors import CommandError

if TYPE_CHECKING:
    from synth.job.log import Log
    from synth.job.pipeline import Outcome


def run(
    config: ConfigPath,
    period: Period = None,
    policy: PolicyPath = None,
    sign_key: SignKey = None,
    timeout: Timeout = None,
    log_json: LogJson = False,
    as_json: AsJson = False,
) -> None:
    """Do the whole job: measure in a process of its own, discard, publish."""
    log = command_log("run", log_json=log_json, timeout=timeout)
    from synth.job import pipeline

    outcome = pipeline.run(config, period=period, log=log, policy=policy, sign_key=sign_key)
    _print_outcome(outcome, as_json)


def rehearse(
    config: ConfigPath,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FOLDER",
            help="The marked folder; else REHEARSAL-<id> beside the releases.",
        ),
    ] = None,
    period: Period = None,
    timeout: Timeout = None,
    log_json: LogJson = False,
    as_json: AsJson = False,
) -> None:
    """Do the whole job on made-up rows; opens no data, spends nothing, publishes nothing."""
    log = command_log("rehearse", log_json=log_json, timeout=timeout)
    from synth.job.rehearsal import rehearsal_lines
    from synth.job.rehearsal import rehearse as rehearsed

    found = rehearsed(config, output=output, period=period, log=log)
    if as_json:
        plain = {"path": str(found.path), "page": str(found.page), "rows": found.rows}
        print_json({**plain, "plan_of_the_release": found.forecast.to_plain()})
        return
    print("\n".join(rehearsal_lines(found)))


def measure(
    config: ConfigPath,
    period: Period = None,
    policy: PolicyPath = None,
    timeout: Timeout = None,
    log_json: LogJson = False,
    as_json: AsJson = False,
    within_run: Annotated[bool, typer.Option(hidden=True)] = False,
    report_progress: Annotated[bool, typer.Option(hidden=True)] = False,
) -> None:
    """Charge the ledger, measure the source once, dispose of the raw data."""
    from synth.curator.seal import seal_process

    seal_process(dies_with_parent=within_run)
    from synth.job.measuring_process import ToldParent

    if within_run:
        voice.log = ToldParent(sys.stdout.fileno(), is_watched=report_progress)
    log = voice.log or command_log("measure", log_json=log_json)
    time_limit.start(timeout)
    from synth.config import load_config
    from synth.job import pipeline
    from synth.job.measuring_process import given_configuration

    accepted = (
        given_configuration(sys.stdin.buffer) if within_run else load_config(config, period=period)
    )
    outcome = pipeline.measure(accepted, log=log, policy=policy)
    if not within_run:
        _print_outcome(outcome, as_json)


def publish(
    config: ConfigPath,
    measured: Annotated[
        Path | None, typer.Option(help="The run directory, brought from where it was measured.")
    ] = None,
    period: Period = None,
    policy: PolicyPath = None,
    sign_key: SignKey = None,
    timeout: Timeout = None,
    log_json: LogJson = False,
    as_json: AsJson = False,
) -> None:
    """Write the release from the measurements; opens no data."""
    log = command_log("publish", log_json=log_json, timeout=timeout)
    from synth.config import load_config
    from synth.job import pipeline

    accepted = load_config(config, period=period)
    outcome = pipeline.publish(
        accepted, measured=measured, log=log, policy=policy, sign_key=sign_key
    )
    _print_outcome(outcome, as_json)


def _print_outcome(outcome: Outcome, as_json: bool) -> None:
    if as_json:
        print_json({"path": str(outcome.path), "was_there": outcome.was_there})
    else:
        here = Path.cwd()
        print(outcome.path.relative_to(here) if outcome.path.is_relative_to(here) else outcome.path)


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
        from synth.schedule.due import AlsoToFile

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
    from synth.schedule.status import status_lines, write_metrics

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
