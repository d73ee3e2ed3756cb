"""A pass: every cell of a large universe once, in blocks that stay in the processor's cache."""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from copy import copy
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from synth import progress
from synth.estimate.blocks.groups import PAIRS, CellRules, Groups, PairTables
from synth.estimate.blocks.products import product_sums
from synth.estimate.blocks.scores import (
    LARGEST_POWER,
    LOWEST,
    ROWS,
    STEP,
    NoisyCells,
    Score,
    Term,
    Tilt,
    off_grid,
    off_places,
)
from synth.estimate.posterior import CellPosterior

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Result = TypeVar("Result")

BLOCK_CELLS = 1 << 16
"""About the cells of one block. Sums are added block by block in a fixed order, so their last
digits depend on this number and on the next one, and on nothing else."""

LEAST_PARTS = 4
"""At least so many parts of a pass are there for threads to take, where there are so many rows."""

REPORTS = 100
"""About how often a pass says how far it is."""


def default_threads() -> int:
    """As many as there are processors for this process."""
    return len(os.sched_getaffinity(0))


def in_order(work: Callable[[int], Result], items: Sequence[int], threads: int) -> Iterator[Result]:
    """The results of `work` in the order of the items, computed by several threads ahead of it."""
    if len(items) == 1:  # a thread would take longer to start
        yield work(items[0])
        return
    with ThreadPoolExecutor(max(1, threads)) as pool:
        ahead: deque[Future[Result]] = deque()
        for item in items:
            ahead.append(pool.submit(work, item))
            if len(ahead) > threads + 1:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


class Cells:
    """The cells of a universe in blocks: codes of the first group by rows by all of the third.

    In a pass the rows, those of the second group, are cut into parts of about the same size, and a
    block of a part has as many codes of the first group as there is room for.
    """

    def __init__(
        self,
        groups: Groups,
        noisy: NoisyCells | None,
        rules: CellRules,
        *,
        threads: int,
        block_cells: int = BLOCK_CELLS,
    ) -> None:
        """Set up; `noisy` is None where the universe itself was not measured."""
        self.groups, self.noisy, self.rules, self.threads = groups, noisy, rules, threads
        first, second, third = groups.sizes
        parts = max(min(LEAST_PARTS, second), math.ceil(second / max(1, block_cells // third)))
        self._rows = math.ceil(second / parts)
        self._starts = range(0, second, self._rows)
        self._layers = max(1, min(first, block_cells // (self._rows * third)))
        self._runs = None if noisy is None else noisy.runs.reshape(first, second, third)

    def sums(self, terms: Sequence[Term]) -> PairTables:
        """The sums of the terms over the cells of every pair of groups.

        Ensures: the same bytes for any number of threads.
        """
        products = [term for term in terms if self._is_product(term)]
        others = [term for term in terms if not self._is_product(term)]
        found = [self._pass_over(others)] if others else []
        for term in products:
            log_mean = off_grid(term.log_mean)
            sums = product_sums(self.groups, log_mean, term.weight, threads=self.threads)
            found.append(sums if term.sign > 0 else sums.of_each(np.negative))
        total = found[0]
        for each in found[1:]:
            total = total.with_each(each, np.add)
        return total

    def _is_product(self, term: Term) -> bool:
        """Whether the values of a term are products of tables of pairs, in every cell.

        Beside noisy counts the mean is looked up like the other scores: their roundings cancel.
        """
        is_plain = term.factor is None and term.tilt is None and self.noisy is None
        has_tables = all(self.groups.is_modelled) and self.rules.all_possible
        return term.score.is_exponential and is_plain and has_tables

    def _pass_over(self, terms: Sequence[Term]) -> PairTables:
        terms = [
            term if term.weight is None else replace(term, weight=term.weight.single())
            for term in terms
        ]
        first, second, third = self.groups.sizes
        modelled = self.groups.is_modelled
        found: list[Floats | None] = [
            np.zeros((self.groups.sizes[i], self.groups.sizes[j])) if held else None
            for (i, j), held in zip(PAIRS, modelled, strict=True)
        ]

        def work(start: int) -> list[Singles | None]:
            stop = min(start + self._rows, second)
            out: list[Singles | None] = [
                np.empty((first, stop - start), np.float32) if modelled[0] else None,
                np.empty((first, third), np.float32) if modelled[1] else None,
                np.zeros((stop - start, third), np.float32) if modelled[2] else None,
            ]
            block = Block(self._layers, stop - start, third)
            for o in range(0, first, self._layers):
                if first - o < self._layers:
                    block = Block(first - o, stop - start, third)
                place = slice(o, min(o + self._layers, first)), slice(start, stop)
                value = self._values(terms, place, block)
                if out[0] is not None:
                    np.sum(value, axis=2, out=out[0][place[0]])
                if out[1] is not None:
                    np.sum(value, axis=1, out=out[1][place[0]])
                if out[2] is not None:
                    for layer in value:
                        out[2] += layer
            return out

        results = in_order(work, self._starts, self.threads)
        for start, part in zip(self._starts, results, strict=True):
            stop = min(start + self._rows, second)
            if found[0] is not None:
                found[0][:, start:stop] = part[0]
            if found[1] is not None and part[1] is not None:
                found[1] += part[1]
            if found[2] is not None:
                found[2][start:stop] = part[2]
            progress.advance(first * stop * third, first * second * third, "cells")
        self._add_large(terms, found)
        return PairTables((found[0], found[1], found[2]))

    def possible_sums(self) -> PairTables:
        """The numbers of possible cells."""
        nothing = PairTables((None, None, None))
        for pair, held in enumerate(self.groups.is_modelled):
            if held:
                i, j = PAIRS[pair]
                others = np.float64(self.groups.sizes[3 - i - j])
                table = np.full((self.groups.sizes[i], self.groups.sizes[j]), others)
                nothing = nothing.with_table(pair, table)
        if self.rules.all_possible:
            return nothing
        ones = Score(np.ones(ROWS, np.float32), by_count=False)
        return self.sums([Term(ones, nothing.of_each(np.zeros_like).single())])

    def count_sums(self, counts: NDArray[Any]) -> PairTables:
        """The sums of whole numbers, one for every cell, over the possible cells."""
        first, second, third = self.groups.sizes
        table = counts.reshape(first, second, third)
        found = [
            np.zeros((self.groups.sizes[i], self.groups.sizes[j]), np.int64) if held else None
            for (i, j), held in zip(PAIRS, self.groups.is_modelled, strict=True)
        ]
        for o in range(first):
            for start in self._starts:
                stop = min(start + self._rows, second)
                block = table[o, start:stop].astype(np.int64)
                mask = self.rules.possible_block(o, start, stop)
                if mask is not None:
                    block *= mask != 0.0
                if found[0] is not None:
                    found[0][o, start:stop] = block.sum(axis=1)
                if found[1] is not None:
                    found[1][o] += block.sum(axis=0)
                if found[2] is not None:
                    found[2][start:stop] += block
            progress.advance((o + 1) * second * third, first * second * third, "cells")
        return PairTables((found[0], found[1], found[2]))

    def learned(self, log_mean: PairTables) -> Cells:
        """The same with the mixture under which the noisy counts are likeliest.

        `log_mean` is on the grid. Without noisy counts it is the same.
        """
        if self.noisy is None or self._runs is None:
            return self
        first, second, third = self.groups.sizes
        runs, width = self._runs, self.noisy.large * ROWS

        def work(start: int) -> NDArray[np.int64]:
            stop = min(start + self._rows, second)
            found = np.zeros(width + ROWS, dtype=np.int64)
            block = Block(1, stop - start, third)
            for o in range(first):
                place = slice(o, o + 1), slice(start, stop)
                block.place(log_mean, place)
                index = block.index_by_count(runs, place)
                mask = self.rules.possible_block(o, start, stop)
                index = index.reshape(-1) if mask is None else index[0][mask != 0.0]
                found += np.bincount(index, minlength=found.size)
            return found[:width]

        number = sum(in_order(work, self._starts, self.threads), np.zeros(width, np.int64))
        places = np.unravel_index(self.noisy.large_cells, self.groups.sizes)
        large, possible = _at(log_mean, places, np.add), self.rules.possible_cells(places)
        return self.with_posterior(self.noisy.learned(number.reshape(-1, ROWS), large, possible))

    def with_posterior(self, posterior: CellPosterior) -> Cells:
        """The same with the posterior of another mixture."""
        found = copy(self)
        found.noisy = None if self.noisy is None else replace(self.noisy, posterior=posterior)
        return found

    def atoms_of(self, first_cell: int, size: int) -> NDArray[np.int64]:
        """The atoms of the cells of a block of `blocks`; -1 for impossible ones."""
        o, rest = divmod(first_cell, self.groups.sizes[1] * self.groups.sizes[2])
        start = rest // self.groups.sizes[2]
        return self.rules.atoms_of_block(o, start, start + size // self.groups.sizes[2])

    def blocks(self, terms: Sequence[Term]) -> Iterator[tuple[int, Floats]]:
        """The value of every cell, in the order of the cells, as (first cell, values) of blocks."""
        first, second, third = self.groups.sizes
        places = [(o, start) for o in range(first) for start in self._starts]
        large = self._large_values(terms)

        def work(number: int) -> tuple[int, Floats]:
            o, start = places[number]
            stop = min(start + self._rows, second)
            place = slice(o, o + 1), slice(start, stop)
            block = Block(1, stop - start, third)
            value = self._values(terms, place, block).reshape(-1).astype(np.float64)
            cell = (o * second + start) * third
            if large is not None and self.noisy is not None:
                cells = self.noisy.large_cells
                low, high = np.searchsorted(cells, (cell, cell + value.size))
                value[cells[low:high] - cell] += large[low:high]
            return cell, value

        rarely = max(1, len(places) // REPORTS)
        for number, block in enumerate(in_order(work, range(len(places)), self.threads), start=1):
            yield block
            if number % rarely == 0 or number == len(places):
                progress.advance(block[0] + block[1].size, first * second * third, "cells")

    def _values(self, terms: Sequence[Term], place: Place, block: Block) -> Singles:
        """The values of one block; in memory that the next call uses again."""
        placed: PairTables | None = None
        for number, term in enumerate(terms):
            if term.log_mean is not placed:
                placed = term.log_mean
                block.place(placed, place)
            value = block.value if number == 0 else block.other
            if term.score.is_exponential and self.noisy is None:
                block.raise_to(value)
            else:
                block.look_up(term.score, self._runs, place, value)
            if term.factor is not None:
                block.multiply(np.multiply, term.factor, place, value)
            if term.weight is not None:
                block.multiply(np.add, term.weight, place, value)
            if term.tilt is not None:
                block.tilt(term.tilt, self._runs, place, value)
            if number:
                (np.add if term.sign > 0 else np.subtract)(block.value, value, out=block.value)
            elif term.sign < 0:
                np.negative(value, out=value)
        for o, layer in zip(range(place[0].start, place[0].stop), block.value, strict=True):
            mask = self.rules.possible_block(o, place[1].start, place[1].stop)
            if mask is not None:
                layer *= mask
        return block.value

    def _large_values(self, terms: Sequence[Term]) -> Floats | None:
        """What the counts beyond the scores add to each of their cells."""
        noisy = self.noisy
        if noisy is None or not noisy.large_cells.size:
            return None
        places = np.unravel_index(noisy.large_cells, self.groups.sizes)
        total = np.zeros(noisy.large_cells.size)
        for term in terms:
            if term.score.by_count:
                log_mean = off_places(_at(term.log_mean, places, np.add))
                value = noisy.posterior.large_mean(noisy.large_counts.astype(np.float64), log_mean)
                if term.factor is not None:
                    value = value * _at(term.factor, places, np.multiply)
                if term.weight is not None:
                    value = value * _at(term.weight, places, np.add)
                if term.tilt is not None:
                    power = term.tilt.ratio_of(value) * _at(term.tilt.exponent, places, np.add)
                    value = value * np.exp(np.clip(power, -LARGEST_POWER, LARGEST_POWER))
                total += term.sign * value
        return total * self.rules.possible_cells(places)

    def _add_large(self, terms: Sequence[Term], found: list[Floats | None]) -> None:
        large = self._large_values(terms)
        if large is None or self.noisy is None:
            return
        places = np.unravel_index(self.noisy.large_cells, self.groups.sizes)
        for (i, j), table in zip(PAIRS, found, strict=True):
            if table is not None:
                np.add.at(table, (places[i], places[j]), large)


def _at(tables: PairTables, places: Sequence[NDArray[Any]], combine: Any) -> Floats:
    """The sum or product of the three tables at some cells."""
    parts = [
        table[places[i], places[j]].astype(np.float64)
        for (i, j), table in zip(PAIRS, tables.tables, strict=True)
        if table is not None
    ]
    return np.asarray(combine.reduce(parts))


# One block of the cells of a large universe: memory that is used again and again.


Place = tuple[slice, slice]
"""Where a block lies: its codes of the first group, and its rows."""


class Block:
    """Memory for one block, used again and again."""

    def __init__(self, layers: int, rows: int, columns: int) -> None:
        """Set aside memory for a block of so many codes of the first group, rows and columns."""
        shape = (layers, rows, columns)
        self.place_of = np.empty(shape, np.float32)
        self.row = np.empty(shape, np.int32)
        self.entry = np.empty(shape, np.int32)
        self.index = np.empty(shape, np.intp)
        self.value = np.empty(shape, np.float32)
        self.other = np.empty(shape, np.float32)
        self.factor = np.empty(shape, np.float32)
        self.ratio = np.empty(shape, np.float32)
        self._indexed_by_count: bool | None = None

    def place(self, log_mean: PairTables, place: Place) -> None:
        """Find the row of every cell on the grid."""
        _combine(np.add, log_mean, place, self.place_of)
        np.clip(self.place_of, 0.0, ROWS - 1.0, out=self.place_of)
        np.copyto(self.row, self.place_of, casting="unsafe")
        self._indexed_by_count = None

    def raise_to(self, out: Singles) -> None:
        """The exponential of every log mean, not of the nearest on the grid.

        Half a step of the grid is 0.8 %: too much for the few cells that hold most records.
        """
        np.multiply(self.place_of, np.float32(STEP), out=out)
        out += np.float32(LOWEST - 0.5 * STEP)
        np.exp(out, out=out)

    def look_up(self, score: Score, runs: NDArray[Any] | None, place: Place, out: Singles) -> None:
        """The score of every cell; where it is read from the table is kept for the next score."""
        by_count = score.by_count and runs is not None
        if self._indexed_by_count is not by_count:
            if by_count and runs is not None:
                self.index_by_count(runs, place)
            else:
                np.copyto(self.index, self.row)
            self._indexed_by_count = by_count
        # every index is in range; "clip" spares numpy's check, which would copy
        np.take(score.values, self.index, out=out, mode="clip")

    def index_by_count(self, runs: NDArray[Any], place: Place) -> NDArray[np.intp]:
        """Find where in the table of a score by noisy counts every cell is."""
        np.multiply(runs[place], np.int32(ROWS), out=self.entry, casting="unsafe")
        self.entry += self.row
        np.copyto(self.index, self.entry)
        return self.index

    def multiply(self, combine: Any, factor: PairTables, place: Place, out: Singles) -> None:
        """Multiply by the sum, or the product, of the tables at every cell."""
        _combine(combine, factor, place, self.factor)
        out *= self.factor

    def tilt(self, tilt: Tilt, runs: NDArray[Any] | None, place: Place, out: Singles) -> None:
        """Multiply by the factor of a tilt."""
        _combine(np.add, tilt.exponent, place, self.factor)
        if tilt.ratio is not None:
            self.look_up(tilt.ratio, runs, place, self.ratio)
            self.factor *= self.ratio
        np.clip(self.factor, -LARGEST_POWER, LARGEST_POWER, out=self.factor)
        np.exp(self.factor, out=self.factor)
        out *= self.factor


def _combine(combine: Any, tables: PairTables, place: Place, out: Singles) -> None:
    """The sum or product of the tables of one block."""
    first, second, third = tables.tables
    left = None if first is None else first[place][:, :, None]
    middle = None if second is None else second[place[0], None, :]
    right = None if third is None else third[None, place[1]]
    parts = [part for part in (right, left, middle) if part is not None]
    if len(parts) == 1:
        np.copyto(out, parts[0])
        return
    combine(parts[0], parts[1], out=out)
    for part in parts[2:]:
        combine(out, part, out=out)
