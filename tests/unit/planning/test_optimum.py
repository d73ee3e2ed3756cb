"""Budget splits: against a grid of all splits, published optima, and their own certificate."""

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from synth.domain import Attribute, Universe
from synth.planning.linear_theory import axes_of, components_of, marginal
from synth.planning.margins import cells_at, finest
from synth.planning.optimum import (
    ENOUGH,
    objective_of,
    optimal_split,
    precision_of_rate,
    pure_split,
)

GRID = 40


def objective(sizes, candidates, workload, *, error, weights=None):
    """Margins and marginals by the places of their attributes."""
    universe = Universe(
        tuple(
            Attribute(f"c{i:02}", "categorical", tuple(map(str, range(size))))
            for i, size in enumerate(sizes)
        )
    )
    axes = axes_of(universe)
    components = components_of(axes, tuple(finest(axes, places) for places in candidates))
    questions = tuple(
        marginal([universe.names[i] for i in places], axes, weight=Fraction(weight))
        for places, weight in zip(workload, weights or [1] * len(workload), strict=True)
    )
    return objective_of(components, questions, error=error)


def splits(count):
    """Every split of a budget into `count` shares, in steps of 1/40."""
    for cuts in product(range(GRID + 1), repeat=count - 1):
        if sum(cuts) <= GRID:
            yield np.array([*cuts, GRID - sum(cuts)]) / GRID


CASES = [
    ((4, 6), [(0,), (1,), (0, 1)], [(0,), (1,), (0, 1)], None),
    ((2, 9), [(0,), (1,), (0, 1)], [(0,), (0, 1)], (50, 1)),
    ((3, 4, 5), [(0, 1), (1, 2), (0, 1, 2)], [(0,), (1, 2), (0, 1)], None),
    ((30, 2, 3), [(0,), (1, 2), (0, 1, 2)], [(0,), (1, 2)], None),
]


@pytest.mark.parametrize("error", ["variance", "absolute"])
@pytest.mark.parametrize(("sizes", "candidates", "workload", "weights"), CASES)
def test_no_split_on_a_grid_is_better(sizes, candidates, workload, weights, error):
    problem = objective(sizes, candidates, workload, error=error, weights=weights)
    best = min(problem.loss(shares) for shares in splits(len(candidates)))
    split = optimal_split(problem)
    assert split.shares.sum() == pytest.approx(1)
    assert split.loss == pytest.approx(problem.loss(split.shares))
    assert split.loss <= best * 1.001
    assert split.efficiency >= ENOUGH - 1e-3
    assert split.loss * split.efficiency <= best


@pytest.mark.parametrize("rate", [0.1, 1.0, 8.0])
@pytest.mark.parametrize(("sizes", "candidates", "workload", "weights"), CASES)
def test_no_pure_split_on_a_grid_is_better(sizes, candidates, workload, weights, rate):
    problem = objective(sizes, candidates, workload, error="absolute", weights=weights)
    best = min(problem.loss(precision_of_rate(rate * shares)) for shares in splits(len(candidates)))
    split = pure_split(problem, rate)
    assert split.shares.sum() == pytest.approx(1)
    assert split.loss <= best * 1.005


def test_the_precision_is_that_of_discrete_laplace_noise():
    for rate in (0.001, 0.1, 1.0, 5.0):
        alpha = math.exp(-rate)
        variance = 2 * alpha / (1 - alpha) ** 2
        assert precision_of_rate(np.array([rate]))[0] == pytest.approx(1 / variance, rel=1e-9)
    assert np.isfinite(precision_of_rate(np.array([1e6]))).all()


def test_the_slope_is_the_derivative():
    for error, factor in (("variance", 1), ("absolute", 2)):
        problem = objective((4, 6), [(0,), (1,), (0, 1)], [(0,), (0, 1)], error=error)
        shares = np.array([0.2, 0.3, 0.5])
        loss, slope = problem.slope(shares)
        assert loss == problem.loss(shares)
        assert shares @ slope == pytest.approx(loss)
        for place in range(3):
            step = 1e-6 * np.eye(3)[place]
            change = (problem.loss(shares - step) - problem.loss(shares + step)) / 2e-6
            assert factor * change == pytest.approx(slope[place], rel=1e-5)


ADULT = (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)
CPS = (50, 100, 7, 4, 2)


@pytest.mark.parametrize(
    ("sizes", "order", "optimum"), [(ADULT, 2, 6.359), (ADULT, 3, 10.515), (CPS, 2, 2.035)]
)
def test_independent_noise_comes_near_the_best_of_all_gaussian_mechanisms(sizes, order, optimum):
    """ResidualPlanner (arXiv 2305.08175) gives these for all marginals of one order, at cost 1."""
    places = range(len(sizes))
    candidates = [c for k in range(1, order + 1) for c in combinations(places, k)]
    workload = list(combinations(places, order))
    problem = objective(sizes, candidates, workload, error="variance")
    split = optimal_split(problem)
    cells = sum(math.prod(sizes[i] for i in chosen) for chosen in workload)
    error = math.sqrt(problem.loss(split.shares) / cells)
    assert optimum * (1 - 1e-3) <= error <= 1.04 * optimum
    assert split.efficiency > 0.999


def test_cells_of_a_margin_are_counted():
    universe = Universe((Attribute("a", "categorical", ("x", "y")),) * 1)
    axes = axes_of(universe)
    assert cells_at(axes, finest(axes, (0,))) == 2
