"""Approvals: signatures over what a configuration means, in a file beside it."""

from __future__ import annotations

import base64
import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from synth.config import Config
from synth.config.loader import read_tree
from synth.config.release import RELEASE_ID
from synth.config.schema.problems import Place, Refused, Report
from synth.config.schema.scalars import Rule, Text
from synth.config.schema.shapes import ListOf, record
from synth.config.schema.yaml_tree import Node
from synth.errors import ConfigError, OutputError, Problem
from synth.signatures import PrivateKey, PublicKey, Purpose

SUFFIX = ".approval"
MAX_APPROVALS = 10_000
HEAD = "# Approvals of release configurations: made by `synth approve`, demanded by a policy.\n"


def _exactly(description: str, pattern: str, expected: str) -> Text:
    return Text(description, (Rule(pattern, expected),))


class _Signature(Text):
    """A signature in base64."""

    def read(self, node: Node, path: Place, report: Report) -> bytes:  # type: ignore[override]
        """Its bytes."""
        return base64.b64decode(super().read(node, path, report))


@dataclass(frozen=True)
class Approval:
    """One approval: a signature over the id and the hash of one configuration, or of a series."""

    release_id: Annotated[
        str, Text("The release; of a series, with {period} in its name", (RELEASE_ID,), 150)
    ]
    configuration_hash: Annotated[
        str, _exactly("Its hash", "^[0-9a-f]{64}$", "64 hexadecimal digits")
    ]
    key_id: Annotated[
        str, _exactly("The key that signed", "^[0-9a-f]{32}$", "32 hexadecimal digits")
    ]
    """Says which key to try."""
    signature: Annotated[
        bytes,
        _Signature(
            "The signature",
            (Rule("^[A-Za-z0-9+/]{86}==$", "a signature: 88 characters of base64"),),
        ),
    ]

    def is_valid(self, config: Config, key: PublicKey) -> bool:
        """Whether the holder of this key approved just this configuration, or its whole series.

        No release of a series has {period} in its id, so what is signed says which of the two.
        """
        approved = approved_hash(config, whole_series=self.is_of(config) == "series")
        if self.key_id != key.key_id or self.is_of(config) is None or approved is None:
            return False
        content = approved_content(self.release_id, approved)
        return key.has_signed(content, self.signature, purpose=Purpose.APPROVAL)

    def is_of(self, config: Config) -> Literal["release", "series"] | None:
        """What it names of this configuration: its release, its series, or neither."""
        if self.release_id == config.release.id:
            return "release"
        is_series = config.series is not None and self.release_id == config.series.name
        return "series" if is_series else None


@dataclass(frozen=True)
class _Approvals:
    """The approvals beside a configuration."""

    approvals: Annotated[
        tuple[Approval, ...],
        ListOf("The approvals", record(Approval), maximum=MAX_APPROVALS, noun="approvals"),
    ]


def approved_content(release_id: str, configuration_hash: str) -> bytes:
    """What an approval signs: the release id, a line end, the configuration hash, a line end.

    Neither part can hold a line end, so no two pairs give the same bytes.
    """
    return f"{release_id}\n{configuration_hash}\n".encode()


def approval_file(config: Config) -> Path:
    """Where the approvals of a configuration are: CONFIG.approval."""
    return Path(config.name + SUFFIX)


def approved_hash(config: Config, *, whole_series: bool) -> str | None:
    """What is signed of a configuration; None for the series of one that has none."""
    return config.series_hash if whole_series else config.hash


def approve(config: Config, key: PrivateKey, *, whole_series: bool = False) -> Approval:
    """Sign what the configuration means: for its release, or for all periods of its series.

    Requires: it has a series, if the whole is approved.
    """
    name, approved = config.release.id, approved_hash(config, whole_series=whole_series)
    if whole_series and config.series is not None:
        name = config.series.name
    if approved is None:
        raise ValueError("there is no series to approve")
    signature = key.sign(approved_content(name, approved), purpose=Purpose.APPROVAL)
    return Approval(name, approved, key.public.key_id, signature)


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
    read: _Approvals | None = None
    with suppress(Refused):
        read = record(_Approvals).read(node, (), report)
    if read is None or report.count:
        raise ConfigError(os.fspath(path), report.problems())
    return read.approvals


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
