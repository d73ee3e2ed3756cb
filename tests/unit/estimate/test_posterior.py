"""The posterior mean against summation over all counts, term by term."""

import math

import numpy as np
import pytest
from scipy import stats

from synth.estimate import posterior as laws
from synth.estimate.posterior import CellPosterior

NOISE = [0.25, 1.0, 3.0]


def prior_by_hand(count: np.ndarray, mean: float, cells: int) -> np.ndarray:
    spike = laws.spike_weight(cells)
    total = np.zeros(count.size)
    for shape, weight in zip(laws.SHAPES, laws.WEIGHTS, strict=True):
        if math.isinf(shape):
            law = stats.poisson.pmf(count, mean)
        else:
            law = stats.nbinom.pmf(count, shape, shape / (shape + mean))
        total += (1.0 - spike) * weight * law
    positive = count > 0
    total[positive] += spike / (count[positive] * (count[positive] + 1.0))
    return total


def posterior_by_hand(y: int, mean: float, decay: float, cells: int, last: int) -> float:
    count = np.arange(last + 1, dtype=float)
    weight = prior_by_hand(count, mean, cells) * np.exp(-decay * np.abs(y - count))
    return float((weight * count).sum() / weight.sum())


def test_the_weights_of_the_prior_are_a_distribution() -> None:
    assert sum(laws.WEIGHTS) == pytest.approx(1.0)
    assert laws.spike_weight(900) == pytest.approx(0.001)


@pytest.mark.parametrize("shape", laws.SHAPES)
def test_components_have_the_stated_mean_and_variance(shape: float) -> None:
    count, mean = np.arange(4000, dtype=float), 7.0
    law = np.exp(laws.log_probability(count, np.full(count.size, math.log(mean)), shape))
    assert law.sum() == pytest.approx(1.0)
    assert (law * count).sum() == pytest.approx(mean)
    assert (law * (count - mean) ** 2).sum() == pytest.approx(mean + mean**2 / shape)


def test_the_spike_is_a_distribution_on_the_counts_above_zero() -> None:
    count = np.arange(1.0, 1e6)
    assert np.exp(laws.log_spike(count)).sum() == pytest.approx(1.0, abs=2e-6)


@pytest.mark.parametrize("shape", laws.SHAPES)
def test_slope_is_the_derivative_in_the_count(shape: float) -> None:
    count, log_mean = np.linspace(50.0, 500.0, 10), np.full(10, math.log(100.0))
    step = 1e-3
    ahead = laws.log_probability(count + step, log_mean, shape)
    behind = laws.log_probability(count - step, log_mean, shape)
    numeric = (ahead - behind) / (2 * step)
    assert np.allclose(laws.slope(count, log_mean, shape), numeric, atol=2e-3)


@pytest.mark.parametrize("decay", NOISE)
def test_posterior_mean_is_the_sum_over_all_counts(decay: float) -> None:
    values = np.array([-40, -1, 0, 1, 2, 5, 20, 64])
    posterior = CellPosterior(values, decay=decay)
    last = 64 + math.ceil(60 / decay)
    for mean in (1e-10, 1e-4, 0.03, 0.7, 4.0, 60.0):
        found = posterior.mean(np.full(values.size, math.log(mean)))
        wanted = [posterior_by_hand(int(y), mean, decay, values.size, last) for y in values]
        assert np.allclose(found, wanted, rtol=6e-3, atol=1e-8)


@pytest.mark.parametrize("decay", [0.01, 0.002])
def test_runs_of_counts_are_as_good_as_single_ones_for_small_budgets(decay: float) -> None:
    values = np.array([-3, 0, 10, 100, 777, 2000])
    posterior = CellPosterior(values, decay=decay)
    for mean in (1e-3, 2.0, 100.0, 1000.0):
        found = posterior.mean(np.full(values.size, math.log(mean)))
        last = 2000 + math.ceil(44 / decay)
        wanted = [posterior_by_hand(int(y), mean, decay, values.size, last) for y in values]
        assert np.allclose(found, wanted, rtol=0.02, atol=1e-8)


def test_the_smallest_budget_needs_little_memory() -> None:
    posterior = CellPosterior(np.array([0, 10**6]), decay=1e-4)
    assert posterior.mean(np.array([0.0, 13.0]))[1] == pytest.approx(10**6, rel=0.1)
    assert posterior._mean.nbytes < 30_000_000


def test_negative_values_all_say_the_same() -> None:
    found = CellPosterior(np.array([0, -1, -1000]), decay=1.0).mean(np.zeros(3))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("decay", NOISE)
def test_values_far_above_the_noise_are_close_to_the_sum(decay: float) -> None:
    values = np.array([200, 1000])
    posterior = CellPosterior(values, decay=decay)
    assert posterior.cut < 200
    for mean in (0.5, 180.0, 900.0):
        found = posterior.mean(np.full(2, math.log(mean)))
        for y, value in zip(values, found, strict=True):
            last = int(y) + math.ceil(60 / decay)
            wanted = posterior_by_hand(int(y), mean, decay, 2, last)
            # Within a fifth of the noise's scale and well within the cell's own spread.
            assert abs(value - wanted) < 0.2 / decay + 0.02 * math.sqrt(y)


def test_little_mean_gives_little_count_and_much_noise_is_not_believed() -> None:
    posterior = CellPosterior(np.array([3, 3, 3]), decay=1.0)
    found = posterior.mean(np.log([1e-30, 1e-3, 3.0]))
    assert 0.0 <= found[0] <= found[1] < 0.2
    assert 2.0 < found[2] < 3.2


# The learned mixture.


def drawn_counts(shape: float, size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Log means, and counts of this shape around them with noise."""
    generator = np.random.default_rng(seed)
    log_mean = generator.normal(-0.5, 2.0, size)
    mean = np.exp(log_mean)
    if not math.isinf(shape):
        mean = mean * generator.gamma(shape, 1.0 / shape, size)
    noise = generator.geometric(1 - math.exp(-1.0), (2, size))
    return log_mean, generator.poisson(mean) + noise[0] - noise[1]


def likelihood(law: CellPosterior, noisy: np.ndarray, log_mean: np.ndarray) -> float:
    """The log likelihood of small noisy counts, by summation over all true ones."""
    count = np.arange(600.0)[:, None]
    parts = zip(law.mixture.shapes, law.mixture.weights, strict=True)
    prior = sum(w * np.exp(laws.log_probability(count, log_mean, r)) for r, w in parts)
    return float(np.log((prior * np.exp(-np.abs(count - noisy))).sum(axis=0)).sum())


@pytest.mark.parametrize(("shape", "poisson"), [(math.inf, (0.85, 1.0)), (0.5, (0.0, 0.1))])
def test_the_mixture_of_the_counts_is_learned(shape: float, poisson: tuple[float, float]) -> None:
    log_mean, noisy = drawn_counts(shape, 20_000, 7)
    usual = CellPosterior(noisy, decay=1.0)
    learned = usual.learned(log_mean, np.ones(noisy.size, dtype=bool))
    weights = dict(zip(learned.mixture.shapes, learned.mixture.weights, strict=True))
    assert sum(weights.values()) == pytest.approx(1.0)
    assert poisson[0] <= weights[math.inf] <= poisson[1]
    small = noisy < 40
    sample = np.flatnonzero(small)[:3000]
    first = usual.mixed(laws.WIDER)
    better = likelihood(learned, noisy[sample], log_mean[sample])
    assert better > likelihood(first, noisy[sample], log_mean[sample]) + 10.0
    again = learned.learned(log_mean, np.ones(noisy.size, dtype=bool))
    assert likelihood(again, noisy[sample], log_mean[sample]) > better - 1.0


def test_impossible_cells_teach_nothing() -> None:
    log_mean, noisy = drawn_counts(math.inf, 4_000, 8)
    alone = CellPosterior(noisy, decay=1.0).learned(log_mean, np.ones(noisy.size, dtype=bool))
    more = np.append(noisy, np.arange(100, 300)), np.append(log_mean, np.zeros(200))
    possible = np.arange(more[0].size) < noisy.size
    beside = CellPosterior(more[0], decay=1.0, cells=noisy.size).learned(more[1], possible)
    assert beside.mixture.weights == pytest.approx(alone.mixture.weights)
    assert (
        beside.mixture
        != CellPosterior(more[0], decay=1.0)
        .learned(more[1], np.ones(more[0].size, dtype=bool))
        .mixture
    )


def test_where_nothing_tells_the_weights_stay() -> None:
    """Noise that hides all counts, and no counts at all."""
    noisy = np.zeros(50, dtype=np.int64)
    law = CellPosterior(noisy, decay=1e-3).learned(np.full(50, -3.0), np.ones(50, dtype=bool))
    assert law.mixture.weights == pytest.approx(laws.WIDER.weights, abs=2e-3)
    nobody = CellPosterior(noisy, decay=1.0).learned(np.zeros(50), np.zeros(50, dtype=bool))
    assert nobody.mixture.weights == pytest.approx(laws.WIDER.weights)
    assert sum(laws.WIDER.weights) == pytest.approx(1.0)
