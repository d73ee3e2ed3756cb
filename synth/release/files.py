"""Every file of a release, as it is written: for who publishes it, and for who verifies it.

First the data, each as a function that writes it; then the documents, which state their hashes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synth.release.contents import (
    ASSESSMENT,
    CSV,
    DATA_CARD,
    EXPLORER,
    MEASUREMENTS,
    PAGE,
    PARQUET,
    PREVIOUS,
    QUALITY,
    REPLICATES,
    ROLES,
    described_files,
)
from synth.release.derivation import Derivation
from synth.release.documents import metadata_documents
from synth.release.documents.data_card import render_data_card
from synth.release.explorer.render import render_explorer
from synth.release.manifest.build import SCHEMA_FILE, schema_file
from synth.release.manifest.figures import COLUMNS, Figures, write_figures
from synth.release.noisy_tables import TABLES, NoisyTable
from synth.release.page.assessment import render_assessment
from synth.release.page.render import render_page
from synth.release.rows.columns import published_columns
from synth.release.rows.csv_file import csv_chunks
from synth.release.rows.parquet_files import write_counts, write_parquet, write_replicates

MEASUREMENT_COLUMNS = 3

Write = Callable[[Any], None]
"""Writes a whole file into a stream."""


@dataclass(frozen=True)
class FileFacts:
    """The size and hash of one file."""

    size_bytes: int
    sha256: str

    @staticmethod
    def of(content: bytes) -> FileFacts:
        """Those of a file with this content."""
        return FileFacts(len(content), hashlib.sha256(content).hexdigest())


def data_writers(derived: Derivation) -> dict[str, Write]:
    """The data that are made of the measurements, in the order of the manifest."""
    config, counts, seed = derived.config, derived.counts, derived.bins_seed
    columns = published_columns(config.universe, config.output.bins)
    writers: dict[str, Write] = {
        CSV: lambda file: file.writelines(csv_chunks(counts, columns, seed=seed)),
        PARQUET: lambda file: write_parquet(file, counts, columns, seed=seed),
        REPLICATES: lambda file: write_replicates(file, derived.replicates, config),
        PREVIOUS: lambda file: write_counts(file, derived.previous, config),
        QUALITY: lambda file: write_figures(file, derived.figures),
    }
    return {name: writers[name] for name in described_files(config, ()) if name in writers}


def table_writers(derived: Derivation) -> dict[str, Write]:
    """The measured tables with labels, in the order of their numbers."""

    def writer(table: NoisyTable) -> Write:
        return lambda file: file.write(table.content())

    return {table.path: writer(table) for table in derived.tables}


def documents(
    manifest: Mapping[str, Any],
    derived: Derivation,
    facts: Mapping[str, FileFacts],
    *,
    figures: Sequence[Figures],
) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Every document in the order of the manifest, and the whole manifest, which lists them.

    Requires: `manifest` has every section but `files`; `facts` are those of the data.
    Ensures: the same arguments give the same bytes.
    """
    described = described_files(derived.config, table_writers(derived))
    files = [_entry(name, facts[name], derived) for name in described]
    listing = {**manifest, "files": files}
    made = {
        DATA_CARD: render_data_card(listing),
        **metadata_documents(listing),
        SCHEMA_FILE: schema_file(listing["manifest_version"]),
        ASSESSMENT: render_assessment(listing, figures, derived.biases),
        EXPLORER: render_explorer(
            derived.config,
            derived.measurements,
            derived.counts,
            replicates=derived.replicates if derived.config.output.replicates else None,
            measurements_sha256=facts[MEASUREMENTS].sha256,
        ),
    }
    files += [_entry(name, FileFacts.of(content), derived) for name, content in made.items()]
    is_own = figures is derived.figures
    tabs = derived.crosstabs if is_own else derived.crosstabs_by(figures)
    made[PAGE] = render_page(listing, derived.summary, figures, tabs)
    files.append(_entry(PAGE, FileFacts.of(made[PAGE]), derived))
    return made, listing


def _entry(name: str, facts: FileFacts, derived: Derivation) -> dict[str, Any]:
    """What the section `files` of the manifest says of a file."""
    table = next((each for each in derived.tables if each.path == name), None)
    role, media_type, basis = ROLES[name if table is None else TABLES]
    entry: dict[str, Any] = {
        "path": name,
        "role": role,
        "media_type": media_type,
        "bytes": facts.size_bytes,
        "sha256": facts.sha256,
    }
    if table is not None:
        entry |= {
            "role": f"{role} {table.about}",
            "rows": table.measured.event.cells,
            "columns": len(table.header),
            "event": table.number,
        }
    if name in (CSV, PARQUET):
        entry |= {"rows": derived.rows, "columns": len(derived.config.universe.attributes)}
    if name == REPLICATES:
        replicates = derived.replicates
        columns = len(replicates.columns) + len(replicates.counts) + 1
        entry |= {"rows": replicates.published.size, "columns": columns}
    if name == PREVIOUS:
        before = derived.previous
        entry |= {"rows": before.values.size, "columns": len(before.columns) + 1}
    if name == QUALITY:
        entry |= {"rows": len(derived.figures), "columns": len(COLUMNS)}
    if name == MEASUREMENTS:
        tables = derived.measurements.tables
        codes = sum(len(each.event.table) for each in tables if each.event.threshold is not None)
        entry |= {
            "rows": sum(len(each.noisy_counts) for each in tables),
            "columns": MEASUREMENT_COLUMNS + codes,
        }
    return entry | {"basis": basis}
