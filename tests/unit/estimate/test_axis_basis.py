"""The basis of one attribute against its definition, written out function by function."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from synth.estimate.axis_basis import AxisBasis

Levels = tuple[tuple[int, ...], ...]
Explicit = Callable[..., tuple[NDArray[np.float64], list[int]]]

CASES: list[tuple[int, Levels]] = [
    (1, ()),
    (2, ()),
    (6, ()),
    (4, ((0, 0, 1, 1),)),
    (8, ((0, 0, 0, 0, 1, 1, 1, 1), (0, 0, 1, 1, 2, 2, 3, 3))),
    # unequal groups, and a group that is not split further
    (7, ((0, 0, 0, 0, 0, 1, 1), (0, 0, 1, 1, 1, 2, 3))),
    # groups of codes that do not lie together
    (6, ((0, 1, 0, 2, 1, 0),)),
    # a level that says nothing, and one that says everything
    (3, ((0, 0, 0),)),
    (3, ((0, 1, 2),)),
]


@pytest.mark.parametrize(("size", "levels"), CASES)
def test_functions_are_those_of_the_definition(
    size: int, levels: Levels, explicit_axis: Explicit
) -> None:
    wanted, resolutions = explicit_axis(size, levels)
    basis = AxisBasis(size, levels)
    functions = basis.inverse(np.eye(size)).T
    assert np.allclose(functions, wanted)
    assert np.allclose(functions @ functions.T, np.eye(size))
    assert basis.level.tolist() == resolutions
    assert basis.depth == (len(levels) + 1 if size > 1 else 0)
    assert basis.is_flat == (not levels)


@pytest.mark.parametrize(("size", "levels"), CASES)
def test_forward_is_the_transpose_of_inverse(
    size: int, levels: Levels, explicit_axis: Explicit
) -> None:
    wanted, _ = explicit_axis(size, levels)
    basis = AxisBasis(size, levels)
    table = np.random.default_rng(1).normal(size=(size, 3))
    assert np.allclose(basis.forward(table, basis.depth), wanted @ table)
    assert np.allclose(basis.inverse(table), wanted.T @ table)
    weights = np.abs(table)
    assert np.allclose(basis.squares(weights, basis.depth), wanted**2 @ weights)


@pytest.mark.parametrize(("size", "levels"), CASES)
def test_a_resolution_needs_the_sums_of_its_groups_alone(
    size: int, levels: Levels, explicit_axis: Explicit
) -> None:
    wanted, _ = explicit_axis(size, levels)
    basis = AxisBasis(size, levels)
    codes = np.random.default_rng(2).normal(size=size)
    for resolution in range(basis.depth + 1):
        groups = basis.groups[resolution]
        count = basis.group_count(resolution)
        assert count == groups.max() + 1
        functions = wanted[:count]
        of_group = np.array([functions[:, groups == g][:, 0] for g in range(count)]).T
        assert np.allclose(of_group[:, groups], functions)
        sums = np.bincount(groups, weights=codes)
        assert np.allclose(basis.forward(sums, resolution), functions @ codes)
        square_sums = np.bincount(groups, weights=codes**2)
        assert np.allclose(basis.squares(square_sums, resolution), functions**2 @ codes**2)
        assert np.allclose(basis.squares(np.ones(count), resolution), (of_group**2).sum(axis=1))


def test_forward_leaves_its_argument_alone() -> None:
    basis = AxisBasis(4, ((0, 0, 1, 1),))
    table = np.arange(8.0).reshape(4, 2)
    basis.forward(table, 2)
    basis.squares(table, 2)
    basis.inverse(table)
    assert np.array_equal(table, np.arange(8.0).reshape(4, 2))
