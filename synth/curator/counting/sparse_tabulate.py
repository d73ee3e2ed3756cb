"""The secret counts of a universe that is too large to hold: its filled cells, and sums of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synth.config import Config, SourceConfig
from synth.curator.counting.tabulate import counted_cells
from synth.curator.sensitive import Sensitive
from synth.domain import Margin, Universe
from synth.domain.cell_words import code_type
from synth.domain.counts import margin_cells

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class FilledCells:
    """All cells that hold records. Secret.

    Shapes and units: `columns[j]` holds the code of attribute j of every cell; cells ascend by
    number, each once; `counts` is int64, records, at least 1.
    """

    columns: tuple[NDArray[Any], ...]
    counts: NDArray[np.int64]


def filled_cells(
    config: Config, source: SourceConfig, files: Sequence[Path], scratch: Path
) -> Sensitive[FilledCells]:
    """Count the records of every cell that has any; nothing has the size of the universe.

    Privacy: exact counts; secret, and so is the number of filled cells. Contributions are bounded
    first when the unit is a person.
    """
    import numpy as np

    kind = code_type(config.universe.shape)
    columns: list[list[NDArray[Any]]] = [[np.empty(0, kind)] for _ in config.universe.names]
    counts = [np.empty(0, dtype=np.int64)]
    with counted_cells(config, source, files, scratch) as blocks:
        for block in blocks.consume():
            for column, codes in zip(columns, block.codes, strict=True):
                column.append(codes.astype(kind))
            counts.append(np.asarray(block.counts, dtype=np.int64))
    return Sensitive(FilledCells(tuple(map(np.concatenate, columns)), np.concatenate(counts)))


def margin_counts_of_cells(
    cells: FilledCells, margins: Sequence[Margin], universe: Universe
) -> Iterator[tuple[int, Sensitive[NDArray[np.int64]]]]:
    """The number of every margin but the universe, with its counts, still secret.

    Privacy: exact counts; secret. A record is in one cell, and that belongs to one cell of every
    margin: so a record adds 1 to exactly one cell of each.
    Shapes and units: int64, flat in C order over the margin, in records.
    """
    import numpy as np

    full = Margin(universe.names, (0,) * len(universe.names))
    for number, margin in enumerate(margins):
        if margin != full:
            sums = np.zeros(margin.cells(universe), dtype=np.int64)
            np.add.at(sums, margin_cells(cells.columns, universe, margin), cells.counts)
            yield number, Sensitive(sums)
