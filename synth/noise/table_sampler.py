"""Exact noise at the speed of memory: a table look-up per cell."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from synth.errors import BugError
from synth.noise.crew import work_through
from synth.noise.law import Distribution
from synth.noise.recipe import Recipe
from synth.noise.scratch import CHUNK_CELLS, Scratch
from synth.noise.stream import CELLS_PER_BLOCK, NoiseStream

CHUNKS_REFINED_AT_ONCE = 64
SHARED_CHUNK_CELLS = 1 << 18
"""Cells worked on at once where threads take turns: between steps one waits for the other to wake,
so chunks are longer than a thread alone would like for its cache. A multiple of CELLS_PER_BLOCK."""
BLOCK_CELLS = 1 << 20
"""Cells that one thread works on before it takes the next ones."""
Told = Callable[[int], None]
"""Is told, in the calling thread, how many cells have their noise."""


def processors() -> int:
    """How many threads can run at once in this process."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class TableSampler:
    """Draws exactly distributed whole numbers, one per cell of a table.

    Every part of the noise has its own 2^16-entry table, takes 16 bits per cell, and further
    bits only for the few cells whose bucket is undecided.

    Privacy: given uniform random words the values follow the distribution exactly, independently
    for every cell. The work depends on the random words alone: no count is seen here.
    """

    def __init__(self, distribution: Distribution) -> None:
        """Tabulate every part of `distribution`; draws nothing yet."""
        self._recipe = Recipe(distribution)
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
        self._fill(noise, stream, table, start, CHUNK_CELLS)
        return noise

    def add_to(
        self,
        counts: NDArray[np.int64],
        stream: NoiseStream,
        *,
        table: int,
        threads: int | None = None,
        told: Told | None = None,
    ) -> None:
        """Add the noise of cells 0, 1, ... of a table to its counts, in place, on all processors.

        Privacy: sums are whole numbers modulo 2^64, a function of the exact sum, so this is
        post-processing. Nothing fails, and no work is saved or added, for any count.
        Requires: `counts` is one-dimensional, int64; it may be mapped from a file.
        Ensures: the sums are those of `draw`, whatever the number of threads; that their working
        memory is less than 20 MB each, whatever the number of cells. When this raises, no thread of
        it is at work any more, and some counts have their noise.
        Raises: BugError if a cell's noise was drawn from this stream before.
        """
        if counts.ndim != 1 or counts.dtype != np.int64:
            raise BugError("noise is added to a flat array of int64 counts")
        stream.claim(table, 0, len(counts))
        starts = range(0, len(counts), BLOCK_CELLS)
        threads = min(threads or processors(), len(starts))
        chunk = CHUNK_CELLS if threads == 1 else SHARED_CHUNK_CELLS

        def tell(blocks: int) -> None:
            if told is not None:
                told(min(blocks * BLOCK_CELLS, len(counts)))

        work_through(
            starts,
            lambda start: self._add_block(counts, stream, table, start, chunk),
            threads=threads,
            told=tell,
        )

    def _add_block(
        self, counts: NDArray[np.int64], stream: NoiseStream, table: int, start: int, chunk: int
    ) -> None:
        block = counts[start : start + BLOCK_CELLS]
        noise: NDArray[np.int64] | None = getattr(self._own, "noise", None)
        if noise is None or len(noise) < len(block):
            noise = self._own.noise = np.empty(len(block), dtype=np.int64)
        noise = noise[: len(block)]
        self._fill(noise, stream, table, start, chunk)
        block += noise

    def _fill(
        self, noise: NDArray[np.int64], stream: NoiseStream, table: int, start: int, chunk: int
    ) -> None:
        """Overwrite `noise` with the noise of as many cells from `start` on, `chunk` at a time."""
        stop = start + len(noise)
        if start == stop:
            return
        aligned = start - start % CELLS_PER_BLOCK
        scratch = self._scratch(min(chunk, len(noise) + 2 * CELLS_PER_BLOCK))
        draws = self._recipe.draws(stream, table, aligned, scratch)
        for number, begin in enumerate(range(aligned, stop, chunk), 1):
            first, end = max(begin, start), min(begin + chunk, stop)
            target = noise[first - start : end - start]
            total = draws[0].look_up(begin, first, end - first, scratch.total)
            for draw in draws[1:]:
                total += draw.look_up(begin, first, end - first, scratch.summand)
            np.copyto(target, total)
            if number % CHUNKS_REFINED_AT_ONCE == 0 or end == stop:
                for draw in draws:
                    draw.refine(noise, start)

    def _scratch(self, cells: int) -> Scratch:
        """This thread's working memory, for at least `cells` cells."""
        scratch: Scratch | None = getattr(self._own, "scratch", None)
        if scratch is None or len(scratch.indices) < cells:
            scratch = self._own.scratch = Scratch(cells, self._recipe.dtype)
        return scratch
