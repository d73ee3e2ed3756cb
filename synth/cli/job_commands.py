"""The commands that carry out a job, whole or in halves."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from synth.cli.exit_code import command_log, print_json, time_limit, voice
from synth.cli.options import AsJson, ConfigPath, LogJson, Period, PolicyPath, SignKey, Timeout

if TYPE_CHECKING:
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
    log = command_log("run", log_json=log_json)
    time_limit.start(timeout)
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
    log = command_log("rehearse", log_json=log_json)
    time_limit.start(timeout)
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
    from synth.job.messages import ToldParent

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
    log = command_log("publish", log_json=log_json)
    time_limit.start(timeout)
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
