"""The commands that show raw data to their keeper: no noise, no ledger, no guarantee."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from synth.cli.options import AsJson, ConfigPath, Period

INSPECTION_WARNING = """\
WARNING: this command reads raw data, without noise, ledger or guarantee. What it prints is PRIVATE,
values of single people included: for the keeper of the raw data alone. Correct with it how the
source is read; take levels, bounds and bins from a codebook, not from what it shows."""

EVALUATION_WARNING = """\
WARNING: this command reads raw data, without noise, ledger or guarantee. Its report is NOT PRIVATE:
for the keeper of the raw data alone. To change parameters because of it and publish again leaks."""


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
    from synth.config import load_config
    from synth.config.source_files import source_files
    from synth.curator import seal_process
    from synth.curator.not_private.inspection_text import (
        inspect_source,
        inspection_lines,
        inspection_plain,
    )
    from synth.errors import SourceError
    from synth.job.log import StageLog
    from synth.job.private_file import require_new, require_outside_releases, write_private

    accepted = load_config(config, period=period)
    if accepted.source is None:
        raise SourceError("a configuration without a source cannot be inspected")
    if report is not None:
        require_outside_releases(report, report)
        require_new(report)
    print(INSPECTION_WARNING, file=sys.stderr, flush=True)
    files = source_files(accepted.source)
    seal_process(dies_with_parent=False)
    with StageLog().doing("inspecting"):
        directory = Path(tempfile.gettempdir()) if report is None else report.absolute().parent
        found = inspect_source(accepted, accepted.source, files, directory=directory)
    text = (
        json.dumps(inspection_plain(found), indent=2) + "\n"
        if as_json
        else "\n".join(inspection_lines(found)) + "\n"
    )
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
    import numpy as np

    from synth.config import load_config
    from synth.curator import seal_process
    from synth.evaluation.evaluate import evaluate as evaluated
    from synth.evaluation.page import render_page
    from synth.job.log import StageLog
    from synth.job.private_file import require_new, require_outside_releases, write_private

    accepted = load_config(config, period=period)
    require_outside_releases(output, release)
    require_new(output)
    print(EVALUATION_WARNING, file=sys.stderr, flush=True)
    seal_process(dies_with_parent=False)
    with StageLog().doing("evaluating"):
        found = evaluated(
            accepted,
            release,
            targets=target or (),
            directory=output.absolute().parent,
            generator=np.random.default_rng(),
        )
        report = render_page(found)
    write_private(output, report)
    print(output)
