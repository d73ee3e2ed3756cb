"""Approvals: signatures over what a configuration means, in a file beside it."""

from __future__ import annotations

import base64
import os
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from synth.config import Config
from synth.config.loader import read_tree
from synth.config.problems import Report
from synth.config.rules import RELEASE_ID
from synth.config.scalars import Invalid, Rule, Text
from synth.config.shapes import Key, ListOf, Record
from synth.errors import ConfigError, OutputError, Problem
from synth.signatures import PrivateKey, PublicKey, Purpose

SUFFIX = ".approval"
MAX_APPROVALS = 10_000
HEAD = "# Approvals of release configurations: made by `synth approve`, demanded by a policy.\n"


def _exactly(pattern: str, expected: str) -> tuple[Rule, ...]:
    return (Rule(pattern, expected),)


_HASH = _exactly("^[0-9a-f]{64}$", "64 hexadecimal digits")
_KEY_ID = _exactly("^[0-9a-f]{32}$", "32 hexadecimal digits")
_SIGNATURE = _exactly("^[A-Za-z0-9+/]{86}==$", "a signature: 88 characters of base64")

_FILE = Record(
    "The approvals beside a configuration",
    (
        Key(
            "approvals",
            ListOf(
                "The approvals",
                Record(
                    "One approval",
                    (
                        Key("release_id", Text("The release", (RELEASE_ID,), 150), required=True),
                        Key("configuration_hash", Text("Its hash", _HASH), required=True),
                        Key("key_id", Text("The key that signed", _KEY_ID), required=True),
                        Key("signature", Text("The signature", _SIGNATURE), required=True),
                    ),
                ),
                maximum=MAX_APPROVALS,
                noun="approvals",
            ),
            required=True,
        ),
    ),
)


@dataclass(frozen=True)
class Approval:
    """One signature over the id and the hash of one configuration."""

    release_id: str
    configuration_hash: str
    key_id: str
    """Says which key to try."""
    signature: bytes

    def is_valid(self, config: Config, key: PublicKey) -> bool:
        """Whether the holder of this key approved just this configuration."""
        if (self.key_id, self.release_id) != (key.key_id, config.release.id):
            return False
        content = approved_content(config.release.id, config.hash)
        return key.has_signed(content, self.signature, purpose=Purpose.APPROVAL)


def approved_content(release_id: str, configuration_hash: str) -> bytes:
    """What an approval signs: the release id, a line end, the configuration hash, a line end.

    Neither part can hold a line end, so no two pairs give the same bytes.
    """
    return f"{release_id}\n{configuration_hash}\n".encode()


def approval_file(config: Config) -> Path:
    """Where the approvals of a configuration are: CONFIG.approval."""
    return Path(config.name + SUFFIX)


def approve(config: Config, key: PrivateKey) -> Approval:
    """Sign what the configuration means."""
    content = approved_content(config.release.id, config.hash)
    signature = key.sign(content, purpose=Purpose.APPROVAL)
    return Approval(config.release.id, config.hash, key.public.key_id, signature)


def read_approvals(path: Path) -> tuple[Approval, ...]:
    """The approvals in a file; none if there is no such file.

    Privacy: nothing is believed of it here; `Approval.is_valid` checks each signature.
    Raises: ConfigError if the file is anything else than `write_approvals` writes.
    """
    if not os.path.lexists(path):
        return ()
    problems: list[Problem] = []
    node = read_tree(path, problems)
    report = Report(problems)
    values = _FILE.read(node, (), report)
    if report.problems() or isinstance(values, Invalid):
        raise ConfigError(os.fspath(path), report.problems())
    return tuple(
        Approval(
            entry["release_id"],
            entry["configuration_hash"],
            entry["key_id"],
            base64.b64decode(entry["signature"]),
        )
        for entry in values["approvals"]
    )


def write_approvals(path: Path, approvals: Iterable[Approval]) -> None:
    """Write the file in one step, readable by everybody.

    Raises: OutputError if it cannot be written; the old file is still there then.
    """
    text = HEAD + "approvals:\n"
    for approval in approvals:
        text += f"  - release_id: {approval.release_id}\n"
        text += f'    configuration_hash: "{approval.configuration_hash}"\n'
        text += f'    key_id: "{approval.key_id}"\n'
        text += f'    signature: "{base64.b64encode(approval.signature).decode()}"\n'
    partial = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    try:
        with partial.open("x", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o644)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise OutputError(
            f"{path.name}: the approval cannot be written ({error.strerror})",
            fix="make the directory of the configuration writable, or approve a copy elsewhere",
        ) from None
