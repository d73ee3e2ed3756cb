"""Working memory of one thread."""

from __future__ import annotations

from typing import Any

import numpy as np

from synth.noise.stream import WordMemory

CHUNK_CELLS = 1 << 16
"""Cells worked on at once: the words, indices and values of a chunk stay in the cache."""


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
