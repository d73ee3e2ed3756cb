"""Exact noise at the speed of memory: a table look-up per cell."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth.errors import BugError
from synth.noise.law import Distribution
from synth.noise.quantile_table import QuantileTable, narrowest_type
from synth.noise.stream import CELLS_PER_BLOCK, NoiseStream, WordMemory

CHUNK_CELLS = 1 << 16
"""Cells worked on at once: the words, indices and values of a chunk stay in the cache."""
CHUNKS_REFINED_AT_ONCE = 64
MOSTLY_ZERO = 0.95
"""With more zeros than this among its entries a part looks up the others only."""
_WORDS_PER_BLOCK = 2
_Whole = np.dtype[np.signedinteger[Any]]


class TableSampler:
    """Draws exactly distributed whole numbers, one per cell of a table.

    Every part of the noise has its own 2^16-entry table, takes 16 bits per cell, and further
    bits only for the few cells whose bucket is undecided.

    Privacy: given uniform random words the values follow the distribution exactly, independently
    for every cell. The work depends on the random words alone: no count is seen here.
    """

    def __init__(self, distribution: Distribution) -> None:
        """Tabulate every part of `distribution`; draws nothing yet."""
        tables = [QuantileTable(part.law, part.step) for part in distribution.parts()]
        # decided values are added up in the narrowest type that holds all their sums
        self._dtype = narrowest_type(sum(table.widest for table in tables))
        self._parts = [_Part(table, self._dtype) for table in tables]
        self._own = threading.local()

    def draw(
        self,
        stream: NoiseStream,
        *,
        table: int,
        start: int,
        count: int,
        out: NDArray[np.int64] | None = None,
    ) -> NDArray[np.int64]:
        """The noise of cells start .. start+count-1 of a table; in `out` if that is given.

        Requires: `out` is one-dimensional, int64, with `count` entries; it is overwritten.
        Ensures: a cell's noise is a function of key, table and cell, however a table is cut.
        Shapes and units: `count` whole numbers, in records.
        Raises: BugError if a cell's noise was drawn from this stream before.
        """
        if out is not None and (out.shape != (count,) or out.dtype != np.int64):
            raise BugError("the noise needs a flat int64 array of its size")
        stream.claim(table, start, count)
        noise = np.empty(count, dtype=np.int64) if out is None else out
        if not count:
            return noise
        scratch = self._scratch(min(CHUNK_CELLS, count + 2 * CELLS_PER_BLOCK))
        aligned = start - start % CELLS_PER_BLOCK
        works = [
            _PartialDraw(stream, table, number, aligned, part, scratch)
            for number, part in enumerate(self._parts)
        ]
        for number, chunk in enumerate(range(aligned, start + count, CHUNK_CELLS), 1):
            first = max(chunk, start)
            stop = min(chunk + CHUNK_CELLS, start + count)
            size = stop - first
            total = works[0].look_up(chunk, first, size, scratch.total)
            for work in works[1:]:
                total += work.look_up(chunk, first, size, scratch.summand)
            np.copyto(noise[first - start : stop - start], total)
            if number % CHUNKS_REFINED_AT_ONCE == 0 or stop == start + count:
                for work in works:
                    work.refine(noise, start)
        return noise

    def _scratch(self, cells: int) -> _Scratch:
        """This thread's working memory, for at least `cells` cells."""
        scratch: _Scratch | None = getattr(self._own, "scratch", None)
        if scratch is None or len(scratch.indices) < cells:
            scratch = self._own.scratch = _Scratch(cells, self._dtype)
        return scratch


class _Part:
    """The table of one part with its entries in the type that all parts are added up in."""

    def __init__(self, table: QuantileTable, dtype: _Whole) -> None:
        self.table = table
        self.undecided = int(np.iinfo(dtype).min)
        self.entries = table.values.astype(dtype)
        self.entries[table.values == table.undecided] = self.undecided
        zeros = np.flatnonzero(self.entries == 0)
        self.mostly_zero = len(zeros) > MOSTLY_ZERO * len(self.entries)
        self.first_zero = np.uint16(zeros[0] if self.mostly_zero else 0)
        self.zeros = np.uint16(len(zeros) if self.mostly_zero else 0)


class _Scratch:
    """Memory for one chunk, used again and again: fresh memory costs more than the noise."""

    def __init__(self, cells: int, dtype: _Whole) -> None:
        self.random = WordMemory(cells)
        self.indices = np.empty(cells, dtype=np.intp)
        self.flags = np.empty(cells, dtype=np.bool_)
        self.shifted = np.empty(cells, dtype=np.uint16)
        self.total = np.empty(cells, dtype=dtype)
        self.summand = np.empty(cells, dtype=dtype)


class _PartialDraw:
    """One part of the noise on its way through the cells of a table."""

    def __init__(
        self,
        stream: NoiseStream,
        table: int,
        number: int,
        aligned: int,
        part: _Part,
        scratch: _Scratch,
    ) -> None:
        self._stream = stream
        self._table = table
        self._number = number
        self._part = part
        self._scratch = scratch
        self._keystream = stream.keystream(
            lane=2 * number, table=table, index=aligned // CELLS_PER_BLOCK
        )
        self._cells: list[NDArray[np.int64]] = []
        self._buckets: list[NDArray[np.uint16]] = []

    def look_up(
        self, chunk: int, first: int, size: int, memory: NDArray[np.signedinteger[Any]]
    ) -> NDArray[np.signedinteger[Any]]:
        """This part of the noise of `size` cells from `first` on, in `memory`.

        Undecided cells get 0 and are noted.

        Requires: called for chunk after chunk; the cell number `chunk` has the next word.
        """
        part, scratch = self._part, self._scratch
        skipped = first - chunk
        whole_blocks = -(-(skipped + size) // CELLS_PER_BLOCK) * CELLS_PER_BLOCK
        buckets = self._keystream.words(whole_blocks, scratch.random)[skipped : skipped + size]
        flags, values = scratch.flags[:size], memory[:size]
        if part.mostly_zero:
            shifted = scratch.shifted[:size]
            np.subtract(buckets, part.first_zero, out=shifted)  # modulo 2^16
            np.greater_equal(shifted, part.zeros, out=flags)
            others = flags.nonzero()[0]
            values.fill(0)
            values[others] = part.entries[buckets[others]]
            undecided = others[values[others] == part.undecided]
        else:
            indices = scratch.indices[:size]
            np.copyto(indices, buckets)
            # every index is in range; "wrap" spares numpy's check, which would copy
            np.take(part.entries, indices, out=values, mode="wrap")
            np.equal(values, part.undecided, out=flags)
            undecided = flags.nonzero()[0]
        values[undecided] = 0
        self._cells.append(undecided + first)
        self._buckets.append(buckets[undecided])
        return values

    def refine(self, noise: NDArray[np.int64], start: int) -> None:
        """Add this part of the noise of the cells that are still undecided."""
        cells = np.concatenate(self._cells)
        values = self._part.table.refine(
            np.concatenate(self._buckets),
            self._words(0, cells)[:, 0],
            lambda i, j: int(
                self._words(j // _WORDS_PER_BLOCK, cells[i : i + 1])[0, j % _WORDS_PER_BLOCK]
            ),
        )
        noise[cells - start] += values
        self._cells.clear()
        self._buckets.clear()

    def _words(self, round_number: int, cells: NDArray[np.int64]) -> NDArray[np.uint64]:
        return self._stream.blocks(
            lane=2 * self._number + 1, table=self._table, round_number=round_number, indices=cells
        )
