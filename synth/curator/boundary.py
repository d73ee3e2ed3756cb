"""The noise boundary: the one place where a secret count becomes a publishable number."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from synth import progress
from synth.curator.sensitive import Sensitive
from synth.errors import BugError
from synth.measurements import MeasuredTable
from synth.noise import (
    DiscreteGaussian,
    DiscreteLaplace,
    NoiseStream,
    TableSampler,
    noise_law,
    noise_variance,
)
from synth.privacy import TableEvent

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Law = DiscreteLaplace | DiscreteGaussian
_samplers: WeakKeyDictionary[NoiseStream, dict[Law, TableSampler]] = WeakKeyDictionary()


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
    Ensures: the counts are overwritten, block by block on all processors; beside them memory is
    a few MB. The noisy counts do not depend on the number of threads.
    Shapes and units: int64 counts of records, one per cell of the table, every cell noised; the
    result lies where they lay.
    Raises: BugError, before a count is looked at, for counts that do not fit the table.
    """
    import numpy as np

    sampler, variance = _sampler(stream, noise_law(event)), noise_variance(event)
    counts = sensitive_counts.consume()
    if counts.dtype != np.int64 or counts.shape != (event.cells,):
        raise BugError("counts must be whole numbers, one per cell of the table")
    sampler.add_to(
        counts,
        stream,
        table=number,
        told=lambda done: progress.advance(done, event.cells, "cells"),
    )
    return MeasuredTable(event, counts, variance)


def _sampler(stream: NoiseStream, law: Law) -> TableSampler:
    """The sampler of a law; tables of one stream that have the same law share it."""
    samplers = _samplers.setdefault(stream, {})
    if law not in samplers:
        samplers[law] = TableSampler(law)
    return samplers[law]
