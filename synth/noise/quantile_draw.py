"""Noise with a table of its quantiles on its way through the cells of a table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from synth.noise.part_draw import Entries, PartDraw
from synth.noise.quantile_table import QuantileTable
from synth.noise.scratch import Scratch
from synth.noise.stream import NoiseStream

_WORDS_PER_BLOCK = 2


class QuantileDraw(PartDraw):
    """A part whose open cells are compared with the thresholds of its law."""

    def __init__(
        self,
        stream: NoiseStream,
        table: int,
        number: int,
        aligned: int,
        part: QuantileTable,
        entries: Entries,
        scratch: Scratch,
    ) -> None:
        """See `PartDraw`."""
        super().__init__(stream, table, number, aligned, entries, scratch)
        self._part = part

    def _refined(self, cells: NDArray[np.int64], buckets: NDArray[np.uint16]) -> NDArray[np.int64]:
        return self._part.refine(
            buckets,
            self._words(0, cells)[:, 0],
            lambda i, j: int(
                self._words(j // _WORDS_PER_BLOCK, cells[i : i + 1])[0, j % _WORDS_PER_BLOCK]
            ),
        )
