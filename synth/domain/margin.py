"""Margins: the tables of sums that can be measured beside, or instead of, the universe."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from synth.domain.universe import Universe

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Margin:
    """A set of attributes, each at a declared resolution; the others are summed out.

    `names` are in universe order. `coarsening[i]` says how many steps of its hierarchy the
    attribute names[i] is above its codes; 0 is the finest.
    """

    names: tuple[str, ...]
    coarsening: tuple[int, ...]

    def shape(self, universe: Universe) -> tuple[int, ...]:
        """The number of groups of each attribute, in the order of `names`."""
        attributes = map(universe.attribute, self.names)
        return tuple(
            attribute.size if step == 0 else attribute.hierarchy[-step].size
            for attribute, step in zip(attributes, self.coarsening, strict=True)
        )

    def is_finest(self, universe: Universe) -> bool:
        """Whether its cells are those of the universe."""
        return self.names == universe.names and not any(self.coarsening)

    def cells(self, universe: Universe) -> int:
        """The number of cells of the table."""
        return math.prod(self.shape(universe))

    def sums(self, universe: Universe, values: NDArray[Any]) -> NDArray[Any]:
        """The sums of `values` over the cells of the table, flat in C order.

        Shapes and units: `values` holds one number per cell of the universe; the result has the
        same type and unit. Whole numbers are added as whole numbers.
        """
        import numpy as np

        axes = universe.axes(self.names)
        rest = tuple(axis for axis in range(len(universe.shape)) if axis not in axes)
        table = np.asarray(values).reshape(universe.shape)
        if rest:
            table = table.sum(axis=rest, dtype=table.dtype)
        for position, (name, step) in enumerate(zip(self.names, self.coarsening, strict=True)):
            if step:
                level = universe.attribute(name).hierarchy[-step]
                table = _grouped(table, position, level.group_of, level.size)
        return np.ascontiguousarray(table).reshape(-1)


def _grouped(table: NDArray[Any], axis: int, groups: tuple[int, ...], size: int) -> NDArray[Any]:
    import numpy as np

    source = np.moveaxis(table, axis, 0)
    out = np.zeros((size, *source.shape[1:]), dtype=table.dtype)
    np.add.at(out, np.asarray(groups), source)
    return np.moveaxis(out, 0, axis)
