"""`synth evaluate`: the release beside the raw data, for the keeper of the raw data alone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from synth.cli.options import ConfigPath, Period

WARNING = """\
WARNING: this command reads raw data, without noise, ledger or guarantee. Its report is NOT PRIVATE:
for the keeper of the raw data alone. To change parameters because of it and publish again leaks."""


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
    print(WARNING, file=sys.stderr, flush=True)
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
