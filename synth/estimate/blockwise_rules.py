"""Rules on the cells of a large universe: impossible ones, and the atoms of required totals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from synth.domain import PublicTotal
from synth.domain.coarse import coarsen, code_groups
from synth.domain.totals import Atoms, atoms_of
from synth.estimate.blockwise_groups import Groups

Ints = NDArray[np.int64]

_MASKS_KEPT = 64


class CellRules:
    """Which cells are possible, and to which atom of the required totals each one belongs.

    Rules and totals cannot tell apart codes that the same of them name. So they are asked of the
    coarse universe in which such codes are one. The number of a cell's coarse cell is the sum of
    one number for each group of attributes.
    """

    def __init__(self, groups: Groups, totals: Sequence[PublicTotal]) -> None:
        """Make the coarse universe for the impossible rules and these totals."""
        universe = groups.universe
        wheres = [total.where for total in totals]
        small, moved = coarsen(universe, wheres)
        group_of = code_groups(universe, wheres)
        self._possible = small.possible()
        self._parts = []
        for group in range(3):
            part = np.zeros((), dtype=np.int64)
            for axis in groups.axes(group):
                attribute = universe.attributes[axis]
                if attribute.name in group_of:
                    stride = small.strides[small.names.index(attribute.name)]
                    step = np.array(group_of[attribute.name], dtype=np.int64) * stride
                else:
                    step = np.zeros(attribute.size, dtype=np.int64)
                part = np.add.outer(part, step)
            self._parts.append(part.reshape(-1))
        self.all_possible = not universe.impossible
        self._masks: dict[tuple[int, int, int], NDArray[np.float32]] = {}
        self.atoms: Atoms | None = None
        """The atoms of the coarse universe, if any total is required."""
        if totals:
            coarse = [
                PublicTotal(where, total.total, total.source)
                for where, total in zip(moved, totals, strict=True)
            ]
            self.atoms = atoms_of(small, coarse)

    def possible_block(self, o: int, start: int, stop: int) -> NDArray[np.float32] | None:
        """1 for every possible cell of a block and 0 for the others; None if all are possible."""
        if self.all_possible:
            return None
        key = (int(self._parts[0][o]), start, stop)
        mask = self._masks.get(key)
        if mask is None:
            mask = self._possible[self._coarse(o, start, stop)].astype(np.float32)
            if len(self._masks) >= _MASKS_KEPT:
                self._masks.clear()
            self._masks[key] = mask
        return mask

    def possible_cells(self, places: Sequence[Ints]) -> NDArray[np.bool_]:
        """For cells by their places in the three groups: whether each is possible."""
        numbers = [part[place] for part, place in zip(self._parts, places, strict=True)]
        return np.asarray(self._possible[numbers[0] + numbers[1] + numbers[2]])

    def atoms_of_block(self, o: int, start: int, stop: int) -> Ints:
        """The atom of every cell of a block, flat; -1 for impossible ones."""
        coarse = self._coarse(o, start, stop).reshape(-1)
        if self.atoms is None:
            return np.where(self._possible[coarse], 0, -1)
        return self.atoms.atom_of[coarse]

    def _coarse(self, o: int, start: int, stop: int) -> Ints:
        return np.asarray(
            self._parts[0][o] + np.add.outer(self._parts[1][start:stop], self._parts[2])
        )
