"""The noise boundary: the one place where a secret count becomes a publishable number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from synth.curator.sensitive import Sensitive
from synth.measurements import MeasuredTable, noise_variance
from synth.noise import DiscreteLaplace, NoiseStream, TableSampler
from synth.privacy import TableEvent

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def measure_table(
    sensitive_counts: Sensitive[NDArray[np.int64]],
    event: TableEvent,
    *,
    number: int,
    stream: NoiseStream,
) -> MeasuredTable:
    """Add exact discrete Laplace noise to every count of one table.

    Privacy: pure `event.epsilon`-DP for neighbours whose counts differ by at most
    `event.sensitivity_l1` in L1 norm: with alpha >= exp(-epsilon / sensitivity), the
    probability of any output changes by a factor of at most alpha ** -sensitivity (Ghosh,
    Roughgarden, Sundararajan 2009). Whole-number arithmetic throughout.

    Requires: `number` is used once per stream.
    Shapes and units: int64 counts of records, one per cell of the table, every cell noised.
    """
    distribution = DiscreteLaplace(event.epsilon, event.sensitivity_l1)
    noisy = TableSampler(distribution).draw(stream, table=number, start=0, count=event.cells)
    noisy += sensitive_counts.consume()
    return MeasuredTable(event, noisy, noise_variance(event))
