"""Arithmetic that is the same everywhere, against the libraries' own."""

import math

import numpy as np
import pytest

from synth.estimate.listed.reproducible import exp, log, total, whole


def test_exp_and_log_are_right_to_eight_digits():
    generator = np.random.default_rng(1)
    powers = -np.concatenate([generator.exponential(6, 20_000), [0.0, 1e-9, math.log(2) / 2]])
    assert exp(powers) == pytest.approx(np.exp(powers), rel=1e-8, abs=0)
    assert exp(np.array([-80.0, -1e9, -np.inf])) == pytest.approx([math.exp(-80)] * 3, rel=1e-8)
    assert exp(np.zeros((2, 0))).shape == (2, 0)
    numbers = np.exp(generator.normal(0, 30, 20_000))
    assert log(numbers) == pytest.approx(np.log(numbers), rel=1e-8, abs=1e-9)
    assert log(np.array([1.0])).tolist() == [0.0]
    assert log(np.array([3, 2**31])) == pytest.approx([math.log(3), 31 * math.log(2)])


def test_exp_is_made_of_operations_that_are_rounded_alike_everywhere():
    """One number at a time, in plain Python, as the docstring says: the same bits."""
    from synth.estimate.listed import reproducible as r

    for value in (-0.3, -1.0, -7.77, -41.5):
        twos = round(value * (1.0 / r._LN2))
        rest = value - twos * r._LN2_HIGH
        rest -= twos * r._LN2_LOW
        found = r._EXP_TERMS[0]
        for term in r._EXP_TERMS[1:]:
            found = found * rest + term
        assert exp(np.array([value]))[0] == math.ldexp(found, twos)


@pytest.mark.parametrize("bits", [5, 20, 26])
def test_whole_numbers_have_so_many_bits_and_are_next_to_the_values(bits):
    values = np.random.default_rng(2).normal(0, 1000, (30, 40))
    found, unit = whole(values, bits)
    assert (found == np.rint(found)).all()
    assert np.abs(found).max() <= 2**bits
    assert np.abs(found).max() >= 2 ** (bits - 1)
    assert np.abs(found * unit - values).max() <= unit / 2
    zeros, _ = whole(np.zeros(3), bits)
    assert zeros.tolist() == [0.0] * 3


def test_products_of_whole_numbers_do_not_depend_on_the_order_of_their_sums():
    generator = np.random.default_rng(3)
    left, _ = whole(generator.normal(0, 1, (7, 500)), 20)
    right = np.rint(generator.random((500, 9)) * 2**22)
    order = generator.permutation(500)
    assert ((left @ right) == (left[:, order] @ right[order])).all()
    exact = [
        [sum(int(a) * int(b) for a, b in zip(r, c, strict=True)) for c in right.T] for r in left
    ]
    assert (left @ right).tolist() == [[float(each) for each in row] for row in exact]


def test_the_total_is_added_one_by_one():
    values = np.array([1e16, 1.0, -1e16, 1.0])
    assert total(values) == ((1e16 + 1.0) - 1e16) + 1.0
    assert total(np.zeros(0)) == 0.0
