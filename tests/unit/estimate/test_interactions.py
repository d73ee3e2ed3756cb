"""The basis of interactions against explicit Kronecker products and plain sums."""

from functools import reduce
from itertools import combinations

import numpy as np
import pytest
from scipy.linalg import helmert

from synth.estimate.interactions import Interactions

SHAPES = [(1,), (5,), (2, 3), (3, 1, 4), (2, 2, 2, 2), (4, 3, 2, 2)]


def basis(shape: tuple[int, ...]) -> np.ndarray:
    return reduce(np.kron, [helmert(n, full=True) if n > 1 else np.ones((1, 1)) for n in shape])


@pytest.mark.parametrize("shape", SHAPES)
def test_transforms_are_the_kronecker_product_of_helmert_bases(shape: tuple[int, ...]) -> None:
    interactions = Interactions(shape)
    cells = np.random.default_rng(1).normal(size=interactions.size)
    explicit = basis(shape)
    signs = np.sign((explicit @ cells) * interactions.forward(cells))
    assert np.allclose(np.abs(explicit @ cells), np.abs(interactions.forward(cells)))
    assert set(signs) <= {-1.0, 1.0}
    assert np.allclose(interactions.inverse(interactions.forward(cells)), cells)
    assert np.allclose(interactions.forward(interactions.inverse(cells)), cells)
    assert np.allclose(explicit**2 @ np.abs(cells), interactions.squares(np.abs(cells)))


def test_a_coefficient_belongs_to_the_attributes_that_it_varies_with() -> None:
    shape = (3, 2, 4)
    interactions = Interactions(shape)
    for number in range(interactions.size):
        unit = np.zeros(interactions.size)
        unit[number] = 1.0
        function = interactions.inverse(unit).reshape(shape)
        varies = [bool(np.ptp(function, axis=axis).max() > 1e-12) for axis in range(3)]
        subset = sum(1 << axis for axis in range(3) if varies[axis])
        assert interactions.component[number] == subset
        assert interactions.order[number] == sum(varies)


def test_dimensions_count_the_coefficients_of_each_set() -> None:
    interactions = Interactions((3, 2, 4, 1))
    sets, counts = np.unique(interactions.component, return_counts=True)
    assert [interactions.dimension(int(s)) for s in sets] == counts.tolist()


@pytest.mark.parametrize("shape", [(3, 2, 4), (2, 1, 3, 2), (5,)])
def test_tables_are_all_the_sums_over_few_attributes(shape: tuple[int, ...]) -> None:
    cells = np.random.default_rng(2).normal(size=shape)
    found = dict(Interactions(shape).tables(cells.reshape(-1), 2))
    wide = [axis for axis, size in enumerate(shape) if size > 1]
    wanted = {}
    for order in (1, 2):
        for chosen in combinations(wide, order):
            rest = tuple(axis for axis in range(len(shape)) if axis not in chosen)
            wanted[sum(1 << axis for axis in chosen)] = cells.sum(axis=rest).reshape(-1)
    assert found.keys() == wanted.keys()
    for subset, table in wanted.items():
        assert np.allclose(found[subset], table)
