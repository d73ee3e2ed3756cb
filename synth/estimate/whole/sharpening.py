"""Sharpening: gather the mass of tiny cells where it most likely belongs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from synth.domain.totals import Atoms
from synth.estimate.rounding import rake_one_way

Floats = NDArray[np.float64]

SHARPENING = "move every count half-way to a whole number"
STRENGTH = 0.5
BLOCK_RECORDS = 16.0


def sharpen_atoms(values: Floats, atoms: Atoms | None, shape: tuple[int, ...]) -> Floats:
    """Sharpen in cell order, inside every atom of the required totals, and keep one-way tables.

    These are made what they were by what cells have above their whole numbers, since a cell that
    has most of a row and of a column cannot make up for both.
    """
    sharper = np.zeros(values.size)
    for cells in [slice(None)] if atoms is None else atoms.cells():
        sharper[cells] = sharpen(values[cells])
    whole = np.floor(values)
    return whole + rake_one_way(sharper - whole, values - whole, shape, atoms)


def sharpen(values: Floats) -> Floats:
    """Move every value half-way to a whole number, within blocks of neighbouring cells.

    A posterior mean of 0.1 in each of ten cells says that one record lies in one of them. For
    the error of a single cell it is best to publish the nearest whole numbers; for sums it is
    best to keep the fractions. This goes half-way. Cells in order are cut into blocks whose
    fractional parts sum to about 16. In a block the largest fractional parts are rounded up and
    the others down, so that the block keeps its sum but for less than one record, which the next
    block makes up; the mean of that and the values is returned.

    Ensures: every value stays between its floor and its ceiling; any run of whole blocks keeps its
    sum to within a quarter of a record.
    """
    if not values.size:
        return values.copy()
    floor = np.floor(values)
    fraction = values - floor
    running = np.cumsum(fraction)
    block = np.floor(running / BLOCK_RECORDS).astype(np.int64)
    sums = np.bincount(block, weights=fraction)
    ups = np.diff(np.floor(np.cumsum(sums) + 0.5), prepend=0.0)
    order = np.lexsort((np.arange(values.size), -fraction, block))
    sizes = np.bincount(block)
    rank = np.arange(values.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    up = np.zeros(values.size)
    up[order] = rank < np.repeat(ups, sizes)
    up[fraction == 0.0] = 0.0
    return np.asarray(floor + fraction + STRENGTH * (up - fraction), dtype=np.float64)
