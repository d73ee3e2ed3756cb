"""Approvals: signatures over what a configuration means, in a file beside it.

What somebody approves is said in words for people before it is signed.
"""

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
from synth.config.series import RenewalConfig
from synth.config.source import records_in_words
from synth.config.summary import cost_in_words
from synth.domain import format_number
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


NOT_COVERED = (
    "Not covered: where the raw data, the ledger and the release are kept (paths, the address of a "
    "database, the master of Spark), what lies there, and which key signs the release."
)
VOIDED = "Any change of what the configuration means, or another period, voids this approval."


VOIDED_SERIES = (
    "This approves every period of the series, and of its later horizons. Any change of what the "
    "configuration means voids it."
)


def in_plain_words(config: Config, *, whole_series: bool = False) -> str:
    """The configuration, or its series, as an approver should read it before signing."""
    privacy, release = config.privacy, config.release
    epsilon, delta = format_number(privacy.epsilon), format_number(privacy.delta)
    columns = ", ".join(attribute.name for attribute in config.universe.attributes)
    rows = "as many as the noisy counts give" if config.output.rows is None else config.output.rows
    name, approved, voided = release.id, f"configuration:  SHA-256 {config.hash}", VOIDED
    if whole_series and config.series is not None:
        name, voided = config.series.name, VOIDED_SERIES
        approved = f"whole series:   SHA-256 {config.series_hash}"
    lines = [
        f"release:        {name}: {release.title}",
        f"published by:   {', '.join(release.curators)}",
        f"intended use:   {' '.join(release.intended_use.split())}",
        f"protected unit: {_unit(config)}",
        f"guarantee:      epsilon {epsilon}, delta {delta}, neighbours {privacy.neighbours}",
        f"justification:  {' '.join(privacy.justification.split())}",
        *_population(config),
        *_series(config),
        *_raw_data(config),
        f"columns:        {columns} ({config.universe.size:,} cells)",
        f"strategy:       {_strategy(config)}",
        f"rows:           {rows}",
        approved,
    ]
    return "\n".join(["What is approved:", *(f"  {each}" for each in lines), NOT_COVERED, voided])


def _unit(config: Config) -> str:
    unit = config.privacy.unit
    if unit == "record":
        return "one record; a person with several records is protected less"
    return f"a person: all records with one {unit.column}, at most {unit.max_records} counted"


def _population(config: Config) -> list[str]:
    if config.ledger is None:
        return []
    cap, delta_cap = config.ledger.epsilon_cap, config.ledger.delta_cap
    part = config.ledger.disjoint_part
    of_part = []
    if part is not None:
        of_part = [
            f"part:           {part.name}, one of {len(part.parts)}; only the most expensive part "
            f"counts, because nobody belongs to two: {' '.join(part.source.split())}"
        ]
    return [
        f"population:     {config.ledger.population}; all its releases may spend epsilon "
        f"{format_number(cap)}, delta {format_number(delta_cap)}",
        *of_part,
    ]


def _series(config: Config) -> list[str]:
    """The periods, what they cost together, what happens afterwards, and what that rests on."""
    series = config.series
    if series is None:
        return []
    said = [f"series:         {series.in_words()}", f"its cost:       {cost_in_words(config)}"]
    where = config.public["source"].get("where")
    if where is not None:
        clock = "" if where["time_zone"] == "UTC" else f", by the clock of {where['time_zone']}"
        said.append(f"its records:    by the date in {where['column']}{clock}")
    if series.max_periods is not None:
        said.append(f"its persons:    counted in their first {series.max_periods} periods alone")
    said.append(
        "it rests on:    every record keeps its period"
        + (", and no row of a person is deleted" if series.is_about_persons else "")
    )
    if isinstance(series.renewal, RenewalConfig) and series.renewal.source is not None:
        said.append(f"other people:   {' '.join(series.renewal.source.split())}")
    return said


def _raw_data(config: Config) -> list[str]:
    if config.source is None:
        return []
    source = config.public["source"]
    said = [f"records:        {records_in_words(source)}"]
    if "view_reason" in source:
        argument = " ".join(source["view_reason"].split())
        said.append(f"view:           every row comes from one record: {argument}")
    kept = "are kept" if config.source.disposal == "keep" else "are deleted after the measurement"
    reason = " ".join(config.source.disposal_reason.split())
    return [*said, f"raw data:       {kept}" + (f" ({reason})" if reason else "")]


def _strategy(config: Config) -> str:
    if isinstance(config.strategy, str):
        return config.strategy
    return f"{len(config.strategy)} listed tables"
