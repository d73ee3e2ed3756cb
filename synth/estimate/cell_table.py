"""The cell table: Laplace noise on every cell of the universe, used count by count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from synth.domain import Universe
from synth.privacy.accounting import LAPLACE

if TYPE_CHECKING:
    from synth.measurements import MeasuredTable, Measurements


def cell_table(measurements: Measurements, universe: Universe) -> MeasuredTable | None:
    """The table with Laplace noise on every cell of the universe, if there is one."""
    for table in measurements.tables:
        finest = table.event.table == universe.names and not any(table.event.coarsening)
        if finest and table.event.mechanism == LAPLACE and table.event.threshold is None:
            return table
    return None
