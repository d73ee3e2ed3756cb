"""`synth inspect`: how raw data fit the declared domain, for their keeper, before a run."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from synth.cli.options import AsJson, ConfigPath, Period

WARNING = """\
WARNING: this command reads raw data, without noise, ledger or guarantee. What it prints is PRIVATE,
values of single people included: for the keeper of the raw data alone. Correct with it how the
source is read; take levels, bounds and bins from a codebook, not from what it shows."""


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
    print(WARNING, file=sys.stderr, flush=True)
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
