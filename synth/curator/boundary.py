"""The noise boundary: the one place where a secret count becomes a publishable number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from synth import progress
from synth.curator.sensitive import Sensitive
from synth.errors import BugError
from synth.measurements import MeasuredTable, noise_variance
from synth.noise import DiscreteGaussian, DiscreteLaplace, NoiseStream, TableSampler, noise_law
from synth.privacy import TableEvent

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LARGEST_NARROW_VARIANCE = float(1 << 48)
"""With more, in records squared, noise is not added to counts of 32 bits."""

Law = DiscreteLaplace | DiscreteGaussian
_samplers: WeakKeyDictionary[NoiseStream, dict[Law, TableSampler]] = WeakKeyDictionary()


def measure_table(
    sensitive_counts: Sensitive[NDArray[np.int64]] | Sensitive[NDArray[np.int32]],
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

    Counts of 32 bits: a noisy count beyond the type stays at its end. It is computed exactly
    first, so this is post-processing; no count makes anything fail, or take longer. Whether
    counts may have 32 bits at all is decided from the public event: noise of a standard deviation
    above 2^24 needs 64, so that no end is ever met (64 standard deviations lie between).

    Requires: `number` is used once per stream.
    Ensures: the counts are overwritten, block by block on all processors; beside them memory is
    a few MB. The noisy counts do not depend on the number of threads.
    Shapes and units: int64 or int32 counts of records, one per cell of the table, every cell
    noised; the result has the same type, and lies where they lay.
    Raises: BugError, before a count is looked at, for counts that do not fit the table or the
    noise.
    """
    import numpy as np

    sampler, variance = _sampler(stream, noise_law(event)), noise_variance(event)
    counts = sensitive_counts.consume()
    if counts.dtype not in (np.int32, np.int64) or counts.shape != (event.cells,):
        raise BugError("counts must be whole numbers, one per cell of the table")
    if counts.dtype == np.int32 and not fits_32_bits(event):
        raise BugError("noise this wide needs counts of 64 bits")
    sampler.add_to(
        counts,
        stream,
        table=number,
        told=lambda done: progress.advance(done, event.cells, "cells"),
    )
    noisy_counts: NDArray[Any] = counts
    return MeasuredTable(event, noisy_counts, variance)


def _sampler(stream: NoiseStream, law: Law) -> TableSampler:
    """The sampler of a law; tables of one stream that have the same law share it."""
    samplers = _samplers.setdefault(stream, {})
    if law not in samplers:
        samplers[law] = TableSampler(law)
    return samplers[law]


def fits_32_bits(event: TableEvent) -> bool:
    """Whether counts of 32 bits have room for the noise of a table; depends on the plan alone."""
    return noise_variance(event) <= LARGEST_NARROW_VARIANCE
