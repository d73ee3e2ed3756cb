"""Sums of one table over many sets of attributes at once, in memory or block by block."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BLOCK_CELLS = 1 << 20


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


def nested_sums_by_block(
    part: Callable[[int, int], NDArray[Any]],
    shape: tuple[int, ...],
    marginals: Sequence[tuple[int, ...]],
) -> dict[tuple[int, ...], NDArray[np.int64]]:
    """The same of a table too large to hold as 64-bit numbers.

    `part` gives its numbers from one cell to another, in C order. The table is cut along its first
    axes into blocks; in each the marginals share their sums.
    """
    import numpy as np

    lead = 0
    while math.prod(shape[lead:]) > BLOCK_CELLS and lead < len(shape) - 1:
        lead += 1
    size = math.prod(shape[lead:])
    tails = {m: tuple(axis - lead for axis in m if axis >= lead) for m in marginals}
    sums = {m: np.zeros([shape[axis] for axis in m], dtype=np.int64) for m in marginals}
    for block in range(math.prod(shape[:lead])):
        codes = np.unravel_index(block, shape[:lead]) if lead else ()
        values = part(block * size, (block + 1) * size).astype(np.int64)
        found = nested_sums(values.reshape(shape[lead:]), list(tails.values()))
        for m, tail in tails.items():
            head = tuple(codes[axis] for axis in m if axis < lead)
            sums[m][head] += found[tail]
    return sums
