"""One-way sums against plain sums over the other axes."""

from functools import reduce

import numpy as np
import pytest

from synth.estimate.sums import added_up, one_way_sums

SHAPES = [(1,), (6,), (2, 3), (4, 1, 3), (2, 2, 2, 2, 3), (3, 2, 1, 4)]


@pytest.mark.parametrize("shape", SHAPES)
def test_sums_are_those_over_all_other_axes(shape: tuple[int, ...]) -> None:
    table = np.random.default_rng(1).normal(size=shape)
    found = one_way_sums(table.reshape(-1), shape)
    assert len(found) == len(shape)
    for axis, sums in enumerate(found):
        rest = tuple(other for other in range(len(shape)) if other != axis)
        assert np.allclose(sums, table.sum(axis=rest))


@pytest.mark.parametrize("shape", SHAPES)
def test_adding_up_is_the_outer_sum(shape: tuple[int, ...]) -> None:
    parts = [np.random.default_rng(axis).normal(size=size) for axis, size in enumerate(shape)]
    wanted = reduce(np.add.outer, parts)
    assert np.allclose(added_up(parts), wanted.reshape(-1))
