"""Residuals that are subtracted block by block, against plain subtraction."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from synth.domain import Attribute, HierarchyLevel, Margin, Universe
from synth.domain.counts import Counts
from synth.measurements import MeasuredTable
from synth.privacy import TableEvent
from synth.release.manifest import figures
from synth.release.manifest.figures import Residuals

SHAPE = (3, 4, 2, 5)
HALVES = (HierarchyLevel("half", (0, 0, 1, 1), ("low", "high")),)
UNIVERSE = Universe(
    tuple(
        Attribute(
            name,
            "categorical",
            tuple(map(str, range(size))),
            hierarchy=HALVES if size == 4 else (),
        )
        for name, size in zip("abcd", SHAPE, strict=True)
    )
)


def made_up(seed, names, steps, kind=np.int64, largest=50, codes=None):
    """A noisy table, the published counts, and the noisy ones less the published of its cells."""
    generator = np.random.default_rng(seed)
    margin = Margin(names, steps)
    counts = np.where(generator.random(120) < 0.3, generator.integers(1, 9, size=120), 0)
    published = margin.sums(UNIVERSE, counts) if codes is None else counts[codes]
    noisy = generator.integers(-20, 20, size=published.size).astype(kind)
    noisy[-1] = largest
    event = TableEvent(names, margin.cells(UNIVERSE), 1, Fraction(1), coarsening=steps)
    listed = None if codes is None else np.stack(np.unravel_index(codes, SHAPE), axis=1)
    table = MeasuredTable(event, noisy, 1.0, listed)
    found = Residuals.of(table, margin, Counts.of_all(counts, SHAPE), UNIVERSE)
    return found, published - noisy.astype(np.int64)


def slow(differences):
    return math.sqrt(sum(int(each) ** 2 for each in differences.ravel()) / differences.size)


@pytest.mark.parametrize(("kind", "largest"), [(np.int8, 127), (np.int64, -(2**40))])
@pytest.mark.parametrize("block_cells", [1, 9, 41, 1 << 20])
@pytest.mark.parametrize(
    ("names", "steps"), [(tuple("abcd"), (0,) * 4), (tuple("abd"), (0,) * 3), (tuple("ab"), (0, 1))]
)
def test_the_figures_are_those_of_the_difference(
    monkeypatch, kind, largest, block_cells, names, steps
):
    monkeypatch.setattr(figures, "BLOCK_CELLS", block_cells)
    monkeypatch.setattr("synth.domain.universe.BLOCK_CELLS", block_cells)
    found, differences = made_up(3, names, steps, kind, largest)
    assert found.root_mean_square() == slow(differences)
    table = differences.reshape(found.shape)
    axes = range(len(names))
    marginals = [kept for order in range(len(names) + 1) for kept in combinations(axes, order)]
    for kept, figure in zip(marginals, found.of_marginals(marginals), strict=True):
        assert figure == slow(table.sum(axis=tuple(set(axes) - set(kept))))


def test_of_a_list_only_listed_cells_count():
    found, differences = made_up(4, tuple("abcd"), (0,) * 4, codes=np.array([2, 30, 31, 119]))
    assert found.root_mean_square() == slow(differences)


def test_a_list_without_cells_has_no_residuals():
    found, _ = made_up(4, tuple("abcd"), (0,) * 4, codes=np.array([5]))
    none = np.zeros(0, dtype=np.int64)
    assert Residuals(none, found.shape, none, none).root_mean_square() == 0.0
