"""The commands about a configuration: none of them opens raw data."""

from __future__ import annotations

import sys
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from synth.cli.contract import AsJson, ConfigPath, Period, PolicyPath, print_json
from synth.errors import VerificationError

if TYPE_CHECKING:
    from synth.config import Config


def check(config: ConfigPath, period: Period = None, as_json: AsJson = False) -> None:
    """Report every problem of a configuration; print its universe. Opens no data."""
    from synth.config import describe, load_config, warnings
    from synth.job.authorisation import approval_states
    from synth.planning import charged_events

    accepted = load_config(config, period=period, without_period="first")
    charged_events(accepted)  # refuses noise that is too wide to be drawn
    if as_json:
        print_json({"universe": describe(accepted), "warnings": list(warnings(accepted))})
        return
    from synth.config.summary import render

    render(accepted)
    for state in approval_states(accepted):
        print(f"approved  {state.in_words()} ({state.policy})")


def plan(
    config: ConfigPath,
    epsilon: Annotated[
        str | None, typer.Option(help="Compare budgets: a comma-separated list, as 0.5,1,2.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw it to this file: FILE.png or FILE.svg.")
    ] = None,
    series: Annotated[
        bool,
        typer.Option("--series", help="All releases of the series: errors and total over time."),
    ] = False,
    period: Period = None,
    as_json: AsJson = False,
) -> None:
    """Show what a run would measure and how exact it would be. Opens no data, spends nothing."""
    from synth.config import load_config
    from synth.planning import compare
    from synth.planning.printed import render, to_json

    accepted = load_config(config, period=period, without_period="first")
    if series:
        if epsilon is not None:
            raise typer.BadParameter("--series is about the epsilon of the configuration")
        _plan_series(accepted, plot, as_json=as_json)
        return
    budgets = [accepted.privacy.epsilon] if epsilon is None else _epsilons(epsilon)
    forecasts = compare(accepted, budgets, with_alternatives=True)
    if plot is not None:
        from synth.planning.plot import write_plot

        write_plot(forecasts, plot)
    if as_json:
        print(to_json(forecasts))
    else:
        render(forecasts)


def _plan_series(accepted: Config, plot: Path | None, *, as_json: bool) -> None:
    from synth.planning.series import forecast_series
    from synth.planning.series_printed import render, to_json, write_plot

    forecast = forecast_series(accepted)
    if plot is not None:
        write_plot(forecast, plot)
    if as_json:
        print(to_json(forecast))
    else:
        render(forecast)


def _epsilons(text: str) -> list[Fraction]:
    from synth.config import parse_epsilon

    return [parse_epsilon(part) for part in text.split(",")]


def explain(config: ConfigPath, period: Period = None, as_json: AsJson = False) -> None:
    """Say in plain words what the guarantee means, for a board or a committee. Opens no data."""
    from synth.config import load_config
    from synth.job.explanation import explain as explain_configuration
    from synth.job.explanation import render_explanation

    explanation = explain_configuration(load_config(config, period=period, without_period="first"))
    if as_json:
        print_json(explanation.to_plain())
    else:
        print(render_explanation(explanation))


def audit(config: ConfigPath, period: Period = None, as_json: AsJson = False) -> None:
    """Attack counting, noise and choices with made-up records; exit code 5 if a claim fails."""
    from synth.audit import audit as audit_configuration
    from synth.audit import render
    from synth.config import load_config
    from synth.job.log import StageLog

    accepted = load_config(config, period=period, without_period="first")
    with StageLog().doing("auditing"):
        report = audit_configuration(accepted)
    if as_json:
        print_json(report.to_plain())
    else:
        print(render(report))
    if report.exceeded:
        raise typer.Exit(VerificationError.exit_code)


def schema(
    policy: Annotated[bool, typer.Option("--policy", help="That of a policy instead.")] = False,
) -> None:
    """Print the JSON Schema of the configuration, for editors."""
    from synth.config import json_schema
    from synth.policy import policy_schema

    print_json(policy_schema() if policy else json_schema())


class LedgerAction(StrEnum):
    """What can be done to a ledger besides looking at it."""

    VOID = "void"


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

    from synth.bookkeeping.statement import ledger_report, render_ledger
    from synth.config import load_config
    from synth.job.account import open_ledger, require_anchored, void

    accepted = load_config(config, period=period, without_period="any")
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


def keygen(
    private: Annotated[
        Path, typer.Argument(metavar="PRIVATE.pem", help="The file of the private key to make.")
    ],
    passphrase: Annotated[
        bool, typer.Option("--passphrase", help="Ask for a passphrase that protects the key.")
    ] = False,
) -> None:
    """Make a key pair for approving and signing: PRIVATE.pem (mode 0600) and PRIVATE.pub.pem."""
    from synth.signatures import write_key_pair

    secret = None
    if passphrase:
        secret = typer.prompt("Passphrase", hide_input=True, confirmation_prompt=True).encode()
    public_path, public = write_key_pair(private, passphrase=secret)
    print(f"private key:  {private} (keep it secret)")
    print(f"public key:   {public_path}")
    print(f"key id:       {public.key_id}")
    print(f"for a policy: public_key: {public.line}")


def approve(
    config: ConfigPath,
    key: Annotated[
        Path,
        typer.Option("--key", metavar="PRIVATE.pem", help="Your private key.", show_default=False),
    ],
    period: Period = None,
    policy: PolicyPath = None,
) -> None:
    """Approve a configuration, or all of a series: print what it means, sign its hash."""
    from synth.config import load_config
    from synth.job import authorisation
    from synth.policy import in_plain_words
    from synth.signatures import read_private_key

    accepted = load_config(config, period=period, without_period="first")
    whole_series = accepted.series is not None and period is None
    print(in_plain_words(accepted, whole_series=whole_series), flush=True)
    private = read_private_key(
        key, passphrase=lambda: typer.prompt("Passphrase", hide_input=True, err=True).encode()
    )
    if sys.stdin.isatty():
        typer.confirm(f"Approve it with the key {private.public.key_id}?", abort=True, err=True)
    path, ids = authorisation.approve(accepted, private, policy=policy, whole_series=whole_series)
    print(f"approved by the key {private.public.key_id}")
    print(
        f"{path}: {len(ids)} approval{'' if len(ids) == 1 else 's'} of this "
        + ("series" if whole_series else "configuration")
    )
