"""Exact noise at the speed of memory: a table look-up per cell."""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from synth.errors import BugError
from synth.noise.law import Distribution
from synth.noise.quantile_table import INTEGER_TYPES, QuantileTable
from synth.noise.stream import CELLS_PER_BLOCK, NoiseStream, WordMemory

CHUNK_CELLS = 1 << 16
"""Cells worked on at once: the words, indices and values of a chunk stay in the cache."""
_WORDS_PER_BLOCK = 2


class TableSampler:
    """Draws exactly distributed whole numbers, one per cell of a table.

    Every part of the noise has its own 2^16-entry table, takes 16 bits per cell, and further
    bits only for the few cells whose bucket is undecided.

    Privacy: given uniform random words the values follow the distribution exactly, independently
    for every cell. The work depends on the random words alone: no count is seen here.
    """

    def __init__(self, distribution: Distribution) -> None:
        """Tabulate every part of `distribution`; draws nothing yet."""
        self._parts = [QuantileTable(part.law, part.step) for part in distribution.parts()]
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
        stream.claim(table, start, count)
        noise = np.empty(count, dtype=np.int64) if out is None else out
        if noise.shape != (count,) or noise.dtype != np.int64:
            raise BugError("the noise needs a flat int64 array of its size")
        if not count:
            return noise
        scratch = self._scratch(min(CHUNK_CELLS, count + 2 * CELLS_PER_BLOCK))
        aligned = start - start % CELLS_PER_BLOCK
        works = [
            _PartialDraw(stream, table, number, aligned, quantiles, scratch)
            for number, quantiles in enumerate(self._parts)
        ]
        for chunk in range(aligned, start + count, CHUNK_CELLS):
            first = max(chunk, start)
            stop = min(chunk + CHUNK_CELLS, start + count)
            for work in works:
                work.put(noise[first - start : stop - start], chunk, first)
        for work in works:
            work.refine(noise, start)
        return noise

    def _scratch(self, cells: int) -> _Scratch:
        """This thread's working memory, for at least `cells` cells."""
        scratch: _Scratch | None = getattr(self._own, "scratch", None)
        if scratch is None or len(scratch.indices) < cells:
            scratch = self._own.scratch = _Scratch(cells)
        return scratch


class _Scratch:
    """Memory for one chunk, used again and again: fresh memory costs more than the noise."""

    def __init__(self, cells: int) -> None:
        self.random = WordMemory(cells)
        self.indices = np.empty(cells, dtype=np.intp)
        self.flags = np.empty(cells, dtype=np.bool_)
        self.values = {np.dtype(t): np.empty(cells, dtype=t) for t in INTEGER_TYPES}


class _PartialDraw:
    """One part of the noise on its way through the cells of a table."""

    def __init__(
        self,
        stream: NoiseStream,
        table: int,
        number: int,
        aligned: int,
        quantiles: QuantileTable,
        scratch: _Scratch,
    ) -> None:
        self._stream = stream
        self._table = table
        self._number = number
        self._quantiles = quantiles
        self._scratch = scratch
        self._keystream = stream.keystream(
            lane=2 * number, table=table, index=aligned // CELLS_PER_BLOCK
        )
        self._cells: list[NDArray[np.int64]] = []
        self._buckets: list[NDArray[np.uint16]] = []

    def put(self, target: NDArray[np.int64], chunk: int, first: int) -> None:
        """Set (first part) or add this part of the noise of cells from `first` on.

        Undecided cells get 0 and are noted.

        Requires: called for chunk after chunk; the cell number `chunk` has the next word.
        """
        scratch = self._scratch
        size = len(target)
        skipped = first - chunk
        whole_blocks = -(-(skipped + size) // CELLS_PER_BLOCK) * CELLS_PER_BLOCK
        buckets = self._keystream.words(whole_blocks, scratch.random)[skipped : skipped + size]
        indices, flags = scratch.indices[:size], scratch.flags[:size]
        values = scratch.values[self._quantiles.values.dtype][:size]
        np.copyto(indices, buckets)
        # every index is in range; "wrap" spares numpy's check, which would copy
        np.take(self._quantiles.values, indices, out=values, mode="wrap")
        np.equal(values, self._quantiles.undecided, out=flags)
        undecided = flags.nonzero()[0]
        values[undecided] = 0
        if self._number == 0:
            np.copyto(target, values)
        else:
            target += values
        self._cells.append(undecided + first)
        self._buckets.append(buckets[undecided])

    def refine(self, noise: NDArray[np.int64], start: int) -> None:
        """Add this part of the noise of all cells that were undecided so far."""
        cells = np.concatenate(self._cells)
        values = self._quantiles.refine(
            np.concatenate(self._buckets),
            self._words(0, cells)[:, 0],
            lambda i, j: int(
                self._words(j // _WORDS_PER_BLOCK, cells[i : i + 1])[0, j % _WORDS_PER_BLOCK]
            ),
        )
        noise[cells - start] += values

    def _words(self, round_number: int, cells: NDArray[np.int64]) -> NDArray[np.uint64]:
        return self._stream.blocks(
            lane=2 * self._number + 1, table=self._table, round_number=round_number, indices=cells
        )
