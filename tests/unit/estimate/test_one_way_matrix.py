"""Division by the matrix of single attributes against the explicit matrix."""

import math

import numpy as np
import pytest

from synth.estimate.axis_basis import AxisBasis
from synth.estimate.interactions import Interactions
from synth.estimate.one_way_matrix import Singles

SHAPE = (4, 1, 6)


def one_way(interactions: Interactions) -> np.ndarray:
    return np.flatnonzero(interactions.order <= 1)


@pytest.mark.parametrize("heavy", [1.0, 1e4])
def test_it_is_the_inverse_where_weights_are_independent(heavy: float) -> None:
    generator = np.random.default_rng(1)
    interactions = Interactions(SHAPE)
    places = one_way(interactions)
    first, second = generator.gamma(1.0, size=4), generator.gamma(1.0, size=6)
    first[2] *= heavy
    weights = np.multiply.outer(first, second)
    functions = np.array([interactions.forward(cell)[places] for cell in np.eye(24)])
    component = interactions.component[places]
    added = np.choose(np.searchsorted(np.unique(component), component), [0.5, 2.0, 3.0])
    matrix = functions.T @ (weights.reshape(-1, 1) * functions) + np.diag(added)
    singles = Singles.of([(interactions, places, (5, 6, 7))])
    assert singles is not None
    assert [each.axis for each in singles.axes] == [5, 7]
    vector = generator.normal(size=places.size)
    sums = [weights.sum(axis=1), weights.sum(axis=0)]
    found = singles.divider(sums, added)(vector)
    assert matrix @ found == pytest.approx(vector, rel=1e-6, abs=1e-6)
    unit = 1.0 / np.sqrt(added)
    scaled = unit[:, None] * matrix * unit
    assert scaled @ singles.divider_in_units(sums, unit)(vector) == pytest.approx(vector, abs=1e-6)


def test_parts_one_after_another_are_one_matrix() -> None:
    """Functions that are constant along other attributes, as tables of pairs have them."""
    generator = np.random.default_rng(2)
    left, right = Interactions((4,)), Interactions((6,))
    both = [(left, np.arange(4), (0,)), (right, np.arange(1, 6), (1,))]
    singles = Singles.of(both)
    assert singles is not None
    first, second = generator.gamma(1.0, size=4), generator.gamma(1.0, size=6)
    weights = np.multiply.outer(first, second).reshape(-1)
    a = np.array([left.forward(code) for code in np.eye(4)])
    b = np.array([right.forward(code)[1:] for code in np.eye(6)])
    functions = np.concatenate([np.repeat(a, 6, axis=0), np.tile(b, (4, 1))], axis=1)
    added = np.array([0.1, *[0.7] * 3, *[0.2] * 5])
    matrix = functions.T @ (weights[:, None] * functions) + np.diag(added)
    sums = [first * second.sum(), second * first.sum()]
    vector = generator.normal(size=9)
    assert matrix @ singles.divider(sums, added)(vector) == pytest.approx(vector, abs=1e-8)


def test_it_stays_positive_where_weights_are_not_independent() -> None:
    generator = np.random.default_rng(3)
    interactions = Interactions(SHAPE)
    places = one_way(interactions)
    singles = Singles.of([(interactions, places, range(3))])
    assert singles is not None
    weights = np.zeros((4, 6))
    weights[1, 2], weights[3, 0] = 1e6, 10.0
    divide = singles.divider([weights.sum(axis=1), weights.sum(axis=0)], np.full(9, 1e-3))
    for vector in generator.normal(size=(50, 9)):
        assert float((vector * divide(vector)).sum()) > 0.0
    # sums of one attribute may be better known than those of another
    divide = singles.divider([2.0 * weights.sum(axis=1), weights.sum(axis=0)], np.full(9, 1e-3))
    for vector in generator.normal(size=(50, 9)):
        assert float((vector * divide(vector)).sum()) > 0.0


def test_other_coefficients_are_left_alone() -> None:
    interactions = Interactions(SHAPE)
    assert Singles.of([(interactions, np.arange(24), range(3))]) is None
    assert Singles.of([(interactions, one_way(interactions)[1:], range(3))]) is None
    grouped = Interactions((4,), [AxisBasis(4, ((0, 0, 1, 1),))])
    assert Singles.of([(grouped, np.arange(4), (0,))]) is None
    assert math.prod(grouped.shape) == 4
