"""The command line: parse, call one function, turn an exception into an exit code."""

from __future__ import annotations

import signal
import sys
from enum import StrEnum
from fractions import Fraction
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from synth.cli.audit_command import audit
from synth.cli.draft_command import draft
from synth.cli.errors_command import errors
from synth.cli.evaluate_command import evaluate
from synth.cli.exit_code import Interruption, exit_code_of, print_json, time_limit
from synth.cli.inspect_command import inspect
from synth.cli.key_commands import approve, keygen
from synth.cli.options import AsJson, ConfigPath, LogJson, Period, PolicyPath, SignKey, Timeout
from synth.errors import DISTRIBUTION
from synth.job.log import JsonLog, Log, StageLog

if TYPE_CHECKING:
    from synth.job.pipeline import Outcome

app = typer.Typer(
    name="synth",
    help="Publish a sensitive table once, as differentially private synthetic data.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
)

app.command()(keygen)
app.command()(approve)
app.command()(audit)
app.command()(errors)
app.command()(draft)
app.command()(evaluate)
app.command()(inspect)


@app.callback(invoke_without_command=True)
def options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Publish a sensitive table once, as differentially private synthetic data."""
    if version:
        print(f"synth {metadata.version(DISTRIBUTION)}")
        raise typer.Exit


class LedgerAction(StrEnum):
    """What can be done to a ledger besides looking at it."""

    VOID = "void"


def main() -> NoReturn:
    """Run the command line and leave with an exit code of the contract; see `exit_code`."""
    interruption = Interruption()
    signal.signal(signal.SIGINT, interruption)
    signal.signal(signal.SIGTERM, interruption)
    sys.exit(exit_code_of(lambda: app(standalone_mode=False) or 0, interruption))


@app.command()
def check(config: ConfigPath, period: Period = None, as_json: AsJson = False) -> None:
    """Report every problem of a configuration; print its universe. Opens no data."""
    from synth.config import describe, load_config, warnings
    from synth.plan import plan_events, plan_schedule

    accepted = load_config(config, period=period)
    plan_events(accepted)  # both refuse noise that is too wide to be drawn
    plan_schedule(accepted)
    if as_json:
        print_json({"universe": describe(accepted), "warnings": list(warnings(accepted))})
        return
    from synth.config.summary import render

    render(accepted)


@app.command()
def plan(
    config: ConfigPath,
    epsilon: Annotated[
        str | None, typer.Option(help="Compare budgets: a comma-separated list, as 0.5,1,2.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw it to this file: FILE.png or FILE.svg.")
    ] = None,
    period: Period = None,
    as_json: AsJson = False,
) -> None:
    """Show what a run would measure and how exact it would be. Opens no data, spends nothing."""
    from synth.config import load_config
    from synth.plan import compare
    from synth.plan.printed import render, to_json

    accepted = load_config(config, period=period)
    budgets = [accepted.privacy.epsilon] if epsilon is None else _epsilons(epsilon)
    forecasts = compare(accepted, budgets, with_alternatives=True)
    if plot is not None:
        from synth.plan.plot import write_plot

        write_plot(forecasts, plot)
    if as_json:
        print(to_json(forecasts))
    else:
        render(forecasts)


@app.command()
def explain(config: ConfigPath, period: Period = None, as_json: AsJson = False) -> None:
    """Say in plain words what the guarantee means, for a board or a committee. Opens no data."""
    from synth.config import load_config
    from synth.job.explanation import explain as explain_configuration
    from synth.job.explanation import render_explanation

    explanation = explain_configuration(load_config(config, period=period))
    if as_json:
        print_json(explanation.to_plain())
    else:
        print(render_explanation(explanation))


def _epsilons(text: str) -> list[Fraction]:
    from synth.config import parse_epsilon

    return [parse_epsilon(part) for part in text.split(",")]


@app.command()
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
    from synth.job import pipeline

    time_limit.start(timeout)
    log = _log("run", log_json)
    outcome = pipeline.run(
        config,
        period=period,
        log=log,
        policy=policy,
        sign_key=sign_key,
    )
    _print_outcome(outcome, as_json)


@app.command()
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
    from synth.config import load_config
    from synth.curator import seal_process
    from synth.job import pipeline
    from synth.job.measuring_process import ReportingLog

    seal_process(dies_with_parent=within_run)
    time_limit.start(timeout)
    log = ReportingLog() if report_progress else _log("measure", log_json)
    outcome = pipeline.measure(load_config(config, period=period), log=log, policy=policy)
    if not within_run:
        _print_outcome(outcome, as_json)


@app.command()
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
    from synth.config import load_config
    from synth.job import pipeline

    time_limit.start(timeout)
    outcome = pipeline.publish(
        load_config(config, period=period),
        measured=measured,
        log=_log("publish", log_json),
        policy=policy,
        sign_key=sign_key,
    )
    _print_outcome(outcome, as_json)


@app.command()
def verify(
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="The release folder.")],
    key: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PUBLIC.pem", help="It must be signed by this key, or by one of these."
        ),
    ] = None,
    timeout: Timeout = None,
    log_json: LogJson = False,
    as_json: AsJson = False,
) -> None:
    """Check a release: rebuild its rows from its measurements. Needs no source, no ledger."""
    from synth.job import pipeline

    time_limit.start(timeout)
    log = _log("verify", log_json)
    with log.doing("verifying"):
        report = pipeline.verify(release, keys=key or ())
    if log_json:
        log.done(f"verified: {report.release_id}")
    if as_json:
        print_json(report.to_plain())
    else:
        print(report)


@app.command()
def ledger(
    config: ConfigPath,
    action: Annotated[LedgerAction | None, typer.Argument(help="Free a charge.")] = None,
    release_id: Annotated[str, typer.Argument(metavar="[RUN]", help="The run to void.")] = "",
    reason: Annotated[str, typer.Option(help="Why it is voided; kept in the ledger.")] = "",
    release: Annotated[
        list[Path] | None,
        typer.Option(metavar="FOLDER", help="Check that it holds what this release states of it."),
    ] = None,
    period: Period = None,
    as_json: AsJson = False,
) -> None:
    """Show what was spent, on what, and what is left; or `void RUN --reason TEXT`."""
    from rich.console import Console

    from synth.config import load_config
    from synth.job.account import require_anchored
    from synth.job.pipeline import open_ledger, void
    from synth.ledger.statement import ledger_report, render_ledger

    accepted = load_config(config, period=period)
    if action is LedgerAction.VOID:
        void(accepted, release_id, reason)
    opened, population = open_ledger(accepted)
    with opened:
        require_anchored(opened, release or ())
        if as_json:
            print_json(ledger_report(opened, population))
        else:
            render_ledger(opened, population, Console())
            for folder in release or ():
                print(f"{folder.name}: its reservation is in the chain, as published.")


@app.command()
def schema(
    policy: Annotated[bool, typer.Option("--policy", help="That of a policy instead.")] = False,
) -> None:
    """Print the JSON Schema of the configuration, for editors."""
    from synth.config import json_schema
    from synth.policy import policy_schema

    print_json(policy_schema() if policy else json_schema())


def _log(command: str, log_json: bool) -> Log:
    return JsonLog(command) if log_json else StageLog()


def _print_outcome(outcome: Outcome, as_json: bool) -> None:
    if as_json:
        print_json({"path": str(outcome.path), "was_there": outcome.was_there})
    else:
        here = Path.cwd()
        print(outcome.path.relative_to(here) if outcome.path.is_relative_to(here) else outcome.path)
