"""The exact counts without noise, for an evaluation: private, and never part of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from synth.config import Config, SourceConfig
from synth.config.series import PeriodSelection
from synth.curator.counting.tabulate import FilledCells, filled_cells
from synth.curator.seal import with_source_open


def exact_cells(
    config: Config,
    source: SourceConfig,
    files: Sequence[Path],
    *,
    directory: Path,
    selection: PeriodSelection | None = None,
) -> FilledCells:
    """Count the records of every cell that has any, as a run would, and give the counts out.

    With a `selection`, its records count and no others.

    Privacy: none. For the keeper of the raw data alone; `synth evaluate` is the only caller.
    Ensures: nothing is printed, and what spills goes to a private directory under `directory`,
    which is gone when this returns or raises. Universes of any size.
    Raises: SourceError, SynthError, always raised afresh.
    """
    return with_source_open(
        directory,
        lambda spill: filled_cells(config, source, files, spill, selection=selection).consume(),
    )
