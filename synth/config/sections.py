"""The sections of an accepted configuration as frozen values."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from synth.config.source_kind import source_dialect
from synth.config.types import (
    DisjointPart,
    FileSource,
    LedgerConfig,
    OutputConfig,
    PersonUnit,
    PostgresSource,
    PrivacyConfig,
    ReleaseConfig,
    SourceConfig,
    SparkSource,
)


def _absolute(base: Path, text: str) -> Path:
    return Path(os.path.abspath(base / text))  # noqa: PTH100 - keeps symbolic links and globs


def release_section(values: dict[str, Any]) -> ReleaseConfig:
    """What the release is called."""
    declared: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in values.items()
        if value is not None
    }
    return ReleaseConfig(**declared)


def source_section(values: dict[str, Any], base: Path) -> SourceConfig:
    """Where the raw data are."""
    disposal, reason = values["disposal"], values["disposal_reason"] or ""
    if values["url"] is not None:
        return PostgresSource(
            values["url"], values["table"], disposal, reason, values["view_reason"]
        )
    if values["spark"] is not None:
        return SparkSource(values["spark"]["table"], values["spark"]["master"], disposal, reason)
    path = _absolute(base, values["path"])
    return FileSource(path, source_dialect(values), disposal, reason)


def privacy_section(values: dict[str, Any]) -> PrivacyConfig:
    """The guarantee."""
    unit = values["unit"]
    return PrivacyConfig(
        epsilon=values["epsilon"],
        delta=values["delta"],
        neighbours=values["neighbours"],
        unit=PersonUnit(**unit) if isinstance(unit, dict) else "record",
        justification=values["justification"],
    )


def ledger_section(values: dict[str, Any], base: Path) -> LedgerConfig:
    """The ledger of the population."""
    part = values["disjoint_part"]
    return LedgerConfig(
        **{
            **values,
            "path": (base / values["path"]).resolve(),
            "disjoint_part": part
            and DisjointPart(part["name"], tuple(part["parts"]), part["source"]),
        }
    )


def output_section(values: dict[str, Any], base: Path | None) -> OutputConfig:
    """Where the release goes; the formats once each, in a fixed order."""
    rows, key = values["rows"], values.get("signing_key")
    return OutputConfig(
        directory=None if base is None else _absolute(base, values["directory"]),
        formats=tuple(sorted(values["formats"])),
        rows=None if rows == "estimated" else rows,
        bins=values["bins"],
        signing_key=None if base is None or key is None else _absolute(base, key),
    )
