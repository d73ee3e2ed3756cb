"""The tilt against a slow minimiser of the same convex function, and laws counted out."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.optimize import minimize

from synth.domain import Universe
from synth.estimate.interactions import Interactions
from synth.estimate.sums import NoisyCoefficients, noisy_coefficients, trusted
from synth.estimate.whole import towards_sums as module
from synth.estimate.whole.towards_sums import tilt
from synth.measurements import MeasuredTable

Floats = NDArray[np.float64]
Measure = Callable[..., MeasuredTable]
MakeUniverse = Callable[..., Universe]

DEEP = [(5, ((0, 0, 1, 1, 1),)), (3, ())]


@pytest.fixture(name="exact")
def _exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_TOLERANCE", 1e-20)
    monkeypatch.setattr(module, "_ITERATIONS", 2000)


@pytest.fixture(name="sums")
def _sums(make_deep_universe: MakeUniverse, measure: Measure) -> NoisyCoefficients:
    universe = make_deep_universe(DEEP)
    counts = np.random.default_rng(1).poisson(4.0, size=15)
    tables = [
        measure(universe, ("a0",), counts, rho=Fraction(1, 8), seed=2),
        measure(universe, ("a0", "a1"), counts, coarsening=(1, 0), rho=Fraction(1, 2), seed=3),
    ]
    found = noisy_coefficients(tables, Interactions.of(universe), universe)
    assert found is not None
    return found


def explicit(sums: NoisyCoefficients) -> Floats:
    """The matrix from cells to coefficients."""
    return np.array([sums.of(cell) for cell in np.eye(sums.interactions.size)]).T


def slow_tilt(sums: NoisyCoefficients, mean: Floats, variance: Floats) -> Floats:
    """The minimum over t of sum mean^2/variance exp(t variance/mean) - t noisy + t^2/(2p)."""
    matrix, ratio = explicit(sums), variance / mean

    def dual(power: Floats) -> tuple[float, Floats]:
        tilted = mean * np.exp(ratio * (power @ matrix))
        value = (tilted / ratio).sum() - sums.values @ power + (power**2 / sums.precision).sum() / 2
        return float(value), matrix @ tilted - sums.values + power / sums.precision

    start = np.zeros(sums.values.size)
    found = minimize(dual, start, jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 9999})
    assert np.abs(found.jac).max() < 1e-6
    return np.asarray(mean * np.exp(ratio * (found.x @ matrix)))


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("uncertainty", [0.2, 1.0, 3.0])
def test_tilt_is_the_minimum_of_a_convex_function(
    sums: NoisyCoefficients, uncertainty: float
) -> None:
    generator = np.random.default_rng(4)
    mean = generator.gamma(2.0, 2.0, size=15) + 0.1
    variance = uncertainty * mean * generator.uniform(0.5, 1.5, size=15)
    tilted, report = tilt(sums, mean, variance, weigh=False)
    assert np.allclose(tilted, slow_tilt(sums, mean, variance), rtol=1e-6, atol=1e-6)
    assert report["coefficients"] == sums.places.size
    assert report["stop"] == "promised gain below tolerance"


@pytest.mark.usefixtures("exact")
def test_the_powers_are_precision_times_what_is_left(sums: NoisyCoefficients) -> None:
    mean = np.random.default_rng(5).gamma(2.0, 2.0, size=15) + 0.1
    tilted, _ = tilt(sums, mean, mean, weigh=False)
    power = sums.precision * (sums.values - sums.of(tilted))
    assert np.allclose(np.log(tilted / mean), power @ explicit(sums), atol=1e-6)


@pytest.mark.usefixtures("exact")
def test_sums_that_the_counts_do_not_contradict_get_no_more_trust(sums: NoisyCoefficients) -> None:
    mean = np.random.default_rng(6).gamma(2.0, 2.0, size=15) + 0.1
    near = NoisyCoefficients(
        sums.interactions, sums.places, sums.of(mean) + 0.1, sums.precision, sums.margins
    )
    plain, _ = tilt(near, mean, mean, weigh=False)
    weighed, _ = tilt(near, mean, mean)
    assert np.allclose(weighed, plain, atol=1e-6)
    assert np.abs(plain - mean).max() > 0.01


@pytest.mark.usefixtures("exact")
def test_counts_that_contradict_the_sums_follow_them_further(
    sums: NoisyCoefficients, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PASSES", 40)
    mean = np.random.default_rng(7).gamma(2.0, 2.0, size=15) + 5.0
    variance = 0.01 * mean
    plain, _ = tilt(sums, mean, variance, weigh=False)
    weighed, _ = tilt(sums, mean, variance)
    far, near = (np.abs(sums.values - sums.of(x)) for x in (plain, weighed))
    assert near.sum() < 0.8 * far.sum()
    # The trust is that of the differences before the move, for counts as uncertain as stated.
    matrix = explicit(sums)
    spread = (matrix**2) @ variance
    left = sums.values - sums.of(weighed)
    power = np.linalg.lstsq(matrix.T, np.log(weighed / mean) * mean / variance, rcond=None)[0]
    firm = power / left
    renewed = trusted(sums, left * (1.0 + spread * firm), spread)
    assert np.all(firm > 0.999 * sums.precision)
    assert np.allclose(firm, renewed.precision, rtol=1e-3)


def one_cell(value: float, precision: float) -> NoisyCoefficients:
    place = np.zeros(1, dtype=np.int64)
    known = np.array([value]), np.array([precision])
    return NoisyCoefficients(Interactions((1,)), place, *known, ((0,),))


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize(("mean", "value"), [(0.3, 2.0), (4.0, 9.0), (20.0, 11.0)])
def test_tilt_of_a_poisson_count_is_exact(mean: float, value: float) -> None:
    sums = one_cell(value, 0.5)
    (tilted,), _ = tilt(sums, np.array([mean]), np.array([mean]), weigh=False)
    power = 0.5 * (value - tilted)
    count = np.arange(400)
    law = stats.poisson.pmf(count, mean) * np.exp(power * count)
    assert tilted == pytest.approx((law * count).sum() / law.sum())


@pytest.mark.usefixtures("exact")
def test_weak_sums_move_a_mean_by_power_times_variance() -> None:
    mean, variance = 4.0, 2.5
    (tilted,), _ = tilt(one_cell(9.0, 1e-5), np.array([mean]), np.array([variance]), weigh=False)
    assert (tilted - mean) / (1e-5 * (9.0 - tilted)) == pytest.approx(variance, rel=1e-3)


def test_counts_stay_non_negative_and_zeros_stay_zero(sums: NoisyCoefficients) -> None:
    impossible = NoisyCoefficients(
        sums.interactions, sums.places, sums.values - 500.0, sums.precision * 100.0, sums.margins
    )
    mean = np.random.default_rng(8).gamma(0.5, 2.0, size=15)
    mean[3] = 0.0
    for weigh in (False, True):
        for target in (sums, impossible):
            tilted, _ = tilt(target, mean, mean, weigh=weigh)
            assert np.all(np.isfinite(tilted))
            assert np.all(tilted >= 0.0)
            assert tilted[3] == 0.0
