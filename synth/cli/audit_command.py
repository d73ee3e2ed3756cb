"""`synth audit`: what counting, noise and choices give away of made-up records."""

from __future__ import annotations

import typer

from synth.cli.exit_code import print_json
from synth.cli.options import AsJson, ConfigPath, Period
from synth.errors import VerificationError


def audit(config: ConfigPath, period: Period = None, as_json: AsJson = False) -> None:
    """Attack counting, noise and choices with made-up records; exit code 5 if a claim fails."""
    from synth.audit import audit as audit_configuration
    from synth.audit import render
    from synth.config import load_config
    from synth.job.log import StageLog

    accepted = load_config(config, period=period)
    with StageLog().doing("auditing"):
        report = audit_configuration(accepted)
    if as_json:
        print_json(report.to_plain())
    else:
        print(render(report))
    if report.exceeded:
        raise typer.Exit(VerificationError.exit_code)
