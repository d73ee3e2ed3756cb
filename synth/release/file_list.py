"""The manifest's list of files, from the bytes on disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from synth.config import Config
from synth.release.contents import CSV, MEASUREMENTS, PARQUET, QUALITY, ROLES, listed_files
from synth.release.derivation import Derivation
from synth.release.manifest.figures import COLUMNS

MEASUREMENT_COLUMNS = 3


@dataclass(frozen=True)
class FileFacts:
    """The size and hash of one file."""

    size_bytes: int
    sha256: str


def build_files(
    config: Config, facts: Mapping[str, FileFacts], derived: Derivation
) -> list[dict[str, Any]]:
    """The section `files`: every listed file of which the facts are given."""
    return [
        _entry(name, facts[name], config, derived) for name in listed_files(config) if name in facts
    ]


def _entry(name: str, facts: FileFacts, config: Config, derived: Derivation) -> dict[str, Any]:
    role, media_type, basis = ROLES[name]
    entry: dict[str, Any] = {
        "path": name,
        "role": role,
        "media_type": media_type,
        "bytes": facts.size_bytes,
        "sha256": facts.sha256,
    }
    if name in (CSV, PARQUET):
        entry |= {"rows": derived.rows, "columns": len(config.universe.attributes)}
    if name == MEASUREMENTS:
        tables = derived.measurements.tables
        codes = sum(len(each.event.table) for each in tables if each.event.threshold is not None)
        entry |= {
            "rows": sum(len(each.noisy_counts) for each in tables),
            "columns": MEASUREMENT_COLUMNS + codes,
        }
    if name == QUALITY:
        entry |= {"rows": len(derived.figures), "columns": len(COLUMNS)}
    return entry | {"basis": basis}
