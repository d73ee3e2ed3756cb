"""Made-up tables, and the same as lists of records for slow definitions."""

import numpy as np

from synth.domain import Attribute, Universe
from synth.evaluation.comparisons import Table


def universe(*sizes):
    return Universe(
        tuple(
            Attribute(f"c{n}", "categorical", levels=tuple(f"l{i}" for i in range(size)))
            for n, size in enumerate(sizes)
        )
    )


def table(over, records):
    """The table of a list of records, each a tuple of codes."""
    cells = sorted(set(records))
    codes = np.array(cells, dtype=np.int64).reshape(len(cells), len(over.shape))
    counts = np.array([records.count(cell) for cell in cells], dtype=np.int64)
    return Table(over, tuple(codes.T), counts)


def made_up(over, number, seed):
    """Records in which neighbouring columns go together."""
    generator = np.random.default_rng(seed)
    rows = []
    for _ in range(number):
        first = int(generator.integers(10**6))
        rows.append(tuple((first >> generator.integers(2)) % size for size in over.shape))
    return [tuple(map(int, row)) for row in rows]
