"""What shows raw data to their keeper: no noise, no ledger, no guarantee. It says so on stderr."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from synth.api.private_file import require_new, require_outside_releases, write_private
from synth.config import Config, FrameSource, Given, SourceConfig, load_config
from synth.config.source import parse_source
from synth.config.source_files import source_files
from synth.curator.files.frames import records_of
from synth.curator.not_private.inspection import InspectedColumn, Inspection
from synth.curator.not_private.inspection_text import (
    inspect_source,
    inspection_lines,
    inspection_plain,
    trouble,
)
from synth.drafting import Place, render
from synth.drafting.records import from_records
from synth.errors import SourceError
from synth.evaluation.evaluate import Evaluation
from synth.evaluation.evaluate import evaluate as compare_with_raw_data
from synth.evaluation.page import render_page
from synth.job.log import StageLog
from synth.job.measuring_process import with_table

DRAFT_WARNING = """\
WARNING: this command reads raw data, without noise, ledger or guarantee. Everything that it infers
is PRIVATE until somebody has confirmed it against a PUBLIC source. Use it where raw data may be
read, and show the draft to nobody who may not read them."""

INSPECTION_WARNING = """\
WARNING: this command reads raw data, without noise, ledger or guarantee. What it prints is PRIVATE,
values of single people included: for the keeper of the raw data alone. Correct with it how the
source is read; take levels, bounds and bins from a codebook, not from what it shows."""

EVALUATION_WARNING = """\
WARNING: this command reads raw data, without noise, ledger or guarantee. Its report is NOT PRIVATE:
for the keeper of the raw data alone. To change parameters because of it and publish again leaks."""


@dataclass(frozen=True)
class Draft:
    """A configuration to start from. PRIVATE until its marks are confirmed."""

    path: Path
    hints: tuple[str, ...]
    """What to look at first; without any name or value of the data."""


def draft(
    data: object,
    output: str | Path = "config.yaml",
    *,
    levels: int = 50,
    header: bool = True,
) -> Draft:
    """Draft a configuration FROM RAW DATA into a new file of mode 0600, to be confirmed.

    `data` is a file or glob, a table of pandas, polars or Arrow, or the keys of the section
    `source` (`{"url": ..., "table": ...}`, `{"path": ..., "delimiter": ";"}`). The levels of a
    column are listed up to `levels`; without a `header` the columns of CSV are called c1, c2, ...
    Privacy: none. Every entry that comes from the data is marked, and no run accepts a mark.
    Raises: ConfigError, SourceError, OutputError.
    """
    path = Path(output)
    require_new(path)
    source = _described(data)
    print(DRAFT_WARNING, file=sys.stderr, flush=True)
    with StageLog().doing("reading"):
        found = from_records(
            source,
            source_files(source),
            directory=path.absolute().parent,
            max_levels=levels,
            names_columns=not header,
        )
    text = render(
        found.columns,
        Place.of(found.source, path),
        reads_raw_data=True,
        hints=found.hints,
        confirms_names=found.may_lack_header or not header,
        unit=found.unit,
        expected_records=found.expected_records,
    )
    write_private(path, text)
    return Draft(path, found.hints)


def _described(data: object) -> SourceConfig:
    """The source that the first argument of `draft` names."""
    if not isinstance(data, str | Path | Mapping):
        return FrameSource("keep", "", records_of(data))
    written = dict(data) if isinstance(data, Mapping) else {"path": str(data)}
    if str(written.get("path", "")).lower().endswith(".tsv"):
        written.setdefault("delimiter", "tab")
    return parse_source({"disposal": "keep", "disposal_reason": "a draft", **written})


def _accepted(config: Given, source: object | None, period: str | None) -> Config:
    """The configuration, with the table that holds its records where there is one."""
    accepted = load_config(config, period=period, in_memory=source is not None)
    return accepted if source is None else with_table(accepted, records_of(source))


@dataclass(frozen=True, repr=False)
class InspectionReport:
    """How raw data fit the declared domain. PRIVATE, for their keeper alone."""

    found: Inspection

    @property
    def records(self) -> int:
        """The records that were read."""
        return self.found.records

    @property
    def columns(self) -> tuple[InspectedColumn, ...]:
        """How the values of every configured column fit."""
        return self.found.columns

    @property
    def troubles(self) -> tuple[str, ...]:
        """A sentence on every column with values that fit nowhere."""
        return tuple(filter(None, map(trouble, self.columns)))

    def to_plain(self) -> dict[str, Any]:
        """The report in JSON values."""
        return inspection_plain(self.found)

    def __repr__(self) -> str:
        return (
            f"InspectionReport(PRIVATE: {self.records:,} records, {len(self.columns)} columns, "
            f"{len(self.troubles)} with trouble)"
        )

    def __str__(self) -> str:
        return "\n".join(inspection_lines(self.found))


def inspect(
    config: Given,
    source: object | None = None,
    *,
    period: str | None = None,
    directory: Path | None = None,
) -> InspectionReport:
    """How RAW DATA fit the domain, before a run; charges and changes nothing.

    `source` is a table of pandas, polars or Arrow, where the records are in memory.

    Privacy: none. For the keeper of the raw data alone. What spills goes to a private directory
    under `directory`, or where temporary files go, and is gone in the end.
    Raises: ConfigError, SourceError.
    """
    accepted = _accepted(config, source, period)
    if accepted.source is None:
        raise SourceError("a configuration without a source cannot be inspected")
    print(INSPECTION_WARNING, file=sys.stderr, flush=True)
    files = source_files(accepted.source)
    with StageLog().doing("inspecting"):
        place = directory or Path(tempfile.gettempdir())
        return InspectionReport(inspect_source(accepted, accepted.source, files, directory=place))


def evaluate(
    config: Given,
    release: str | Path,
    source: object | None = None,
    *,
    output: str | Path | None = None,
    targets: Sequence[str] = (),
    period: str | None = None,
) -> Evaluation:
    """Compare a release WITH THE RAW DATA, before they go.

    `source` is the table of pandas, polars or Arrow, where the records are in memory.
    `targets`: the columns to predict from all others, else every column. `output`: a new file of
    mode 0600 for the page, outside every release.
    Privacy: none. For the keeper of the raw data alone.
    Raises: ConfigError, VerificationError, PublishedDifferentlyError, SourceError, OutputError.
    """
    accepted = _accepted(config, source, period)
    page = None if output is None else Path(output)
    if page is not None:
        require_outside_releases(page, Path(release))
        require_new(page)
    print(EVALUATION_WARNING, file=sys.stderr, flush=True)
    directory = Path(tempfile.gettempdir()) if page is None else page.absolute().parent
    with StageLog().doing("evaluating"):
        found = compare_with_raw_data(
            accepted,
            Path(release),
            targets=targets,
            directory=directory,
            generator=np.random.default_rng(),
        )
        text = None if page is None else render_page(found)
    if page is not None and text is not None:
        write_private(page, text)
    return found
