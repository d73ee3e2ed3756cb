"""The verifier's own conversion and variances, against slow definitions and other software."""

import math
from decimal import Context, Decimal
from fractions import Fraction

import pytest
from dp_accounting.rdp import rdp_privacy_accountant

from synth.noise import DiscreteLaplace
from tests.unit.release import budget_oracle as module
from tests.unit.release.budget_oracle import (
    LARGEST,
    LARGEST_SUMMED,
    LEAST,
    RAISED,
    SAFETY,
    SMALLEST,
    delta_bound,
    gaussian_variance,
    laplace_variance,
    rounded_up,
)

CASES = [("1/50", 1), ("1/2", 8), ("1/1000", "1/10"), (5, 20), ("1/100000", "1/50"), (50, 200)]


def bound_at(alpha, rho, epsilon):
    """The bound of one order, in floating point."""
    exponent = (alpha - 1) * (alpha * rho - epsilon + math.log1p(-1 / alpha)) - math.log(alpha)
    return math.exp(min(exponent, 0))


@pytest.mark.parametrize(("rho", "epsilon"), CASES)
def test_the_bound_is_the_smallest_of_all_orders(rho, epsilon):
    rho, epsilon = Fraction(rho), Fraction(epsilon)
    orders = [1 + 10 ** (step / 200) for step in range(-600, 1200)]
    best = min(bound_at(alpha, float(rho), float(epsilon)) for alpha in orders)
    found = float(delta_bound(rho, epsilon))
    assert found <= best * (1 + 1e-9)
    assert found > best * 0.99


@pytest.mark.parametrize(("rho", "epsilon"), CASES)
def test_the_bound_is_that_of_renyi_accounting(rho, epsilon):
    rho, epsilon = Fraction(rho), Fraction(epsilon)
    orders = [1 + 10 ** (step / 200) for step in range(-600, 1200)]
    divergences = [alpha * float(rho) for alpha in orders]
    expected, _ = rdp_privacy_accountant.compute_delta(orders, divergences, float(epsilon))
    assert float(delta_bound(rho, epsilon)) == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(("rho", "epsilon"), CASES)
def test_no_true_delta_of_a_gaussian_is_above_the_bound(rho, epsilon):
    """Of all rho-zCDP mechanisms the Gaussian is one, whose delta is known in closed form."""
    rho, epsilon = float(Fraction(rho)), float(Fraction(epsilon))
    mu = math.sqrt(2 * rho)

    def phi(x):
        return math.erfc(-x / math.sqrt(2)) / 2

    true = phi(-epsilon / mu + mu / 2) - math.exp(epsilon) * phi(-epsilon / mu - mu / 2)
    assert true <= float(delta_bound(Fraction(rho), Fraction(epsilon)))


def test_the_bound_is_raised_by_all_of_the_safety():
    assert Fraction(RAISED) == 1 + Fraction(SAFETY) > 1


@pytest.mark.parametrize(("rho", "epsilon"), CASES)
def test_the_bound_is_raised_above_what_more_digits_give(rho, epsilon, monkeypatch):
    rho, epsilon = Fraction(rho), Fraction(epsilon)
    found = delta_bound(rho, epsilon)
    monkeypatch.setattr(module, "DIGITS", Context(prec=150))
    monkeypatch.setattr(module, "RAISED", Decimal(1))
    closer = delta_bound(rho, epsilon)
    excess = Fraction(found) / Fraction(closer) - 1
    assert Fraction(9, 10) < excess / Fraction(SAFETY) < Fraction(11, 10)


def test_more_is_never_better():
    epsilons = [Fraction(k, 7) for k in range(1, 60)]
    deltas = [delta_bound(Fraction(1, 10), epsilon) for epsilon in epsilons]
    assert deltas == sorted(deltas, reverse=True)
    deltas = [delta_bound(Fraction(k, 100), Fraction(2)) for k in range(1, 60)]
    assert deltas == sorted(deltas)


def test_what_no_mechanism_can_have_is_bounded_by_one_and_the_least():
    huge = Fraction(10**400)
    assert delta_bound(huge, huge) == 1
    assert delta_bound(Fraction(1), Fraction(0)) == 1
    assert delta_bound(Fraction(1), Fraction(-1)) == 1
    assert delta_bound(1 / huge, huge) == LEAST == delta_bound(SMALLEST, LARGEST)
    assert delta_bound(1 / huge, Fraction(1, 10**6)) == delta_bound(SMALLEST, Fraction(1, 10**6))


def test_a_bound_is_shown_rounded_up():
    assert rounded_up(Fraction(1, 3)) == "0.333334"
    assert rounded_up(Fraction(1, 10**9)) == "1e-9"


@pytest.mark.parametrize("sigma_squared", ["1/512", "1/20", "1/2", 1, "7/3", 4, 30, 63])
def test_the_variance_of_a_discrete_gaussian_is_that_of_its_masses(sigma_squared):
    sigma_squared = Fraction(sigma_squared)
    values = range(-200, 201)
    masses = [math.exp(-k * k / (2 * float(sigma_squared))) for k in values]
    slow = math.fsum(k * k * m for k, m in zip(values, masses, strict=True)) / math.fsum(masses)
    assert float(gaussian_variance(sigma_squared)) == pytest.approx(slow, rel=1e-13)


def test_a_wide_gaussian_has_the_variance_sigma_squared():
    edge = Fraction(LARGEST_SUMMED)
    assert abs(gaussian_variance(edge) / edge - 1) < Fraction(1, 10**70)
    assert gaussian_variance(edge + 1) == edge + 1


@pytest.mark.parametrize("rate", ["1/1000", 1, 30])
def test_the_variance_of_discrete_laplace_noise_is_that_of_the_mechanism(rate):
    rate = Fraction(rate)
    assert float(laplace_variance(rate)) == pytest.approx(
        DiscreteLaplace(rate, 1).variance, rel=1e-15
    )
