"""The part of the curator in counting that goes on: each sum of periods counted and noised once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from synth.config import Config, SourceConfig
from synth.config.series import PeriodSelection
from synth.curator.counting.tabulate import margins_of
from synth.curator.measuring import count_once, measure_at_once, needs_filled_cells
from synth.curator.seal import with_source_open
from synth.measurements import MeasuredTable
from synth.noise import NoiseStream
from synth.privacy import TableEvent


def measure_nodes(
    config: Config,
    source: SourceConfig,
    selections: Sequence[PeriodSelection],
    events: Sequence[TableEvent],
    *,
    files: Sequence[Path],
    stream: NoiseStream,
    directory: Path,
) -> tuple[tuple[MeasuredTable, ...], ...]:
    """Count the records of every selection, and return its tables with noise; nothing else.

    `events` are the tables of a node, with the noise of one node: the same for all of them.

    Privacy: every table of every node costs its event for a unit that the selection counts with
    weight 1 (`boundary.measure_table`), and no more than its charge over the horizon by the proof
    of `synth.privacy.continual.Factorization`: no node is measured twice, and no two tables have
    noise from the same place of the stream.
    Requires: the charge for the horizon is reserved in the ledger; none of these nodes was
    measured before.
    Ensures: as `measuring.measure`. The source is read once for every node.
    Raises: as `measuring.measure`.
    """

    def work(spill: Path) -> tuple[tuple[MeasuredTable, ...], ...]:
        margins_of(events, config.universe)  # before anything is opened
        filled, found = needs_filled_cells(config, events), []
        for number, selection in enumerate(selections):
            counted = count_once(config, source, files, spill, selection, filled=filled)
            first = number * len(events)
            measured = measure_at_once(config, events, counted, stream, told=True, first=first)
            found.append(measured.tables)
        return tuple(found)

    try:
        return with_source_open(directory, work)
    finally:
        stream.close()
