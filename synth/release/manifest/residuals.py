"""Residuals of many marginals at once, in whole numbers until the last square root."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BLOCK = 4096
LARGEST = 2**25
"""Sums of 4096 squares of numbers up to this stay below 2**63."""


def root_mean_square(values: NDArray[np.int64]) -> float:
    """The root mean square of whole numbers; the sum of squares is exact."""
    import numpy as np

    flat = values.ravel()
    if len(flat) == 0:
        return 0.0
    if int(np.abs(flat).max()) > LARGEST:
        return math.sqrt(sum(int(value) ** 2 for value in flat) / len(flat))
    starts = np.arange(0, len(flat), BLOCK)
    blocks = np.add.reduceat(np.square(flat), starts)
    return math.sqrt(sum(map(int, blocks)) / len(flat))


def marginal_residuals(
    residuals: NDArray[np.int64], shape: tuple[int, ...], marginals: Sequence[tuple[int, ...]]
) -> list[float]:
    """The root mean square of the residuals of each marginal (a tuple of axes, ascending)."""
    sums = nested_sums(residuals.reshape(shape), marginals)
    return [root_mean_square(sums[marginal]) for marginal in marginals]


def nested_sums(
    table: NDArray[np.int64], marginals: Sequence[tuple[int, ...]]
) -> dict[tuple[int, ...], NDArray[np.int64]]:
    """The sums of a table over the axes that each marginal (a tuple of axes, ascending) leaves out.

    Axes are decided one by one, kept or summed out, and marginals share every sum they have in
    common, so that thousands of them cost little more than a few passes over the table.
    """
    found: dict[tuple[int, ...], NDArray[np.int64]] = {}
    axes = table.ndim

    def decide(table: NDArray[np.int64], axis: int, kept: tuple[int, ...]) -> None:
        """`table` has the kept axes first, then all axes from `axis` on."""
        wanted = [m for m in open_marginals if m[: len(kept)] == kept]
        wanted = [m for m in wanted if len(m) == len(kept) or m[len(kept)] >= axis]
        if not wanted:
            return
        if axis == axes:
            found[kept] = table
            return
        if any(len(m) == len(kept) or m[len(kept)] > axis for m in wanted):
            decide(table.sum(axis=len(kept)), axis + 1, kept)
        if any(len(m) > len(kept) and m[len(kept)] == axis for m in wanted):
            decide(table, axis + 1, (*kept, axis))

    open_marginals = set(marginals)
    decide(table, 0, ())
    return found
