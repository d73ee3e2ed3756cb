"""The noise boundary: the one place where a secret count becomes a publishable number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from synth import progress
from synth.curator.sensitive import Sensitive
from synth.errors import BugError
from synth.measurements import MeasuredTable, noise_variance
from synth.noise import NoiseStream, TableSampler, noise_law
from synth.privacy import TableEvent

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BLOCK_CELLS = 1 << 18


def measure_table(
    sensitive_counts: Sensitive[NDArray[np.int64]],
    event: TableEvent,
    *,
    number: int,
    stream: NoiseStream,
) -> MeasuredTable:
    """Add exact whole-number noise to every count of one table.

    Privacy: with `discrete-laplace`, pure `event.epsilon`-DP for neighbours whose counts differ
    by at most `event.sensitivity_l1` in L1 norm: with alpha >= exp(-epsilon / sensitivity), the
    probability of any output changes by a factor of at most alpha ** -sensitivity (Ghosh,
    Roughgarden, Sundararajan 2009). With `discrete-gaussian`, `event.rho`-zCDP for neighbours
    whose counts differ by at most `event.sensitivity_l2_squared` in squared L2 norm, because
    sigma^2 = sensitivity_l2_squared / (2 rho) (Canonne, Kamath, Steinke 2020). Whole-number
    arithmetic throughout.

    Requires: `number` is used once per stream.
    Shapes and units: int64 counts of records, one per cell of the table, every cell noised.
    """
    import numpy as np

    sampler = TableSampler(noise_law(event))
    counts = sensitive_counts.consume()
    if counts.dtype != np.int64 or counts.shape != (event.cells,):
        raise BugError("counts must be whole numbers, one per cell of the table")
    for start in range(0, event.cells, BLOCK_CELLS):
        block = counts[start : start + BLOCK_CELLS]  # the noise of a cell depends on its number
        block += sampler.draw(stream, table=number, start=start, count=len(block))
        progress.advance(start + len(block), event.cells, "cells")
    return MeasuredTable(event, counts, noise_variance(event))
