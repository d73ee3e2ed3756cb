"""Two well-known ways to make a noisy table non-negative, for comparison only.

Both work cell by cell and so turn the noise of empty cells into records; `synth` uses neither.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def clip_and_rescale(noisy: Floats) -> Floats:
    """Set negative values to zero; scale the rest to the noisy total."""
    clipped = np.maximum(noisy, 0.0)
    total = max(float(noisy.sum()), 1.0)
    return clipped * (total / max(float(clipped.sum()), 1.0))


def simplex_projection(noisy: Floats) -> Floats:
    """The nearest non-negative table with the noisy total, in least squares (exact, by sorting).

    It is max(noisy - t, 0) for the t that gives the total (Held, Wolfe, Crowder 1974).
    """
    total = max(float(noisy.sum()), 1.0)
    ordered = np.sort(noisy)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, ordered.size + 1)
    last = int(np.flatnonzero(ordered > excess)[-1])
    return np.maximum(noisy - excess[last], 0.0)
