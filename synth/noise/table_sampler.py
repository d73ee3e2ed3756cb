"""Exact noise at the speed of memory: a table look-up per cell, on several threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from synth.errors import BugError
from synth.noise.block_table import BlockTable, reject_until_accepted
from synth.noise.discrete_gaussian import DiscreteGaussian
from synth.noise.law import Distribution, Part
from synth.noise.quantile_table import BUCKET_BITS, QuantileTable, narrowest_type
from synth.noise.stream import CELLS_PER_BLOCK, Keystream, NoiseStream, WordMemory

CHUNK_CELLS = 1 << 16
"""Cells worked on at once: the words, indices and values of a chunk stay in the cache."""
MOSTLY_ZERO = 0.95
"""With more zeros than this among its entries a part looks up the others only."""
Values = NDArray[np.signedinteger[Any]]
Tabulated = TypeVar("Tabulated", QuantileTable, BlockTable)
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


@dataclass(eq=False, repr=False)
class PartDraw(Generic[Tabulated]):
    """Part `number` of the noise of a table: its words, and what is open of it so far."""

    stream: NoiseStream
    table: int
    number: int
    aligned: int
    """The first cell that words are taken for, a multiple of 8."""
    part: Tabulated
    entries: Entries
    scratch: Scratch

    def __post_init__(self) -> None:
        self._keystream = self._running_words(2 * self.number)
        self._cells: list[NDArray[np.int64]] = []
        self._buckets: list[NDArray[np.uint16]] = []

    def _running_words(self, lane: int) -> Keystream:
        index = self.aligned // CELLS_PER_BLOCK
        return self.stream.keystream(lane=lane, table=self.table, index=index)

    def look_up(self, chunk: int, first: int, size: int, memory: Values) -> Values:
        """This part of the noise of `size` cells from `first` on, in `memory`.

        Undecided cells get 0 and are noted.

        Requires: called for chunk after chunk; the cell number `chunk` has the next word.
        """
        self._choose(chunk, first, memory[:size])
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

    def _choose(self, chunk: int, first: int, values: Values) -> NDArray[np.intp]:
        """Fill `values` from the entries; return where they are undecided."""
        entries, scratch, size = self.entries, self.scratch, len(values)
        buckets = self._next_words(self._keystream, chunk, first, size)
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
        words = keystream.words(whole_blocks, self.scratch.random)
        return words[skipped : skipped + size]

    def _words(self, round_number: int, cells: NDArray[np.int64]) -> NDArray[np.uint64]:
        return self.stream.blocks(
            lane=2 * self.number + 1, table=self.table, round_number=round_number, indices=cells
        )


class QuantileDraw(PartDraw[QuantileTable]):
    """A part whose open cells are compared with the thresholds of its law."""

    def _refined(self, cells: NDArray[np.int64], buckets: NDArray[np.uint16]) -> NDArray[np.int64]:
        return self.part.refine(
            buckets,
            self._words(0, cells)[:, 0],
            lambda i, j: int(
                self._words(j // _WORDS_PER_BLOCK, cells[i : i + 1])[0, j % _WORDS_PER_BLOCK]
            ),
        )


class BlockDraw(PartDraw[BlockTable]):
    """Noise that has a table of blocks: 16 more bits of a cell choose a value of its block."""

    def __post_init__(self) -> None:
        super().__post_init__()
        # The places in the blocks have the lane of a next part, which wide noise does not have.
        self._offset_words = self._running_words(2 * self.number + 2)
        self._offsets: list[NDArray[np.uint16]] = []

    def look_up(self, chunk: int, first: int, size: int, memory: Values) -> Values:
        """The noise of `size` cells from `first` on; see `PartDraw.look_up`."""
        values = memory[:size]
        undecided = self._choose(chunk, first, values)
        words = self._next_words(self._offset_words, chunk, first, size)
        offsets = self.scratch.shifted[:size]
        np.right_shift(words, np.uint16(BUCKET_BITS - self.part.shift), out=offsets)
        values += offsets
        values[undecided] = 0
        self._offsets.append(offsets[undecided])
        return values

    def _refined(self, cells: NDArray[np.int64], buckets: NDArray[np.uint16]) -> NDArray[np.int64]:
        offsets = np.concatenate(self._offsets)
        self._offsets.clear()
        return reject_until_accepted(
            self.part,
            buckets,
            offsets,
            lambda number, some: self._words(number, cells[some]),
        )


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
        tables = [_table(part) for part in distribution.parts()]
        # decided values are added up in the narrowest type that holds all their sums
        self._dtype: np.dtype[np.signedinteger[Any]] = narrowest_type(
            sum(table.widest for table in tables)
        )
        self._tables = [(table, Entries(table, self._dtype)) for table in tables]
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
        draws = self._draws(stream, table, aligned, scratch)
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
            scratch = self._own.scratch = Scratch(cells, self._dtype)
        return scratch

    def _draws(
        self, stream: NoiseStream, table: int, aligned: int, scratch: Scratch
    ) -> list[QuantileDraw | BlockDraw]:
        """All parts of the noise of a table, ready for its cells from `aligned` on."""
        return [
            BlockDraw(stream, table, number, aligned, part, entries, scratch)
            if isinstance(part, BlockTable)
            else QuantileDraw(stream, table, number, aligned, part, entries, scratch)
            for number, (part, entries) in enumerate(self._tables)
        ]


def _table(part: Part) -> QuantileTable | BlockTable:
    if isinstance(part.law, DiscreteGaussian) and part.law.block_bits:
        return BlockTable(part.law)
    return QuantileTable(part.law, part.step)


def work_through(
    starts: Sequence[int],
    job: Callable[[int], None],
    *,
    threads: int,
    told: Callable[[int], None] | None = None,
) -> None:
    """Call `job` for every start, on `threads` threads; the calling one is one of them.

    `told` hears in the calling thread how many jobs are done.

    Privacy: which thread does what depends on the clock; the jobs must not care.
    Ensures: when this returns or raises, no thread is at work any more, and no reference to the
    job is left in them. The first failure stops the others after their present job; it is raised
    here, without the frames of the job, which may hold what is secret.
    """
    left = iter(starts)  # handing out the next number is one step of the interpreter
    done: list[int] = []
    failures: list[BaseException] = []

    def next_jobs(told: Callable[[int], None] | None = None) -> None:
        try:
            for start in left:
                if failures:
                    return
                job(start)
                done.append(start)
                if told is not None:
                    told(len(done))
        except BaseException as error:  # raised again by the calling thread
            failures.append(error.with_traceback(None))

    others = [threading.Thread(target=next_jobs, daemon=True) for _ in range(threads - 1)]
    try:
        for thread in others:
            thread.start()
        next_jobs(told)
    except BaseException as error:  # an interrupt between two jobs, or no thread to be had
        failures.append(error)
        raise
    finally:
        for thread in others:
            while thread.ident is not None and thread.is_alive():
                try:
                    thread.join()
                except BaseException as error:  # an interrupt waits until nothing is at work
                    failures.append(error)
    if told is not None and not failures and starts:
        told(len(done))
    if failures:
        raise failures[0]
