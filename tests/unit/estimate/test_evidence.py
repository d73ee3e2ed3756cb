"""The evidence against its definition on explicit matrices, where that is exact."""

import numpy as np
import pytest

from synth.estimate.evidence import joint_information, prior_variance, weigh_evidence
from synth.estimate.interactions import Interactions
from synth.estimate.sums import NoisyCoefficients


def test_the_effect_on_one_cell_has_the_stated_spread() -> None:
    interactions = Interactions((3, 4, 2))
    for component in np.unique(interactions.component):
        members = np.flatnonzero(interactions.component == component)
        rows = np.array([interactions.inverse(np.eye(24)[place]) for place in members])
        variance = prior_variance(interactions, int(component), 0.7)
        assert variance * (rows**2).sum(axis=0) == pytest.approx(np.full(24, 0.49))


def test_spreads_and_uncertainty_are_those_of_the_definition_for_even_means() -> None:
    shape, mean, noise = (3, 4, 2), 6.0, 2.0
    interactions = Interactions(shape)
    generator = np.random.default_rng(1)
    theta = generator.normal(size=24)
    components = [int(c) for c in np.unique(interactions.component)]
    spread = dict.fromkeys(components, 0.4)
    # A cell of mean m seen with noise tells m^2 / (m + noise) about its log mean; in an
    # orthonormal basis every coefficient then has the same information.
    information = mean * mean / (mean + noise)
    evidence = weigh_evidence(
        interactions,
        theta,
        spread,
        mean=np.full(24, mean),
        information=np.full(24, information),
        sums=None,
    )
    uncertainty = 0.0
    for component in components:
        members = np.flatnonzero(interactions.component == component)
        if component == 0:
            assert evidence.spread[component] == 0.4
            continue
        before = 1.0 / prior_variance(interactions, component, 0.4)
        gamma = members.size * information / (information + before)
        width = np.sqrt((theta[members] ** 2).sum() / gamma * members.size / 24)
        assert evidence.spread[component] == pytest.approx(width)
        after = 1.0 / prior_variance(interactions, component, evidence.spread[component])
        rows = np.array([interactions.inverse(np.eye(24)[place]) for place in members])
        uncertainty += (rows**2).sum(axis=0) / (information + after)
    assert evidence.uncertainty == pytest.approx(uncertainty)


def test_noisy_sums_add_their_precision() -> None:
    shape, mean, noise = (3, 2), 6.0, 2.0
    interactions = Interactions(shape)
    theta = np.ones(6)
    main = np.flatnonzero(interactions.component == 1)
    sums = NoisyCoefficients(interactions, main, np.zeros(2), np.array([0.5, 1.5]), ((1, 0),))
    found = weigh_evidence(
        interactions,
        theta,
        {0: 1.0, 1: 0.4},
        mean=np.full(6, mean),
        information=np.full(6, mean * mean / (mean + noise)),
        sums=sums,
    )
    # Seen with variance 2 by the cells and, on average, with precision 1 by the sums.
    information = mean * mean / (mean + 1.0 / (1.0 / noise + 1.0))
    before = 1.0 / prior_variance(interactions, 1, 0.4)
    gamma = 2 * information / (information + before)
    assert found.spread[1] == pytest.approx(np.sqrt(2.0 / gamma * 2 / 6))


@pytest.mark.parametrize("noise", [1e-3, 1.0, 50.0])
@pytest.mark.parametrize("precision", [0.0, 0.1, 1e6])
def test_joint_information_is_that_of_one_count_seen_twice(noise: float, precision: float) -> None:
    mean = np.array([0.01, 1.0, 300.0])
    found = joint_information(mean, mean * mean / (mean + noise), precision)
    assert found == pytest.approx(mean * mean / (mean + 1.0 / (1.0 / noise + precision)))
    assert np.all(found <= mean)


def test_joint_information_without_cells_without_sums_and_without_records() -> None:
    mean, none = np.array([2.0, 0.0]), np.zeros(2)
    assert joint_information(mean, none, 0.25) == pytest.approx([4.0 / 6.0, 0.0])
    assert np.array_equal(joint_information(mean, none, 0.0), none)
