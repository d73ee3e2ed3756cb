"""Residuals that are never held, against plain subtraction."""

from itertools import combinations

import numpy as np
import pytest

from synth.domain.sparse_counts import SparseCounts
from synth.release.manifest import large_residuals
from synth.release.manifest.large_residuals import (
    large_marginal_residuals,
    large_root_mean_square,
)
from synth.release.manifest.residuals import marginal_residuals, root_mean_square

SHAPE = (3, 4, 2, 5)
MARGINALS = [axes for order in range(5) for axes in combinations(range(4), order)]


def tables(seed, kind, largest):
    generator = np.random.default_rng(seed)
    noisy = generator.integers(-20, 20, size=120).astype(kind)
    noisy[7] = largest
    counts = np.where(generator.random(120) < 0.3, generator.integers(1, 9, size=120), 0)
    cells = np.flatnonzero(counts)
    columns = tuple(code.astype(np.uint8) for code in np.unravel_index(cells, SHAPE))
    return noisy, counts, SparseCounts(columns, counts[cells])


@pytest.mark.parametrize(("kind", "largest"), [(np.int8, 127), (np.int32, -(2**30))])
@pytest.mark.parametrize("block_cells", [1, 9, 41, 1 << 20])
def test_the_figures_are_those_of_the_difference(monkeypatch, kind, largest, block_cells):
    monkeypatch.setattr(large_residuals, "BLOCK_CELLS", block_cells)
    noisy, counts, sparse = tables(3, kind, largest)
    residuals = counts - noisy.astype(np.int64)
    assert large_root_mean_square(sparse, noisy, SHAPE) == root_mean_square(residuals)
    found = large_marginal_residuals(sparse, noisy, SHAPE, MARGINALS)
    assert found == marginal_residuals(residuals, SHAPE, MARGINALS)
