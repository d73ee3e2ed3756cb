"""The exact counts without noise, for their keeper: private, and never part of a run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

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
    selections: Sequence[PeriodSelection] = (),
) -> FilledCells:
    """Count the records of every cell that has any, as a run would, and give the counts out.

    With `selections`, their records count and no others; those of each are counted by themselves.

    Privacy: none. For the keeper of the raw data alone, by `synth evaluate` and `inspect`.
    Ensures: nothing is printed, and what spills goes to a private directory under `directory`,
    which is gone when this returns or raises. Universes of any size.
    Raises: SourceError, SynthError, always raised afresh.
    """
    first, *others = [
        with_source_open(
            directory,
            partial(filled_cells, config, source, files, selection=selection),
        ).consume()
        for selection in selections or (None,)
    ]
    return _sum([first, *others]) if others else first


def _sum(parts: Sequence[FilledCells]) -> FilledCells:
    """The cells of all parts, each once, in ascending order of their numbers."""
    columns = tuple(map(np.concatenate, zip(*(part.columns for part in parts), strict=True)))
    counts = np.concatenate([part.counts for part in parts])
    order = np.lexsort(columns[::-1])
    columns, counts = tuple(column[order] for column in columns), counts[order]
    is_first = np.ones(len(counts), dtype=bool)
    if len(counts):
        is_first[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    starts = np.flatnonzero(is_first)
    sums = np.add.reduceat(counts, starts) if len(starts) else counts
    return FilledCells(tuple(column[starts] for column in columns), sums)
