"""The options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from synth.cli.exit_code import voice

ConfigPath = Annotated[Path, typer.Argument(metavar="CONFIG", help="The YAML configuration.")]
Period = Annotated[str | None, typer.Option(help="Fills {period} in release.id and the source.")]


def _say_as_json(value: bool) -> bool:
    voice.as_json = value
    return value


AsJson = Annotated[
    bool,
    typer.Option("--json", callback=_say_as_json, help="Print JSON for a program to read."),
]
PolicyPath = Annotated[
    Path | None,
    typer.Option(
        "--policy", help="A policy that must allow it, besides the one that SYNTH_POLICY names."
    ),
]
SignKey = Annotated[
    Path | None,
    typer.Option(
        "--sign-key", help="The private key that signs the release, for `output.signing_key`."
    ),
]
LogJson = Annotated[
    bool, typer.Option("--log-json", help="Log one JSON object a line on standard error.")
]
Timeout = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=10**7,
        metavar="SECONDS",
        help="Stop cleanly after so long, with exit code 1; the same command continues.",
    ),
]
