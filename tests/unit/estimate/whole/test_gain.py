"""The gain of the noisy sums against the Gaussian rule with explicit matrices."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from synth.domain import Universe
from synth.estimate.interactions import Interactions
from synth.estimate.solver import inverse
from synth.estimate.sums import NoisyCoefficients, noisy_coefficients, trusted
from synth.estimate.whole import model as whole_model
from synth.estimate.whole.model import joint_gain, plain_gain
from synth.measurements import MeasuredTable

Floats = NDArray[np.float64]
Measure = Callable[..., MeasuredTable]
MakeUniverse = Callable[..., Universe]


@pytest.fixture(name="sums", params=[0, 1])
def _sums(
    request: pytest.FixtureRequest, make_deep_universe: MakeUniverse, measure: Measure
) -> NoisyCoefficients:
    """One-way tables: both attributes, the deep one at its codes or at its groups."""
    universe = make_deep_universe([(5, ((0, 0, 1, 1, 1),)), (3, ())])
    counts = np.random.default_rng(1).poisson(4.0, size=15)
    tables = [
        measure(universe, ("a0",), counts, coarsening=(request.param,), rho=Fraction(1, 8), seed=2),
        measure(universe, ("a1",), counts, rho=Fraction(1, 2), seed=3),
    ]
    found = noisy_coefficients(tables, Interactions.of(universe), universe)
    assert found is not None
    return found


@pytest.fixture(name="one_way")
def _one_way(make_deep_universe: MakeUniverse, measure: Measure) -> NoisyCoefficients:
    universe = make_deep_universe([(5, ((0, 0, 1, 1, 1),)), (3, ())])
    counts = np.random.default_rng(1).poisson(4.0, size=15)
    tables = [
        measure(universe, ("a0",), counts, coarsening=(1,), rho=Fraction(1, 8), seed=2),
        measure(universe, ("a1",), counts, rho=Fraction(1, 2), seed=3),
    ]
    found = noisy_coefficients(tables, Interactions.of(universe), universe)
    assert found is not None
    assert found.is_one_way
    return found


@pytest.fixture(name="several")
def _several(make_deep_universe: MakeUniverse, measure: Measure) -> NoisyCoefficients:
    """A table of two attributes beside one of one."""
    universe = make_deep_universe([(5, ((0, 0, 1, 1, 1),)), (3, ())])
    counts = np.random.default_rng(1).poisson(4.0, size=15)
    tables = [
        measure(universe, ("a0",), counts, rho=Fraction(1, 8), seed=2),
        measure(universe, ("a0", "a1"), counts, coarsening=(1, 0), rho=Fraction(1, 2), seed=4),
    ]
    found = noisy_coefficients(tables, Interactions.of(universe), universe)
    assert found is not None
    return found


@pytest.fixture(name="expected")
def _expected() -> Floats:
    expected = np.random.default_rng(5).gamma(2.0, 2.0, size=15)
    expected[4] = 0.0
    return expected


def explicit(sums: NoisyCoefficients) -> Floats:
    return np.array([sums.of(cell) for cell in np.eye(sums.interactions.size)]).T


def test_one_way_sums_are_those_of_the_transform(one_way: NoisyCoefficients) -> None:
    cells = np.random.default_rng(7).normal(size=15)
    assert np.allclose(one_way.of(cells), one_way.interactions.forward(cells)[one_way.places])
    full = np.zeros(15)
    full[one_way.places] = np.random.default_rng(8).normal(size=one_way.places.size)
    assert np.allclose(one_way.expand(full[one_way.places]), one_way.interactions.inverse(full))


def test_counts_move_by_the_gaussian_rule(one_way: NoisyCoefficients, expected: Floats) -> None:
    sums = one_way
    variance = expected * np.random.default_rng(6).uniform(0.2, 0.9, size=15)
    matrix = explicit(sums)
    gap = sums.values - matrix @ expected
    firm = trusted(sums, gap, matrix**2 @ variance)
    together = matrix @ (variance[:, None] * matrix.T) + np.diag(1.0 / firm.precision)
    wanted = expected + variance * (matrix.T @ np.linalg.solve(together, gap))
    moved = joint_gain(sums, expected, variance).move(expected)
    assert np.allclose(moved, wanted)
    assert moved[4] == 0.0
    assert np.abs(moved - expected).max() > 0.1


@pytest.mark.parametrize("more", [False, True])
def test_else_the_matrix_is_replaced_by_its_diagonal(
    more: bool,
    sums: NoisyCoefficients,
    several: NoisyCoefficients,
    expected: Floats,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if more:
        sums = several
    else:
        monkeypatch.setattr(whole_model, "_SMALL_MATRIX", sums.places.size - 1)
    variance = 0.5 * expected
    matrix = explicit(sums)
    gap = sums.values - matrix @ expected
    spread = matrix**2 @ variance
    weight = 1.0 / (spread + 1.0 / trusted(sums, gap, spread).precision)
    wanted = expected + variance * (matrix.T @ (weight * gap))
    assert np.allclose(joint_gain(sums, expected, variance).move(expected), wanted)


def test_sums_alone_move_by_the_slope_of_their_likelihood(
    sums: NoisyCoefficients, expected: Floats
) -> None:
    matrix = explicit(sums)
    step = 1e-6

    def log_likelihood(log_mean: Floats) -> float:
        return float(-0.5 * (sums.precision * (sums.values - matrix @ np.exp(log_mean)) ** 2).sum())

    mean = expected + 0.1
    slope = np.array(
        [
            log_likelihood(np.log(mean) + step * cell) - log_likelihood(np.log(mean) - step * cell)
            for cell in np.eye(15)
        ]
    ) / (2.0 * step)
    assert np.allclose(plain_gain(sums, mean).move(mean) - mean, slope, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("size", [1, 2, 30])
def test_the_inverse_is_the_inverse(size: int) -> None:
    half = np.random.default_rng(7).normal(size=(size, size))
    matrix = half @ half.T + np.eye(size)
    assert np.allclose(inverse(matrix) @ matrix, np.eye(size))
