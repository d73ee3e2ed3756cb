"""What a claim allows, against the exact laws of the noise."""

import math
from fractions import Fraction

import numpy as np
import pytest

from synth.audit.canaries import (
    Canaries,
    GaussianClaim,
    PureClaim,
    difference_masses,
    discrete_gaussian_masses,
)
from synth.audit.tables import wanted_canaries
from synth.noise import DiscreteGaussian, DiscreteLaplace

BITS = 80


def exact_mass(law, value):
    low, _ = law.cdf_bounds(value, BITS)
    below, _ = law.cdf_bounds(value - 1, BITS)
    return (low - below) / (1 << BITS)


@pytest.mark.parametrize("records", [1, 2, 3, 5])
@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("epsilon", ["1/10", "1", "4"])
def test_the_best_guess_of_laplace_noise_is_right_as_often_as_the_claim_allows(
    records, replaced, epsilon
):
    """Guesses are made where the evidence is largest; all of it is summed up from the exact law."""
    canaries = Canaries(records, replaced)
    law = DiscreteLaplace(Fraction(epsilon), records * canaries.cells_each)

    def at_most(value):
        low, _ = law.cdf_bounds(value, BITS)
        return low / (1 << BITS)

    right, wrong = 1 - at_most(-1), 1 - at_most(records - 1)  # at least `records` was seen
    if replaced:
        right, wrong = right * at_most(0), wrong * at_most(-records)
    claim = PureClaim(float(Fraction(epsilon)))
    assert right / (right + wrong) == pytest.approx(claim.share_right, abs=1e-9)
    guessed = claim.needed_guesses(3) / wanted_canaries(claim, canaries, 0.0013499)
    assert guessed == pytest.approx(right + wrong, rel=0.02)


def test_the_bound_of_a_share_is_the_epsilon_that_allows_it():
    for epsilon in (0.01, 1.0, 12.0):
        claim = PureClaim(epsilon)
        assert claim.lower_bound(claim.share_right) == pytest.approx(epsilon, rel=1e-9)
    assert PureClaim(1.0).lower_bound(0.5) == 0
    assert PureClaim(1.0).lower_bound(1.0) == math.inf


@pytest.mark.parametrize("sigma_squared", ["1/4", "1", "9", "5000"])
def test_masses_are_those_of_the_exact_law(sigma_squared):
    law = DiscreteGaussian(1 / (2 * Fraction(sigma_squared)), 1)
    masses = discrete_gaussian_masses(float(Fraction(sigma_squared)), np.arange(-5, 6))
    for value, mass in zip(range(-5, 6), masses, strict=True):
        assert mass == pytest.approx(exact_mass(law, value), rel=1e-10)


def test_masses_of_a_difference_are_a_convolution():
    law = DiscreteGaussian(Fraction(1, 8), 1)
    exact = [exact_mass(law, value) for value in range(-60, 61)]
    convolved = np.convolve(exact, exact)
    values = np.arange(-4, 5)
    assert difference_masses(4.0, values) == pytest.approx(convolved[values + 120], rel=1e-9)
    both_ways = [difference_masses(sigma**2, values) for sigma in (63.999999, 64.000001)]
    assert both_ways[0] == pytest.approx(both_ways[1], rel=1e-6)


@pytest.mark.parametrize("records", [1, 2, 5])
@pytest.mark.parametrize("replaced", [False, True])
def test_the_share_of_a_gaussian_claim_is_half_of_one_plus_the_distance(records, replaced):
    rho, squared = Fraction(1, 3), records**2 * (2 if replaced else 1)
    law = DiscreteGaussian(rho, squared)
    reach = 60
    pmf = {value: exact_mass(law, value) for value in range(-reach, reach + 1)}

    def p(value):
        return pmf.get(value, 0.0)

    values = range(-reach, reach + 1)
    if replaced:
        distance = sum(
            abs(p(a - records) * p(b) - p(a) * p(b - records)) for a in values for b in values
        )
    else:
        distance = sum(abs(p(v - records) - p(v)) for v in values)
    claim = GaussianClaim(float(rho), squared, Canaries(records, replaced))
    assert claim.share_right == pytest.approx(0.5 + distance / 4, abs=1e-9)
    assert claim.lower_bound(claim.share_right) == pytest.approx(float(rho), rel=1e-7)
    assert claim.lower_bound(0.5) == 0
    more = claim.share_at(2 * float(rho))
    assert claim.lower_bound(more) == pytest.approx(2 * float(rho), rel=1e-7)
