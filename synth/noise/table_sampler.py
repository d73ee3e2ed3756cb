"""Exact noise at the speed of memory: a table look-up per cell."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from synth.noise.law import Distribution
from synth.noise.quantile_table import QuantileTable
from synth.noise.stream import CELLS_PER_BLOCK, Keystream, NoiseStream

CHUNK_CELLS = 1 << 16
"""Cells worked on at once: words, values and results of a chunk stay in the cache."""
_WORDS_PER_BLOCK = 2


class TableSampler:
    """Draws exactly distributed whole numbers, one per cell of a table.

    Every part of the noise has its own 2^16-entry table, takes 16 bits per cell, and further
    bits only for the few cells whose bucket is undecided.

    Privacy: given uniform random words the values follow the distribution exactly, independently
    for every cell. The work depends on the random words alone: no count is seen here.
    """

    def __init__(self, distribution: Distribution) -> None:
        self._parts = [(part.step, QuantileTable(part.law)) for part in distribution.parts()]

    def draw(
        self, stream: NoiseStream, *, table: int, start: int, count: int
    ) -> NDArray[np.int64]:
        """The noise of cells start .. start+count-1 of a table.

        Ensures: a cell's noise is a function of key, table and cell, however a table is cut.
        Shapes and units: `count` whole numbers, in records.
        Raises: BugError if a cell's noise was drawn from this stream before.
        """
        stream.claim(table, start, count)
        noise = np.empty(count, dtype=np.int64)
        if not count:
            return noise
        aligned = start - start % CELLS_PER_BLOCK
        works = [
            _PartialDraw(stream, table, number, aligned, step, quantiles)
            for number, (step, quantiles) in enumerate(self._parts)
        ]
        for chunk in range(aligned, start + count, CHUNK_CELLS):
            first = max(chunk, start)
            stop = min(chunk + CHUNK_CELLS, start + count)
            target = noise[first - start : stop - start]
            for work in works:
                work.add(target, chunk, first)
        return noise


class _PartialDraw:
    """One part of the noise on its way through the cells of a table."""

    def __init__(
        self,
        stream: NoiseStream,
        table: int,
        number: int,
        aligned: int,
        step: int,
        quantiles: QuantileTable,
    ) -> None:
        self._stream = stream
        self._table = table
        self._number = number
        self._step = step
        self._quantiles = quantiles
        self._keystream: Keystream = stream.keystream(
            lane=2 * number, table=table, index=aligned // CELLS_PER_BLOCK
        )
        self._values = np.empty(CHUNK_CELLS, dtype=quantiles.values.dtype)

    def add(self, target: NDArray[np.int64], chunk: int, first: int) -> None:
        """Set or add this part of the noise of cells `first` ..., whose words begin at `chunk`."""
        skipped = first - chunk
        wanted = skipped + len(target)
        whole_blocks = -(-wanted // CELLS_PER_BLOCK) * CELLS_PER_BLOCK
        buckets = self._keystream.words(whole_blocks)[skipped:wanted]
        values = self._values[: len(target)]
        # every index is in range; "wrap" spares the check, which would copy
        np.take(self._quantiles.values, buckets, out=values, mode="wrap")
        undecided = np.flatnonzero(values == self._quantiles.undecided)
        refined = self._refined(buckets[undecided], first + undecided)
        if self._number == 0:
            target[:] = values
            target[undecided] = refined
        else:
            values[undecided] = 0
            target += values * np.int64(self._step)
            target[undecided] += refined * self._step

    def _refined(self, buckets: NDArray[np.uint16], cells: NDArray[np.int64]) -> NDArray[np.int64]:
        def words(round_number: int, cells: NDArray[np.int64]) -> NDArray[np.uint64]:
            return self._stream.blocks(
                lane=2 * self._number + 1,
                table=self._table,
                round_number=round_number,
                indices=cells,
            )

        def more_words(i: int, j: int) -> int:
            return int(words(j // _WORDS_PER_BLOCK, cells[i : i + 1])[0, j % _WORDS_PER_BLOCK])

        return self._quantiles.refine(buckets, words(0, cells)[:, 0], more_words)
