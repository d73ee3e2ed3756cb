"""Measuring a universe that is too large to hold: the list of heavy cells, and small tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from synth import progress
from synth.config import Config, SourceConfig
from synth.curator.boundary import measure_table
from synth.curator.counting.margins import margins_of
from synth.curator.counting.sparse_tabulate import filled_cells, margin_counts_of_cells
from synth.curator.sensitive import Sensitive
from synth.curator.sparse_boundary import measure_list
from synth.domain import DENSE_LIMIT_CELLS
from synth.measurements import MeasuredTable, Measurements
from synth.noise import NoiseStream
from synth.privacy import TableEvent


def needs_filled_cells(config: Config, events: Sequence[TableEvent]) -> bool:
    """Whether only filled cells are counted: if cells are listed, or there are too many to hold."""
    listed = any(event.threshold is not None for event in events)
    return listed or config.universe.size > DENSE_LIMIT_CELLS


def measure_filled_cells(
    config: Config,
    source: SourceConfig,
    events: Sequence[TableEvent],
    files: Sequence[Path],
    stream: NoiseStream,
    scratch: Path,
) -> Measurements:
    """Count the filled cells once, measure sums of them, and list the heavy ones.

    Privacy: that of `privacy.total_budget(events)`; every table costs its event
    (`boundary.measure_table`, `sparse_boundary.measure_list`).
    Ensures: table `number` has the noise of that number of the stream.
    """
    universe = config.universe
    margins = margins_of(events, universe)
    with progress.stage(progress.Stage.COUNTING):
        cells = filled_cells(config, source, files, scratch).consume()
    tables: dict[int, MeasuredTable] = {}
    for number, sensitive_table in margin_counts_of_cells(cells, margins, universe):
        with progress.stage(progress.Stage.NOISE, part=len(tables) + 1, parts=len(events)):
            tables[number] = measure_table(
                sensitive_table, events[number], number=number, stream=stream
            )
    for number, event in enumerate(events):
        if event.threshold is not None:
            with progress.stage(progress.Stage.NOISE, part=len(tables) + 1, parts=len(events)):
                tables[number] = measure_list(
                    Sensitive(cells), event, universe, number=number, stream=stream
                )
    in_order = tuple(tables[number] for number in range(len(events)))
    return Measurements(config.release.id, config.hash, in_order)
