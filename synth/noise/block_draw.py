"""Wide noise on its way through the cells of a table: a block, then a place in it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from synth.noise.block_rejection import reject_until_accepted
from synth.noise.block_table import BlockTable
from synth.noise.part_draw import Entries, PartDraw, Values
from synth.noise.quantile_table import BUCKET_BITS
from synth.noise.scratch import Scratch
from synth.noise.stream import CELLS_PER_BLOCK, NoiseStream


class BlockDraw(PartDraw):
    """Noise that has a table of blocks: 16 more bits of a cell choose a value of its block."""

    def __init__(
        self,
        stream: NoiseStream,
        table: int,
        number: int,
        aligned: int,
        part: BlockTable,
        entries: Entries,
        scratch: Scratch,
    ) -> None:
        """The places in the blocks have the lane of a next part, which wide noise does not have."""
        super().__init__(stream, table, number, aligned, entries, scratch)
        self._part = part
        self._offset_words = stream.keystream(
            lane=2 * number + 2, table=table, index=aligned // CELLS_PER_BLOCK
        )
        self._offsets: list[NDArray[np.uint16]] = []

    def look_up(self, chunk: int, first: int, size: int, memory: Values) -> Values:
        """The noise of `size` cells from `first` on; see `PartDraw.look_up`."""
        values = memory[:size]
        undecided = self._choose(self._keystream, chunk, first, values)
        words = self._next_words(self._offset_words, chunk, first, size)
        offsets = self._scratch.shifted[:size]
        np.right_shift(words, np.uint16(BUCKET_BITS - self._part.shift), out=offsets)
        values += offsets
        values[undecided] = 0
        self._offsets.append(offsets[undecided])
        return values

    def _refined(self, cells: NDArray[np.int64], buckets: NDArray[np.uint16]) -> NDArray[np.int64]:
        offsets = np.concatenate(self._offsets)
        self._offsets.clear()
        return reject_until_accepted(
            self._part,
            buckets,
            offsets,
            lambda number, some: self._words(number, cells[some]),
        )
