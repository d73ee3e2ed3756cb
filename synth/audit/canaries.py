"""Canaries: made-up units, each in cells of its own, that are there or not by a secret coin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from synth.config.types import PersonUnit, PrivacyConfig

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Bits = NDArray[np.bool_]

Randomness = Callable[[int], bytes]
"""So many random bytes."""


@dataclass(frozen=True)
class Canaries:
    """How a unit that makes the largest difference shows in a table of counts.

    All its records are in one cell, because that changes the table most. Under `add-remove` the
    coin says whether it is there: one cell for each canary. Under `replace-one` the coin says
    which of two cells it is in.
    """

    records: int
    replaced: bool

    @classmethod
    def of(cls, privacy: PrivacyConfig) -> Canaries:
        """The canaries of a configured unit and neighbouring relation."""
        unit = privacy.unit
        records = unit.max_records if isinstance(unit, PersonUnit) else 1
        return cls(records, privacy.neighbours == "replace-one")

    @property
    def cells_each(self) -> int:
        """How many cells one canary takes."""
        return 2 if self.replaced else 1

    def counts(self, bits: Bits, cells: int, background: int = 0) -> NDArray[np.int64]:
        """A table of counts with these canaries in its first cells, and nothing else.

        Shapes and units: int64, records; canary j has the cells from j * `cells_each` on.
        """
        import numpy as np

        counts = np.full(cells, background, dtype=np.int64)
        step = self.cells_each
        counts[: step * len(bits) : step] += self.records * bits
        if self.replaced:
            counts[1 : step * len(bits) : step] += self.records * ~bits
        return counts

    def split(self, noisy: NDArray[np.int64], canaries: int) -> list[NDArray[np.int64]]:
        """The noisy counts of the canaries: one array, or one for each of the two cells."""
        step = self.cells_each
        return [noisy[place : step * canaries : step] for place in range(step)]


def coins(count: int, randomness: Randomness) -> Bits:
    """As many fair coins."""
    import numpy as np

    octets = np.frombuffer(randomness(-(-count // 8)), dtype=np.uint8)
    return np.unpackbits(octets, count=count).astype(bool)
