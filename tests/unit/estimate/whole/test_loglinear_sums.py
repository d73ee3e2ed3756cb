"""The fit with noisy sums against a slow solver on explicit matrices."""

from collections.abc import Callable
from fractions import Fraction
from functools import reduce

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import root

from synth.domain import Universe
from synth.estimate import loglinear
from synth.estimate.interactions import Interactions
from synth.estimate.loglinear import Schedule
from synth.estimate.posterior import CellPosterior
from synth.estimate.sums import NoisyCoefficients, noisy_coefficients
from synth.estimate.whole import model as whole_model
from synth.estimate.whole.model import WholeModel
from synth.measurements import MeasuredTable

Floats = NDArray[np.float64]
Draw = Callable[..., NDArray[np.int64]]
Measure = Callable[..., MeasuredTable]
MakeUniverse = Callable[..., Universe]
Explicit = Callable[..., tuple[Floats, list[int]]]

DEEP = [(5, ((0, 0, 1, 1, 1),)), (3, ()), (2, ())]
SIZE, BASE, VARIANCE = 30, 0.8, 0.5 / np.sinh(0.5) ** 2


@pytest.fixture(name="exact", autouse=True)
def _exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loglinear, "_TOLERANCE", 1e-16)
    stages = [(order, 2000) for order in range(4)]
    monkeypatch.setattr(whole_model, "_STAGES", Schedule(stages, []))


@pytest.fixture(name="possible")
def _possible() -> NDArray[np.bool_]:
    possible = np.ones(SIZE, dtype=bool)
    possible[7] = False
    return possible


@pytest.fixture(name="counts")
def _counts(draw_table: Draw, possible: NDArray[np.bool_]) -> NDArray[np.int64]:
    return draw_table((5, 3, 2), 400, 4) * possible


@pytest.fixture(name="sums")
def _sums(
    make_deep_universe: MakeUniverse, measure: Measure, counts: NDArray[np.int64]
) -> NoisyCoefficients:
    universe = make_deep_universe(DEEP)
    tables = [
        measure(universe, ("a0",), counts, rho=Fraction(1, 8), seed=2),
        measure(universe, ("a0", "a1"), counts, coarsening=(1, 0), rho=Fraction(1, 4), seed=3),
        measure(universe, ("a2",), counts, rho=Fraction(1, 2), seed=4),
    ]
    found = noisy_coefficients(tables, Interactions.of(universe), universe)
    assert found is not None
    return found


@pytest.fixture(name="basis")
def _basis(explicit_axis: Explicit) -> Floats:
    return reduce(np.kron, [explicit_axis(*axis)[0] for axis in DEEP])


def units(interactions: Interactions, kept: NDArray[np.int64]) -> Floats:
    """The prior's standard deviation of every kept coefficient."""
    first = loglinear._FIRST_SPREAD
    component = interactions.component
    variance = [
        first[int(interactions.order[place])] ** 2
        * SIZE
        / int((component == component[place]).sum())
        for place in kept
    ]
    return np.sqrt(variance)


def make_model(
    sums: NoisyCoefficients, posterior: CellPosterior | None, possible: NDArray[np.bool_]
) -> WholeModel:
    variance = np.inf if posterior is None else VARIANCE
    return WholeModel(
        sums.interactions,
        posterior,
        sums,
        possible,
        noise_variance=variance,
        base=BASE,
        discount=0.0,
    )


def test_fit_to_sums_alone_is_the_solution_of_a_slow_solver(
    sums: NoisyCoefficients, basis: Floats, possible: NDArray[np.bool_]
) -> None:
    fitted = make_model(sums, None, possible).fit()
    # In the model are the functions that some table speaks about, and no others.
    kept, measured = sums.places, basis[sums.places]
    unit = units(sums.interactions, kept)

    def log_mean(point: Floats) -> Floats:
        return BASE + (unit * point) @ measured

    def field(point: Floats) -> Floats:
        """The slope of the log posterior: normal noise on the sums, a normal prior."""
        mean = np.exp(log_mean(point)) * possible
        slope = mean * ((sums.precision * (sums.values - measured @ mean)) @ measured)
        return unit * (measured @ slope) - point

    start = (measured @ (fitted.log_mean - BASE)) / unit
    assert np.abs(field(start)).max() < 1e-5
    slow = root(field, start + 0.01, method="hybr", tol=1e-13)
    assert np.abs(field(slow.x)).max() < 1e-8
    assert np.allclose(log_mean(slow.x), fitted.log_mean, atol=1e-4)
    assert np.array_equal(fitted.discounted, fitted.log_mean)


def test_fit_to_cells_and_sums_is_the_solution_of_a_slow_solver(
    sums: NoisyCoefficients,
    basis: Floats,
    possible: NDArray[np.bool_],
    counts: NDArray[np.int64],
    draw_noise: Draw,
) -> None:
    posterior = CellPosterior(counts + draw_noise(SIZE, decay=1.0, seed=5), decay=1.0)
    model = make_model(sums, posterior, possible)
    fitted = model.fit()
    measured = basis[sums.places]
    kept = np.flatnonzero(sums.interactions.order <= loglinear.MAX_ORDER)
    unit = units(sums.interactions, kept)
    gain = model._gain
    assert gain is not None
    weights = np.array([gain.weigh(row) for row in np.eye(sums.places.size)]).T

    def log_mean(point: Floats) -> Floats:
        return BASE + (unit * point) @ basis[kept]

    def field(point: Floats) -> Floats:
        mean = np.exp(log_mean(point)) * possible
        expected = posterior.mean(log_mean(point)) * possible
        gap = sums.values - measured @ expected
        moved = expected * (1.0 + gain.ratio * ((weights @ gap) @ measured))
        return unit * (basis[kept] @ (moved - mean)) - point

    start = (basis[kept] @ (fitted.log_mean - BASE)) / unit
    assert np.abs(field(start)).max() < 1e-4
    slow = root(field, start + 0.001, method="hybr", tol=1e-13)
    assert np.abs(field(slow.x)).max() < 1e-8
    assert np.allclose(log_mean(slow.x), fitted.log_mean, atol=1e-3)
    # The sums had something to say.
    alone = WholeModel(
        sums.interactions,
        posterior,
        None,
        possible,
        noise_variance=VARIANCE,
        base=BASE,
        discount=0.0,
    ).fit()
    gap = np.abs(sums.values - sums.of(np.exp(fitted.log_mean) * possible))
    before = np.abs(sums.values - sums.of(np.exp(alone.log_mean) * possible))
    assert gap.sum() < before.sum()


def test_without_a_cell_table_only_what_the_tables_measure_is_in_the_model(
    sums: NoisyCoefficients, possible: NDArray[np.bool_], counts: NDArray[np.int64]
) -> None:
    measured = sorted(set(sums.interactions.component[sums.places].tolist()))
    assert make_model(sums, None, possible)._components == measured
    model = make_model(sums, CellPosterior(counts, decay=1.0), possible)
    assert len(model._components) == len(np.unique(sums.interactions.component))


def test_variances_of_counts_with_and_without_a_cell_table(
    sums: NoisyCoefficients, possible: NDArray[np.bool_], counts: NDArray[np.int64]
) -> None:
    log_mean = np.log(counts + 0.5)
    alone = make_model(sums, None, possible).posterior_variance(log_mean)
    assert alone == pytest.approx((counts + 0.5) * possible)
    model = make_model(sums, CellPosterior(counts, decay=1.0), possible)
    expected = model.expected(log_mean)
    prior = expected + expected**2 / loglinear.SHAPE
    beside = model.posterior_variance(log_mean)
    assert beside == pytest.approx(prior * VARIANCE / (prior + VARIANCE))
    assert np.all(beside <= VARIANCE)
    assert beside[7] == expected[7] == 0.0
