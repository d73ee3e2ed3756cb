"""Listed and unlisted cells, against sums over counts by the definition."""

import math
from fractions import Fraction

import numpy as np
import pytest

from synth.estimate import posterior as laws
from synth.estimate.listed.posterior import ThresholdPosterior
from synth.privacy import TableEvent
from synth.privacy.accounting import PARTITION_SELECTION

CELLS = 10**12
THETA = 20
X = np.arange(400.0)


def event(epsilon="1", threshold=THETA, **named):
    return TableEvent(("a",), CELLS, 1, Fraction(epsilon), threshold=threshold, **named)


def model(log_mean):
    """The prior of the model alone, by its mixture."""
    parts = [
        weight * np.exp(laws.log_probability(X, np.full(X.size, log_mean), shape))
        for shape, weight in zip(laws.SHAPES, laws.WEIGHTS, strict=True)
    ]
    return np.sum(parts, axis=0)


def spike():
    return np.concatenate([[0.0], np.exp(laws.log_spike(X[1:]))])


@pytest.mark.parametrize("epsilon", ["1", "2"])
def test_a_listed_cell_has_the_posterior_of_its_noisy_count(epsilon):
    decay = float(Fraction(epsilon))
    noisy = np.array([20, 22, 30, 39, 60, 20, 25])
    log_probability = np.array([-27.6, -20.7, -13.8, -11.5, -20.0, -2.3, -2.3])
    total = 50.0
    found = ThresholdPosterior(event(epsilon)).listed(
        noisy, log_probability, total=total, log_cells=math.log(CELLS)
    )
    for i, (y, log_p) in enumerate(zip(noisy, log_probability, strict=True)):
        weight = min(found.heavy_cells * 0.5 * (1 / CELLS + math.exp(log_p)), 0.5)
        joint = weight * spike() + (1 - weight) * model(log_p + math.log(total))
        joint *= np.exp(-decay * np.abs(y - X))
        real = joint[1:].sum() / joint.sum()
        mean = (joint * X)[1:].sum() / joint[1:].sum()
        assert found.real[i] == pytest.approx(real, rel=2e-2, abs=1e-9)
        assert found.mean[i] == pytest.approx(mean, rel=1e-2)


def test_a_count_far_above_the_threshold_is_real_and_a_lone_one_at_it_is_not():
    noisy = np.concatenate([np.full(5000, THETA), [THETA + 1, 500]])
    found = ThresholdPosterior(event()).listed(
        noisy, np.full(noisy.size, -27.0), total=1000.0, log_cells=math.log(CELLS)
    )
    assert found.real[-1] == 1.0
    assert found.mean[-1] == 500
    assert (found.real[:-1] < 0.1).all()


def test_where_no_empty_cell_is_listed_every_listed_one_is_real():
    selecting = event(mechanism=PARTITION_SELECTION, delta=Fraction(1, 10**6))
    found = ThresholdPosterior(selecting).listed(
        np.array([20, 21, 40]), np.full(3, -27.0), total=10.0, log_cells=math.log(CELLS)
    )
    assert found.real.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("epsilon", ["1", "1/4"])
def test_a_cell_that_is_not_listed_has_the_censored_mean(epsilon):
    decay = float(Fraction(epsilon))
    a = math.exp(-decay)
    gap = THETA - X
    unlisted = np.where(gap > 0, 1 - a ** np.abs(gap) / (1 + a), a ** (1 - gap) / (1 + a))
    means = np.array([0.001, 0.5, 3.0, 15.0, 20.0, 40.0, 80.0])
    found = ThresholdPosterior(event(epsilon)).unlisted_mean(means)
    for mean, got in zip(means, found, strict=True):
        joint = model(math.log(mean)) * unlisted
        assert got == pytest.approx((joint * X).sum() / joint.sum(), rel=2e-2)
    assert found[-1] < 35
    assert found[0] == pytest.approx(0.001, rel=2e-3)


def test_the_chance_of_not_being_listed_is_that_of_the_noise():
    """P(x + noise < theta) from the law of the noise, term by term."""
    a = math.exp(-1.0)
    k = np.arange(-200, 201)
    law = (1 - a) / (1 + a) * a ** np.abs(k)
    for x in (0, 5, 19, 20, 21, 40):
        gap = THETA - x
        formula = 1 - a**gap / (1 + a) if gap > 0 else a ** (1 - gap) / (1 + a)
        assert formula == pytest.approx(law[x + k < THETA].sum(), rel=1e-9)


@pytest.mark.parametrize(("epsilon", "threshold"), [("1/10", 19), ("1/2", 5), ("1", 5)])
def test_noise_in_a_small_universe_is_not_taken_for_heavy_cells(epsilon, threshold):
    cells, decay = 120_960, float(Fraction(epsilon))
    generator = np.random.default_rng(3)
    stop = 1 - math.exp(-decay)
    noise = generator.geometric(stop, cells) - generator.geometric(stop, cells)
    noisy = noise[noise >= threshold]
    assert noisy.size > 100  # an empty table
    found = ThresholdPosterior(event(epsilon, threshold)).listed(
        noisy, np.full(noisy.size, -math.log(cells)), total=1.0, log_cells=math.log(cells)
    )
    assert (found.real >= 0.5).sum() == 0
    assert found.heavy_cells < 0.05 * cells
