"""Residuals of many marginals at once, in whole numbers until the last square root."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from synth.domain.nested_sums import nested_sums

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
