"""Columns of noisy counts: as narrow as they can be where there are many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

NARROW_ABOVE_CELLS = 1 << 24
"""Longer columns are held in the narrowest signed type; shorter ones in int64."""


class CountColumn:
    """The noisy counts of one table while they are read, block by block."""

    def __init__(self, cells: int) -> None:
        """Room for this many counts; those that are not put are 0."""
        import numpy as np

        self.values: NDArray[Any] = np.zeros(
            cells, dtype=np.int8 if cells > NARROW_ABOVE_CELLS else np.int64
        )

    def put(self, start: int, counts: NDArray[Any]) -> None:
        """Put counts from place `start` on; the column is widened if they do not fit."""
        import numpy as np

        if not len(counts):
            return
        for kind in (np.int8, np.int16, np.int32, np.int64):
            limits = np.iinfo(kind)
            if limits.min <= counts.min() and counts.max() <= limits.max:
                break
        wide = np.promote_types(kind, self.values.dtype)
        if wide != self.values.dtype:
            self.values = self.values.astype(wide)
        self.values[start : start + len(counts)] = counts


def fits_int32(counts: NDArray[Any]) -> bool:
    """Whether every count fits into 32 bits."""
    import numpy as np

    if counts.dtype.itemsize <= 4 or not len(counts):
        return True
    limits = np.iinfo(np.int32)
    return bool(counts.min() >= limits.min and counts.max() <= limits.max)
