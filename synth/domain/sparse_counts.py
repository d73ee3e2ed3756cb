"""Counts of a universe too large to hold: the cells that are there, and nothing of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from synth.domain.margin import Margin
from synth.domain.universe import Conjunction, Universe

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class SparseCounts:
    """Whole counts of the cells that are not empty.

    Shapes and units: `columns[j]` holds the code of attribute j for every cell, in an unsigned
    type; cells ascend by number, each once; `values` is int64, records, > 0.
    """

    columns: tuple[NDArray[Any], ...]
    values: NDArray[np.int64]

    @property
    def total(self) -> int:
        """The number of records."""
        return int(self.values.sum())

    def cell(self, place: int) -> list[int]:
        """The codes of one cell."""
        return [int(column[place]) for column in self.columns]


def inside(
    columns: Sequence[NDArray[Any]], universe: Universe, conjunction: Conjunction
) -> NDArray[np.bool_]:
    """For cells given by their codes: whether each one belongs to the conjunction."""
    import numpy as np

    found = np.ones(len(columns[0]), dtype=bool)
    for name, codes in conjunction.codes.items():
        axis = universe.names.index(name)
        member = np.zeros(universe.shape[axis], dtype=bool)
        member[list(codes)] = True
        found &= member[columns[axis]]
    return found


def is_possible(columns: Sequence[NDArray[Any]], universe: Universe) -> NDArray[np.bool_]:
    """For cells given by their codes: whether no impossible rule applies."""
    import numpy as np

    found = np.ones(len(columns[0]), dtype=bool)
    for rule in universe.impossible:
        found &= ~inside(columns, universe, rule)
    return found


def margin_cells(
    columns: Sequence[NDArray[Any]], universe: Universe, margin: Margin
) -> NDArray[np.int64]:
    """The number of the margin's cell into which every cell falls."""
    import numpy as np

    found = np.zeros(len(columns[0]), dtype=np.int64)
    for name, step, size in zip(
        margin.names, margin.coarsening, margin.shape(universe), strict=True
    ):
        axis = universe.names.index(name)
        found *= size
        codes = columns[axis]
        if step:
            codes = np.asarray(universe.attributes[axis].hierarchy[-step].group_of)[codes]
        found += codes
    return found


def margin_sums(
    columns: Sequence[NDArray[Any]],
    values: NDArray[Any],
    universe: Universe,
    margin: Margin,
) -> NDArray[np.float64]:
    """The sums of the values over the cells of the margin, flat in C order.

    Rounding: exact for whole numbers with sums below 2^53.
    """
    import numpy as np

    cells = margin_cells(columns, universe, margin)
    sums = np.bincount(cells, weights=values, minlength=margin.cells(universe))
    return np.asarray(sums, dtype=np.float64)
