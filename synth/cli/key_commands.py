"""The commands on keys: make a pair, approve a configuration."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from synth.cli.options import ConfigPath, Period, PolicyPath


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
    """Approve a configuration: print what it means, sign its hash, write CONFIG.approval."""
    from synth.config import load_config
    from synth.job import authorisation
    from synth.policy import in_plain_words
    from synth.signatures import read_private_key

    accepted = load_config(config, period=period)
    print(in_plain_words(accepted), flush=True)
    private = read_private_key(
        key, passphrase=lambda: typer.prompt("Passphrase", hide_input=True, err=True).encode()
    )
    if sys.stdin.isatty():
        typer.confirm(f"Approve it with the key {private.public.key_id}?", abort=True, err=True)
    path, ids = authorisation.approve(accepted, private, policy=policy)
    print(f"approved by the key {private.public.key_id}")
    print(f"{path}: {len(ids)} approval{'' if len(ids) == 1 else 's'} of this configuration")
