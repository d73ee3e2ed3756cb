"""Helmert contrasts of a long axis: the same bytes as code by code."""

import numpy as np
import pytest

from synth.estimate import axis_basis


@pytest.mark.parametrize("name", ["contrasts", "expand", "squared_contrasts"])
@pytest.mark.parametrize(
    ("shape", "axis"), [((700, 1), 0), ((3, 600, 2), 1), ((600, 3), 0), ((40, 7), 0)]
)
def test_a_long_axis_gives_the_bytes_of_one_code_after_another(name, shape, axis, monkeypatch):
    table = np.random.default_rng(1).normal(size=shape) * 1e3
    given = table.copy()
    assert axis_basis._is_long(table.swapaxes(axis, 0))
    whole = getattr(axis_basis, name)(table, axis)
    monkeypatch.setattr(axis_basis, "_is_long", lambda _: False)
    one_by_one = getattr(axis_basis, name)(table, axis)
    assert np.array_equal(whole, one_by_one)
    assert np.array_equal(table, given)


def test_the_function_of_the_coefficients_is_the_table():
    table = np.random.default_rng(2).normal(size=(2, 900))
    again = axis_basis.expand(axis_basis.contrasts(table, 1), 1)
    assert np.allclose(again, table, rtol=0, atol=1e-12)
