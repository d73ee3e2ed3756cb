"""One-way sums: what tables of single attributes need, without a transform of the universe."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def one_way_sums(cells: Floats, shape: tuple[int, ...]) -> list[Floats]:
    """The sums over the codes of every attribute, by halving: two passes over the cells."""
    if len(shape) == 1:
        return [cells.reshape(-1)]
    middle = len(shape) // 2
    first, second = shape[:middle], shape[middle:]
    table = cells.reshape(math.prod(first), math.prod(second))
    return one_way_sums(table.sum(axis=1), first) + one_way_sums(table.sum(axis=0), second)


def added_up(parts: list[Floats]) -> Floats:
    """For every cell the sum of one number per attribute, chosen by its code; flat, C order."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    first, second = added_up(parts[:middle]), added_up(parts[middle:])
    return np.add.outer(first, second).reshape(-1)
