"""The commands that show raw data to their keeper: no noise, no ledger, no guarantee."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from synth.cli.options import AsJson, ConfigPath, Period


def inspect(
    config: ConfigPath,
    report: Annotated[
        Path | None,
        typer.Option(help="Write it to this new file of mode 0600 instead of standard output."),
    ] = None,
    period: Period = None,
    as_json: AsJson = False,
) -> None:
    """Say how RAW DATA fit the domain, before a run (private!); charges and changes nothing."""
    from synth.api.keeper import inspect as inspected
    from synth.config import load_config
    from synth.curator import seal_process
    from synth.job.private_file import require_new, require_outside_releases, write_private

    accepted = load_config(config, period=period)
    if report is not None:
        require_outside_releases(report, report)
        require_new(report)
    seal_process(dies_with_parent=False)
    directory = None if report is None else report.absolute().parent
    found = inspected(accepted, directory=directory)
    text = json.dumps(found.to_plain(), indent=2) + "\n" if as_json else f"{found}\n"
    if report is None:
        sys.stdout.write(text)
    else:
        write_private(report, text)
        print(report)


def evaluate(
    config: ConfigPath,
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="The release folder.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="The report: a new file, mode 0600.")
    ] = Path("evaluation.html"),
    target: Annotated[
        list[str] | None,
        typer.Option(help="A column to predict from all others; repeatable. Else every column."),
    ] = None,
    period: Period = None,
) -> None:
    """Compare a release WITH THE RAW DATA, before they go; the report is not private."""
    from synth.api.keeper import evaluate as evaluated
    from synth.config import load_config
    from synth.curator import seal_process

    accepted = load_config(config, period=period)
    seal_process(dies_with_parent=False)
    evaluated(accepted, release, output=output, targets=target or ())
    print(output)
