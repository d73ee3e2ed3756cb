"""What is measured of records: a noisy table, or a noisy look at how records gather."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth.privacy import LookEvent, TableEvent


@dataclass(frozen=True, eq=False)
class MeasuredTable:
    """One noisy table over some attributes of the universe.

    Shapes and units: `noisy_counts` is int64 (in tables of more than 2^24 cells any signed type
    that holds them), one value per cell of the table, flat in C order
    over `event.table` (attributes in universe order); true count plus exact integer noise, in
    records. `variance` is that of the noise, in records squared.

    A table with `event.threshold` lists some cells only. `codes` is int64 with one row per listed
    cell and one column per attribute of `event.table`, rows in ascending (lexicographic, C) order,
    each once; `noisy_counts` has one value per row, each at least the threshold. Of every cell
    that is not listed, and that no impossible rule covers, it is known that its noisy count was
    below the threshold or, with `partition-selection`, that this holds or the cell is empty.
    Impossible cells are never listed. Without a threshold `codes` is None.
    """

    event: TableEvent
    noisy_counts: NDArray[np.int64]
    variance: float
    codes: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class MeasuredLook:
    """The noisy profile that was taken before the tables were planned.

    Shapes and units: `noisy_counts` has one whole number per class of `event`: true number of
    records plus exact integer noise. `variance` is that of the noise, in records squared.
    """

    event: LookEvent
    noisy_counts: tuple[int, ...]
    variance: float

    def to_plain(self) -> dict[str, Any]:
        """The event and its noisy counts, in JSON values."""
        return self.event.to_plain() | {"noisy_counts": list(self.noisy_counts)}
