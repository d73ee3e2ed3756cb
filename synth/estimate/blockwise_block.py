"""One block of the cells of a large universe: memory that is used again and again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth.estimate.blockwise_pairs import PairTables
from synth.estimate.blockwise_scores import ROWS, Score
from synth.estimate.blockwise_terms import LARGEST_POWER, Tilt

Singles = NDArray[np.float32]


class Block:
    """Memory for one block, used again and again."""

    def __init__(self, rows: int, columns: int) -> None:
        """Set aside memory for a block of so many rows and columns."""
        shape = (rows, columns)
        self.place_of = np.empty(shape, np.float32)
        self.row = np.empty(shape, np.int32)
        self.entry = np.empty(shape, np.int32)
        self.index = np.empty(shape, np.intp)
        self.value = np.empty(shape, np.float32)
        self.other = np.empty(shape, np.float32)
        self.factor = np.empty(shape, np.float32)
        self.ratio = np.empty(shape, np.float32)

    def place(self, log_mean: PairTables, o: int, start: int, stop: int) -> None:
        """Find the row of every cell on the grid."""
        _combine(np.add, log_mean, o, start, stop, self.place_of)
        np.clip(self.place_of, 0.0, ROWS - 1.0, out=self.place_of)
        np.copyto(self.row, self.place_of, casting="unsafe")

    def look_up(
        self,
        score: Score,
        runs: NDArray[Any] | None,
        o: int,
        start: int,
        stop: int,
        out: Singles,
    ) -> None:
        """The score of every cell."""
        if score.by_count and runs is not None:
            np.multiply(runs[o, start:stop], np.int32(ROWS), out=self.entry, casting="unsafe")
            self.entry += self.row
            np.copyto(self.index, self.entry)
        else:
            np.copyto(self.index, self.row)
        # every index is in range; "clip" spares numpy's check, which would copy
        np.take(score.values, self.index, out=out, mode="clip")

    def multiply(
        self, combine: Any, factor: PairTables, o: int, start: int, stop: int, out: Singles
    ) -> None:
        """Multiply by the sum, or the product, of the tables at every cell."""
        _combine(combine, factor, o, start, stop, self.factor)
        out *= self.factor

    def tilt(
        self, tilt: Tilt, runs: NDArray[Any] | None, o: int, start: int, stop: int, out: Singles
    ) -> None:
        """Multiply by the factor of a tilt."""
        _combine(np.add, tilt.exponent, o, start, stop, self.factor)
        if tilt.ratio is not None:
            self.look_up(tilt.ratio, runs, o, start, stop, self.ratio)
            self.factor *= self.ratio
        np.clip(self.factor, -LARGEST_POWER, LARGEST_POWER, out=self.factor)
        np.exp(self.factor, out=self.factor)
        out *= self.factor


def _combine(combine: Any, tables: PairTables, o: int, start: int, stop: int, out: Singles) -> None:
    """The sum or product of the tables of one block."""
    first, second, third = tables.tables
    left = None if first is None else first[o, start:stop, None]
    middle = None if second is None else second[o, None, :]
    right = None if third is None else third[start:stop]
    parts = [part for part in (right, left, middle) if part is not None]
    if len(parts) == 1:
        np.copyto(out, parts[0])
        return
    combine(parts[0], parts[1], out=out)
    for part in parts[2:]:
        combine(out, part, out=out)
