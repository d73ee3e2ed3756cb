"""What a run will need: memory, disk and time by simple models with measured constants.

Rough on purpose: within about a factor of two on a machine with two cores. `docs/planning.md`
says how the constants were measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from synth.domain import Universe

MEMORY_BASE_BYTES = 250_000_000
"""Interpreter and libraries, before the first cell."""
MEMORY_BYTES_PER_CELL = 100
SECONDS_BASE = 5.0
SECONDS_PER_CELL = 40e-6
DISK_BASE_BYTES = 100_000
DISK_BYTES_PER_CELL = 2.0
"""Noisy counts, compressed."""
DISK_BYTES_PER_VALUE = {"csv": 8.0, "parquet": 0.5}


@dataclass(frozen=True)
class Costs:
    """Rough needs of a whole run."""

    memory_bytes: int
    disk_bytes: int
    seconds: float


def forecast_costs(universe: Universe, *, formats: Sequence[str], total: int | None) -> Costs:
    """The needs of a dense run; rows count only if their number is publicly known.

    Without a declared total the disk figure leaves the rows out.
    """
    values = (total or 0) * len(universe.shape)
    row_bytes = values * sum(DISK_BYTES_PER_VALUE[name] for name in formats)
    return Costs(
        memory_bytes=MEMORY_BASE_BYTES + MEMORY_BYTES_PER_CELL * universe.size,
        disk_bytes=int(DISK_BASE_BYTES + DISK_BYTES_PER_CELL * universe.size + row_bytes),
        seconds=SECONDS_BASE + SECONDS_PER_CELL * universe.size,
    )
