"""One part of the noise on its way through the cells of a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth.noise.block_table import BlockTable, reject_until_accepted
from synth.noise.quantile_table import BUCKET_BITS, QuantileTable
from synth.noise.stream import CELLS_PER_BLOCK, Keystream, NoiseStream, WordMemory

CHUNK_CELLS = 1 << 16
"""Cells worked on at once: the words, indices and values of a chunk stay in the cache."""
MOSTLY_ZERO = 0.95
"""With more zeros than this among its entries a part looks up the others only."""
Values = NDArray[np.signedinteger[Any]]
_WORDS_PER_BLOCK = 2


class Scratch:
    """Memory for one chunk, used again and again: fresh memory costs more than the noise."""

    def __init__(self, cells: int, dtype: np.dtype[np.signedinteger[Any]]) -> None:
        """Room for `cells` cells."""
        self.random = WordMemory(cells)
        self.indices = np.empty(cells, dtype=np.intp)
        self.flags = np.empty(cells, dtype=np.bool_)
        self.shifted = np.empty(cells, dtype=np.uint16)
        self.total = np.empty(cells, dtype=dtype)
        self.summand = np.empty(cells, dtype=dtype)


class Entries:
    """The entries of a table, in the type that all parts are added up in."""

    def __init__(
        self, table: QuantileTable | BlockTable, dtype: np.dtype[np.signedinteger[Any]]
    ) -> None:
        """Convert them; undecided ones get the least number of the type."""
        self.undecided = int(np.iinfo(dtype).min)
        self.values: Values = table.values.astype(dtype)
        self.values[table.values == table.undecided] = self.undecided
        zeros = np.flatnonzero(self.values == 0)
        self.mostly_zero = len(zeros) > MOSTLY_ZERO * len(self.values)
        self.first_zero = np.uint16(zeros[0] if self.mostly_zero else 0)
        self.zeros = np.uint16(len(zeros) if self.mostly_zero else 0)


class PartDraw:
    """A part of the noise: its words, and what is open of it so far."""

    def __init__(
        self,
        stream: NoiseStream,
        table: int,
        number: int,
        aligned: int,
        entries: Entries,
        scratch: Scratch,
    ) -> None:
        """Part `number` of the noise of the cells from `aligned` on, a multiple of 8."""
        self._stream = stream
        self._table = table
        self._number = number
        self._entries = entries
        self._scratch = scratch
        self._keystream = stream.keystream(
            lane=2 * number, table=table, index=aligned // CELLS_PER_BLOCK
        )
        self._cells: list[NDArray[np.int64]] = []
        self._buckets: list[NDArray[np.uint16]] = []

    def look_up(self, chunk: int, first: int, size: int, memory: Values) -> Values:
        """This part of the noise of `size` cells from `first` on, in `memory`.

        Undecided cells get 0 and are noted.

        Requires: called for chunk after chunk; the cell number `chunk` has the next word.
        """
        self._choose(self._keystream, chunk, first, memory[:size])
        return memory[:size]

    def refine(self, noise: NDArray[np.int64], start: int) -> None:
        """Add this part of the noise of the cells that are still undecided."""
        cells = np.concatenate(self._cells)
        noise[cells - start] += self._refined(cells, np.concatenate(self._buckets))
        self._cells.clear()
        self._buckets.clear()

    def _refined(self, cells: NDArray[np.int64], buckets: NDArray[np.uint16]) -> NDArray[np.int64]:
        """The values of undecided cells, from their buckets and further words."""
        raise NotImplementedError

    def _choose(
        self, keystream: Keystream, chunk: int, first: int, values: Values
    ) -> NDArray[np.intp]:
        """Fill `values` from the entries; return where they are undecided."""
        entries, scratch, size = self._entries, self._scratch, len(values)
        buckets = self._next_words(keystream, chunk, first, size)
        flags = scratch.flags[:size]
        undecided: NDArray[np.intp]
        if entries.mostly_zero:
            shifted = scratch.shifted[:size]
            np.subtract(buckets, entries.first_zero, out=shifted)  # modulo 2^16
            np.greater_equal(shifted, entries.zeros, out=flags)
            others = flags.nonzero()[0]
            values.fill(0)
            values[others] = entries.values[buckets[others]]
            undecided = others[values[others] == entries.undecided]
        else:
            indices = scratch.indices[:size]
            np.copyto(indices, buckets)
            # every index is in range; "wrap" spares numpy's check, which would copy
            np.take(entries.values, indices, out=values, mode="wrap")
            np.equal(values, entries.undecided, out=flags)
            undecided = flags.nonzero()[0]
        values[undecided] = 0
        self._cells.append(undecided + first)
        self._buckets.append(buckets[undecided])
        return undecided

    def _next_words(
        self, keystream: Keystream, chunk: int, first: int, size: int
    ) -> NDArray[np.uint16]:
        skipped = first - chunk
        whole_blocks = -(-(skipped + size) // CELLS_PER_BLOCK) * CELLS_PER_BLOCK
        words = keystream.words(whole_blocks, self._scratch.random)
        return words[skipped : skipped + size]

    def _words(self, round_number: int, cells: NDArray[np.int64]) -> NDArray[np.uint64]:
        return self._stream.blocks(
            lane=2 * self._number + 1, table=self._table, round_number=round_number, indices=cells
        )


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
