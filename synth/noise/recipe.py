"""How the noise of one law is put together: the tables of its parts, and their working memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from synth.noise.block_draw import BlockDraw
from synth.noise.block_table import BlockTable
from synth.noise.discrete_gaussian import DiscreteGaussian
from synth.noise.law import Distribution, Part
from synth.noise.part_draw import Entries, PartDraw
from synth.noise.quantile_draw import QuantileDraw
from synth.noise.quantile_table import QuantileTable, narrowest_type
from synth.noise.scratch import Scratch
from synth.noise.stream import NoiseStream


class Recipe:
    """The tables of a distribution, with entries in one type that holds all sums of them."""

    def __init__(self, distribution: Distribution) -> None:
        """Tabulate every part."""
        tables = [_table(part) for part in distribution.parts()]
        # decided values are added up in the narrowest type that holds all their sums
        self.dtype: np.dtype[np.signedinteger[Any]] = narrowest_type(
            sum(table.widest for table in tables)
        )
        self._tables = [(table, Entries(table, self.dtype)) for table in tables]

    def draws(
        self, stream: NoiseStream, table: int, aligned: int, scratch: Scratch
    ) -> list[PartDraw]:
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
