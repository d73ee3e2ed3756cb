"""The command line: parse, call one function, turn an exception into an exit code."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from importlib import metadata
from typing import Annotated, NoReturn

import typer

from synth.cli.configuration_commands import (
    approve,
    audit,
    check,
    explain,
    keygen,
    ledger,
    plan,
    schema,
)
from synth.cli.contract import Interruption, exit_code_of
from synth.cli.job_commands import due, measure, publish, rehearse, run, status, tidy
from synth.cli.keeper_commands import confirm, draft, evaluate, inspect
from synth.cli.release_commands import errors, index, verify
from synth.errors import DISTRIBUTION

app = typer.Typer(
    name="synth",
    help="Publish a sensitive table once, as differentially private synthetic data.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
)

COMMANDS: tuple[Callable[..., None], ...] = (
    *(draft, confirm, check, plan, explain, inspect, keygen, approve, audit),
    *(rehearse, run, due, status, tidy, measure, publish, verify, errors, index, evaluate),
    *(ledger, schema),
)
for command in COMMANDS:
    app.command()(command)


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


def main() -> NoReturn:
    """Run the command line and leave with an exit code of the contract; see `exit_code`."""
    interruption = Interruption()
    signal.signal(signal.SIGINT, interruption)
    signal.signal(signal.SIGTERM, interruption)
    sys.exit(exit_code_of(lambda: app(standalone_mode=False) or 0, interruption))
