"""Counting and noise by a peer, alone in its process: from a Parquet file to noisy counts.

    python scale_peers.py opendp|diffprivlib rows.parquet COLUMNS LEVELS

`opendp`: the rows are counted with numpy (cell numbers and one bincount over the universe), which
is not its part; then its discrete Laplace mechanism of scale 1 is applied to the vector of whole
numbers (sensitivity 1, epsilon 1). `diffprivlib`: its own `histogramdd`, bins and range given,
epsilon 1, geometric noise. Both have a histogram with noise on every cell of the universe in
memory at the end, as `synth measure` has in a file.
"""

from __future__ import annotations

import sys
from functools import reduce

import numpy as np
import pyarrow.parquet as pq


def by_opendp(table, levels):
    """The noisy counts as a list of whole numbers."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    cells = reduce(lambda number, column: number * levels + column.to_numpy(), table.columns, 0)
    counts = np.bincount(cells, minlength=levels ** len(table.columns))
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    return dp.m.make_laplace(*space, scale=1.0)(counts)


def by_diffprivlib(table, levels):
    """The noisy counts as an array."""
    from diffprivlib.tools import histogramdd

    sample = np.column_stack([column.to_numpy() for column in table.columns])
    limits = [(-0.5, levels - 0.5)] * sample.shape[1]
    noisy, _ = histogramdd(sample, epsilon=1.0, bins=[levels] * sample.shape[1], range=limits)
    return noisy.ravel()


if __name__ == "__main__":
    peer, path, columns, levels = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    count = {"opendp": by_opendp, "diffprivlib": by_diffprivlib}[peer]
    noisy_counts = count(pq.read_table(path), levels)
    if len(noisy_counts) != levels**columns:
        raise SystemExit("the histogram has another number of cells")
