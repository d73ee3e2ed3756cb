"""The noise boundary of a universe too large to hold: heavy cells are listed, the others are not.

What is listed has exactly the law of noise on every cell followed by the threshold: filled cells
are visited one by one, empty ones through the gaps between those that survive
(`synth.noise.survivors`). Which of the listed cells were filled is not told, neither by a flag nor
by the order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from synth.curator.counting.sparse_tabulate import FilledCells
from synth.curator.sensitive import Sensitive
from synth.domain import Universe
from synth.domain.cell_words import cell_order, cell_words, word_axes
from synth.domain.counts import is_possible
from synth.errors import BugError
from synth.measurements import MeasuredTable
from synth.noise import (
    DiscreteLaplace,
    NoiseStream,
    TableSampler,
    keeps_its_delta,
    noise_law,
    noise_variance,
)
from synth.noise.survivors import (
    cells_of_ranks,
    stream_table,
    surviving_ranks,
    surviving_values,
)
from synth.privacy import TableEvent
from synth.privacy.accounting import PARTITION_SELECTION

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def measure_list(
    sensitive_cells: Sensitive[FilledCells],
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
    by the proof in `synth.noise.partition_selection`. The noise of a filled cell belongs to its
    place among the filled cells, not to its number: every cell has its own, and no number that
    is published tells how many there are.

    Requires: `number` is used once per stream.
    Ensures: rows ascend by cell number; all are possible cells, each once.
    Raises: BugError for an event without a threshold, of another table, or with a threshold too
    low for its delta.
    """
    import numpy as np

    law, threshold = noise_law(event), event.threshold
    if threshold is None or not isinstance(law, DiscreteLaplace):
        raise BugError("a list of cells needs a threshold and Laplace noise")
    if event.table != universe.names or any(event.coarsening) or event.cells != universe.size:
        raise BugError("only cells of the whole universe are listed")
    if not keeps_its_delta(event):
        raise BugError("a threshold is too low for its delta")
    cells = sensitive_cells.consume()
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
        import numpy as np

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
