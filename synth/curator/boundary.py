"""The noise boundary: the only places where secret counts become something publishable.

`measure_table` adds noise to every count of a table, `measure_look` to a profile of how records
gather, before the tables are planned; `measure_list` lists the heavy cells of a
universe too large to hold; `choose_table` lets counts decide, with noise, which table is measured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from synth import progress
from synth.curator.counting.tabulate import FilledCells, Held
from synth.curator.seal import Sensitive
from synth.domain import Universe
from synth.domain.counts import cell_order, cell_words, is_possible, word_axes
from synth.errors import BugError
from synth.measurements import MeasuredLook, MeasuredTable
from synth.noise import (
    DiscreteGaussian,
    DiscreteLaplace,
    NoiseStream,
    TableSampler,
    keeps_its_delta,
    noise_law,
    noise_variance,
    permute_and_flip,
)
from synth.noise.stream import TABLES
from synth.noise.survivors import (
    cells_of_ranks,
    stream_table,
    surviving_ranks,
    surviving_values,
)
from synth.planning.rounds import Candidate, Round
from synth.privacy import LookEvent, TableEvent
from synth.privacy.accounting import PARTITION_SELECTION

Law = DiscreteLaplace | DiscreteGaussian
LOOK_NUMBER = TABLES - 1
"""The table of the stream that the noise of a look has: no measured table, nor a use of one, has
so high a number (`survivors.stream_table`)."""
_samplers: WeakKeyDictionary[NoiseStream, dict[Law, TableSampler]] = WeakKeyDictionary()


def measure_table(
    sensitive_counts: Sensitive[NDArray[np.int64]],
    event: TableEvent,
    *,
    number: int,
    stream: NoiseStream,
) -> MeasuredTable:
    """Add exact whole-number noise to every count of one table.

    Privacy: with `discrete-laplace`, pure `event.epsilon`-DP for neighbours whose counts differ
    by at most `event.sensitivity_l1` in L1 norm: with alpha >= exp(-epsilon / sensitivity), the
    probability of any output changes by a factor of at most alpha ** -sensitivity (Ghosh,
    Roughgarden, Sundararajan 2009). With `discrete-gaussian`, `event.rho`-zCDP for neighbours
    whose counts differ by at most `event.sensitivity_l2_squared` in squared L2 norm, because
    sigma^2 = sensitivity_l2_squared / (2 rho) (Canonne, Kamath, Steinke 2020). Whole-number
    arithmetic throughout.

    Requires: `number` is used once per stream.
    Ensures: the counts are overwritten, block by block on all processors; beside them memory is
    a few MB. The noisy counts do not depend on the number of threads.
    Shapes and units: int64 counts of records, one per cell of the table, every cell noised; the
    result lies where they lay.
    Raises: BugError, before a count is looked at, for counts that do not fit the table.
    """
    sampler, variance = _sampler(stream, noise_law(event)), noise_variance(event)
    counts = sensitive_counts.consume()
    if counts.dtype != np.int64 or counts.shape != (event.cells,):
        raise BugError("counts must be whole numbers, one per cell of the table")
    sampler.add_to(
        counts,
        stream,
        table=number,
        told=lambda done: progress.advance(done, event.cells, "cells"),
    )
    return MeasuredTable(event, counts, variance)


def measure_look(
    sensitive_counts: Sensitive[NDArray[np.int64]], event: LookEvent, *, stream: NoiseStream
) -> MeasuredLook:
    """Add exact whole-number noise to every count of a look.

    Privacy: that of `measure_table`, pure `event.epsilon`-DP, because a unit changes the counts
    by at most `event.sensitivity_l1` in L1 norm (`counting.look.looked_at`).
    Requires: once per stream.
    Shapes and units: int64 numbers of records, `event.counts` of them; they are overwritten.
    """
    noisy = measure_table(sensitive_counts, event.as_table, number=LOOK_NUMBER, stream=stream)
    return MeasuredLook(event, tuple(map(int, noisy.noisy_counts)), noisy.variance)


def _sampler(stream: NoiseStream, law: Law) -> TableSampler:
    """The sampler of a law; tables of one stream that have the same law share it."""
    samplers = _samplers.setdefault(stream, {})
    if law not in samplers:
        samplers[law] = TableSampler(law)
    return samplers[law]


def measure_list(
    sensitive_cells: Sensitive[Held],
    event: TableEvent,
    universe: Universe,
    *,
    number: int,
    stream: NoiseStream,
) -> MeasuredTable:
    """List the cells of the universe whose noisy count reaches the threshold.

    Privacy: with `discrete-laplace`, the result is a function (dropping what is below the
    threshold, and the cells that are impossible by public rules) of the counts of all cells with
    exact noise, so it is pure `event.epsilon`-DP as `boundary.measure_table` is. With
    `partition-selection` no empty cell is listed, and it is (`event.epsilon`, `event.delta`)-DP
    by the proof in `synth.noise.mechanism`. The noise of a filled cell belongs to its
    place among the filled cells, not to its number: every cell has its own, and no number that
    is published tells how many there are.

    Requires: `number` is used once per stream.
    Ensures: rows ascend by cell number; all are possible cells, each once.
    Raises: BugError for an event without a threshold, of another table, or with a threshold too
    low for its delta, and for counts of all cells.
    """
    law, threshold = noise_law(event), event.threshold
    if threshold is None or not isinstance(law, DiscreteLaplace):
        raise BugError("a list of cells needs a threshold and Laplace noise")
    if event.table != universe.names or any(event.coarsening) or event.cells != universe.size:
        raise BugError("only cells of the whole universe are listed")
    if not keeps_its_delta(event):
        raise BugError("a threshold is too low for its delta")
    cells = sensitive_cells.consume()
    if not isinstance(cells, FilledCells):
        raise BugError("cells are listed among those that are filled")
    noisy = TableSampler(law).draw(
        stream, table=stream_table(number, 0), start=0, count=len(cells.counts)
    )
    noisy += cells.counts
    heavy = noisy >= threshold
    columns, values = [column[heavy] for column in cells.columns], noisy[heavy]
    if event.mechanism != PARTITION_SELECTION:
        filled = _CellNumbers(cells.columns, universe)
        ranks = surviving_ranks(
            law,
            threshold=threshold,
            empty_cells=universe.size - len(filled),
            stream=stream,
            number=number,
        )
        false = surviving_values(
            law, threshold=threshold, count=len(ranks), stream=stream, number=number
        )
        codes = _codes(cells_of_ranks(ranks, filled), universe)
        columns = [np.concatenate(pair) for pair in zip(columns, codes, strict=True)]
        values = np.concatenate([values, false])
    wide = [np.asarray(column, dtype=np.int64) for column in columns]
    possible = is_possible(wide, universe)
    order = cell_order(cell_words(wide, universe.shape))
    order = order[possible[order]]
    listed = np.stack([column[order] for column in wide], axis=1)
    return MeasuredTable(event, values[order], noise_variance(event), listed)


class _CellNumbers:
    """The numbers of cells, as Python ints in an object array; made for those asked for."""

    def __init__(self, columns: Sequence[NDArray[Any]], universe: Universe) -> None:
        shape = universe.shape
        self._words = cell_words(columns, shape)
        self._sizes = [math.prod(shape[first:end]) for first, end in word_axes(shape)]

    def __len__(self) -> int:
        return len(self._words[0])

    def __getitem__(self, places: NDArray[np.int64], /) -> NDArray[Any]:
        numbers = np.zeros(len(places), dtype=object)
        for word, size in zip(self._words, self._sizes, strict=True):
            numbers *= size
            numbers += word[places].astype(object)
        return numbers


def _codes(numbers: NDArray[Any], universe: Universe) -> list[NDArray[np.int64]]:
    """The code of every attribute, of cells given by their numbers."""
    return [
        ((numbers // stride) % size).astype("int64")
        for stride, size in zip(universe.strides, universe.shape, strict=True)
    ]


MOST_RECORDS = 1 << 40
"""A cell of a guess counts as no more: so sums over all cells stay whole 64-bit numbers."""


def choose_table(
    sensitive_tables: Mapping[int, NDArray[np.int64]],
    guesses: Mapping[int, NDArray[np.int64]],
    candidates: Mapping[int, Candidate],
    spending: Round,
    *,
    number: int,
    stream: NoiseStream,
) -> int:
    """The number of a candidate that the public guess is probably wrong about.

    The score of candidate r is weight_r * (|x_r - g_r| - e_r): x_r its secret counts, g_r what
    the guess says, |.| the sum of the absolute differences, e_r the error that its own noise
    would have (McKenna, Mullins, Sheldon, Miklau 2022, section 3, with whole numbers).

    Privacy: pure `spending.selection.epsilon`-DP. Between neighbours the counts of every table
    differ by at most S = `sensitivity_l1` in L1 norm, so by the triangle inequality |x_r - g_r|
    differs by at most S; weight, g_r and e_r are public. So every score differs by at most S
    times the largest weight, the sensitivity that the mechanism is given (McKenna, Sheldon 2020).
    Requires: guesses and candidates are functions of the configuration and of earlier noisy
    tables; `number` is used once per stream; all three mappings have the same keys.
    Shapes and units: int64 counts of records, one per cell of the candidate.
    """
    keys = sorted(candidates)
    if sorted(sensitive_tables) != keys or sorted(guesses) != keys:
        raise BugError("the candidates of a choice are not those that were counted")
    if spending.selection.candidates != len(keys):
        raise BugError("a choice has another number of candidates than it was planned for")
    scores = [
        candidates[key].weight
        * (_distance(sensitive_tables[key], guesses[key]) - spending.expected_l1(candidates[key]))
        for key in keys
    ]
    largest = max(candidates[key].weight for key in keys)
    chosen = permute_and_flip(
        scores,
        epsilon=spending.selection.epsilon,
        sensitivity=Fraction(largest * spending.table.sensitivity_l1),
        stream=stream,
        number=number,
    )
    return keys[chosen]


def whole_guess(estimated: NDArray[np.float64]) -> NDArray[np.int64]:
    """The nearest whole counts, from 0 to `MOST_RECORDS`; what is no number counts as 0."""
    bounded = np.clip(np.nan_to_num(estimated, nan=0.0), 0, MOST_RECORDS)
    return np.rint(bounded).astype(np.int64)


def _distance(sensitive_counts: NDArray[np.int64], guess: NDArray[np.int64]) -> int:
    """The sum of the absolute differences, in whole records."""
    if sensitive_counts.dtype != np.int64 or guess.dtype != np.int64:
        raise BugError("the counts of a choice must be whole numbers")
    if sensitive_counts.shape != guess.shape:
        raise BugError("a guess has another number of cells than its table")
    return int(np.abs(sensitive_counts - guess).sum())
