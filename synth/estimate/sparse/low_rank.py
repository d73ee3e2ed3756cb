"""Noise taken out of a table of two attributes by shrinking its singular values."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LARGEST_SIDE = 64
"""Larger tables are shrunk by one factor. Up to here the singular values are found by one thread,
so that no digit depends on how many there are."""


def shrunk(residual: Floats, noise: float) -> Floats:
    """The part of a residual from independence that is not noise, about.

    The sums along both axes are taken off first. A dependence between two attributes usually
    has few dimensions: with noise of standard deviation s in every cell, a singular value y s
    sqrt(n) of an m x n table becomes sqrt((y^2 - b - 1)^2 - 4 b) / y, b = m / n <= 1, or zero where
    y <= 1 + sqrt(b): the best shrinkage for squared errors (Gavish, Donoho 2017). Tables of other
    orders, and large ones, are multiplied by the share of their squares that noise does not
    explain (James, Stein).
    """
    if residual.ndim != 2 or max(residual.shape) > LARGEST_SIDE or min(residual.shape) < 2:
        return residual * kept_share(residual, noise)
    centred = residual - residual.mean(axis=0)
    centred -= centred.mean(axis=1, keepdims=True)
    left, values, right = np.linalg.svd(centred, full_matrices=False)
    small, large = sorted(size - 1 for size in residual.shape)
    ratio = small / large
    unit = noise * math.sqrt(large)
    y = values / unit
    inner = np.maximum((y * y - ratio - 1.0) ** 2 - 4.0 * ratio, 0.0)
    kept = np.where(y > 1.0 + math.sqrt(ratio), np.sqrt(inner) / np.maximum(y, 1e-300), 0.0)
    out = np.zeros(residual.shape)
    for rank in np.flatnonzero(kept):
        out += (kept[rank] * unit) * np.multiply.outer(left[:, rank], right[rank])
    return out


def kept_share(residual: Floats, noise: float) -> float:
    """The share of the squares that noise of this standard deviation does not explain."""
    squares = float((residual * residual).sum())
    if squares <= 0.0:
        return 0.0
    return max(0.0, 1.0 - noise * noise * residual.size / squares)
