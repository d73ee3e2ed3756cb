"""Residuals of a table too large to subtract from: sums over its cells in blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from synth.domain.cell_words import cell_words
from synth.domain.nested_sums import nested_sums_by_block
from synth.domain.sparse_counts import SparseCounts
from synth.release.manifest.residuals import root_mean_square

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BLOCK_CELLS = 1 << 20


def large_root_mean_square(
    counts: SparseCounts, noisy_counts: NDArray[Any], shape: tuple[int, ...]
) -> float:
    """The root mean square of count less noisy count over all cells; sums are exact.

    Only occupied cells differ from what empty ones would give: the sum of all squared noisy counts.
    """
    import numpy as np

    total = 0
    for start in range(0, len(noisy_counts), BLOCK_CELLS):
        total += _squares(noisy_counts[start : start + BLOCK_CELLS].astype(np.int64))
    [cells] = cell_words(counts.columns, shape)
    for start in range(0, len(cells), BLOCK_CELLS):
        here = slice(start, start + BLOCK_CELLS)
        noisy = noisy_counts[cells[here]].astype(np.int64)
        total += _squares(counts.values[here] - noisy) - _squares(noisy)
    return math.sqrt(total / max(1, len(noisy_counts)))


def _squares(values: NDArray[np.int64]) -> int:
    """The exact sum of squares."""
    import numpy as np

    if not len(values):
        return 0
    if int(np.abs(values).max()) <= 1 << 20:  # 2^20 squares of numbers up to 2^20 fit 64 bits
        return int(np.square(values).sum())
    return sum(int(value) ** 2 for value in values.tolist())


def large_marginal_residuals(
    counts: SparseCounts,
    noisy_counts: NDArray[Any],
    shape: tuple[int, ...],
    marginals: Sequence[tuple[int, ...]],
) -> list[float]:
    """As `residuals.marginal_residuals`, for the residuals of a table that is not subtracted.

    The axes of every marginal ascend.
    """
    import numpy as np

    sums = nested_sums_by_block(noisy_counts, shape, marginals)
    results = []
    for m in marginals:
        cells = np.zeros(len(counts.values), dtype=np.int64)
        for axis in m:
            cells = cells * shape[axis] + counts.columns[axis]
        noisy = sums[m].reshape(-1)
        np.subtract.at(noisy, cells, counts.values)
        results.append(root_mean_square(noisy))
    return results
