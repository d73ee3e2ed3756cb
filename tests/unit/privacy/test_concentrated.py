"""From rho to (epsilon, delta) and back: safe, tight, and the same everywhere."""

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import pytest
from dp_accounting import dp_event
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.rdp import rdp_privacy_accountant as rdp

from synth.privacy import (
    Budget,
    SelectionEvent,
    TableEvent,
    concentrated,
    largest_rho,
    rho_to_epsilon,
    total_budget,
)

CASES = [("0.0005", "1e-6"), ("0.015", "1e-9"), ("0.1", "1e-6"), ("0.5", "1e-5"), ("2", "1e-9")]


def gaussian(rho):
    return TableEvent(
        ("a",), 3, 1, mechanism="discrete-gaussian", rho=Fraction(rho), sensitivity_l2_squared=1
    )


def laplace(epsilon):
    return TableEvent(("a",), 3, 1, Fraction(epsilon))


def log_delta(rho, epsilon, alpha):
    """The formula itself, in decimals of 50 digits."""
    with localcontext(Context(prec=50)):
        rho, epsilon, alpha = (
            Decimal(x.numerator) / Decimal(x.denominator)
            for x in map(Fraction, (rho, epsilon, alpha))
        )
        return (
            (alpha - 1) * (alpha * rho - epsilon) - (alpha - 1).ln() + alpha * (1 - 1 / alpha).ln()
        )


def best_log_delta(rho, epsilon):
    """The smallest over alpha - 1 from 10^-4 to 10^6: a grid, then thirds around its best."""
    best = min(
        (Fraction(10) ** e * k for e in range(-4, 6) for k in range(1, 10)),
        key=lambda x: log_delta(rho, epsilon, 1 + x),
    )
    low, high = best / 2, best * 2
    for _ in range(70):
        left, right = (2 * low + high) / 3, (low + 2 * high) / 3
        if log_delta(rho, epsilon, 1 + left) < log_delta(rho, epsilon, 1 + right):
            high = right.limit_denominator(10**30)
        else:
            low = left.limit_denominator(10**30)
    return log_delta(rho, epsilon, 1 + low)


@pytest.mark.parametrize(("rho", "delta"), CASES)
def test_the_formula_gives_no_more_than_delta_at_epsilon_and_more_just_below(rho, delta):
    rho, delta = Fraction(rho), Fraction(delta)
    epsilon = rho_to_epsilon(rho, delta)
    target = Decimal(delta.numerator) / Decimal(delta.denominator)
    assert best_log_delta(rho, epsilon) <= target.ln()
    assert best_log_delta(rho, epsilon * (1 - Fraction(1, 10**12))) > target.ln()


@pytest.mark.parametrize(("rho", "delta"), CASES)
def test_never_below_the_privacy_loss_distribution_of_the_noise_and_close_to_it(rho, delta):
    """The discrete Gaussian's own epsilon, by another program's exact composition of losses."""
    epsilon = float(rho_to_epsilon(Fraction(rho), Fraction(delta)))
    sigma = math.sqrt(1 / (2 * float(rho)))
    losses = pld.from_discrete_gaussian_mechanism(
        sigma, value_discretization_interval=1e-4 * max(1.0, epsilon), pessimistic_estimate=False
    )
    exact = losses.get_epsilon_for_delta(float(delta))
    assert exact <= epsilon
    assert epsilon <= 1.12 * exact, "zCDP alone cannot be as tight as the law itself"


@pytest.mark.parametrize(("rho", "delta"), CASES)
def test_never_above_another_accountant_of_renyi_divergences(rho, delta):
    """The same formula over that program's grid of orders, in floating point."""
    orders = [1 + x / 100 for x in range(1, 5000)] + list(range(52, 2000))
    accountant = rdp.RdpAccountant(orders=orders)
    accountant.compose(dp_event.ZCDpEvent(float(rho)))
    theirs = accountant.get_epsilon(float(Fraction(delta)))
    ours = float(rho_to_epsilon(Fraction(rho), Fraction(delta)))
    assert theirs * (1 - 1e-4) <= ours <= theirs * (1 + 1e-9)


@pytest.mark.parametrize("delta", ["1e-100", "1e-12", "1e-11", "1e-9", "1e-6", "0.01", "0.5"])
@pytest.mark.parametrize("epsilon", ["1e-10", "1e-4", "0.1", "1", "7/3", "56/3", "10", "100"])
def test_the_largest_rho_fits_and_a_little_more_does_not(epsilon, delta):
    epsilon, delta = Fraction(epsilon), Fraction(delta)
    rho = largest_rho(epsilon, delta)
    assert type(rho) is Fraction
    assert rho > 0
    assert rho_to_epsilon(rho, delta) <= epsilon
    assert rho_to_epsilon(rho * (1 + Fraction(1, 10**9)), delta) > epsilon


@pytest.mark.parametrize("order", ["2", "3.5", "17"])
def test_sixty_digits_never_round_in_our_favour(order, monkeypatch):
    """At any alpha the epsilon is at least the formula's, also a hair above a rounded number.

    The value is rounded up to 15 digits, so an error in the sixtieth shows only where the formula
    lies just above one of these numbers: rho is moved there, by steps around it.
    """
    x, delta = Decimal(order) - 1, Fraction(1, 10**6)
    monkeypatch.setattr(concentrated, "_minimum", lambda *_: x)
    alpha = Fraction(order)

    def formula(rho):
        with localcontext(Context(prec=200)):
            rest = (1 - 1 / Decimal(order)).ln() + (-Decimal("1e-6").ln() - Decimal(order).ln()) / x
            return alpha * rho + Fraction(rest)

    rounded = rho_to_epsilon.__wrapped__(Fraction(1, 7), delta)
    at = Fraction(1, 7) + (rounded - formula(Fraction(1, 7))) / alpha
    above = 0
    for step in range(1, 200):
        rho = at + Fraction(step, 10**61)
        found = rho_to_epsilon.__wrapped__(rho, delta)
        assert found >= formula(rho) > rounded
        above += found > rounded
    assert above == 199


def test_results_are_short_fractions():
    epsilon = rho_to_epsilon(Fraction(1, 3), Fraction(1, 10**6))
    assert 10**20 % epsilon.denominator == 0
    assert len(str(epsilon.numerator * (10**20 // epsilon.denominator)).rstrip("0")) <= 15


def test_more_rho_or_less_delta_costs_more():
    rhos = [Fraction(k, 1000) for k in range(1, 60, 4)]
    epsilons = [rho_to_epsilon(rho, Fraction(1, 10**9)) for rho in rhos]
    assert epsilons == sorted(set(epsilons))
    deltas = [Fraction(1, 10**k) for k in range(2, 20, 3)]
    epsilons = [rho_to_epsilon(Fraction(1, 10), delta) for delta in deltas]
    assert epsilons == sorted(set(epsilons))


def test_the_caller_s_decimal_context_changes_nothing():
    plain = rho_to_epsilon.__wrapped__(Fraction(1, 7), Fraction(1, 10**9))
    back = largest_rho.__wrapped__(plain, Fraction(1, 10**9))
    with localcontext(Context(prec=3)):
        assert rho_to_epsilon.__wrapped__(Fraction(1, 7), Fraction(1, 10**9)) == plain
        assert largest_rho.__wrapped__(plain, Fraction(1, 10**9)) == back


@pytest.mark.parametrize("wrong", [0, 0.1, None, 1, "1"])
def test_inexact_budgets_are_refused(wrong):
    for function in (rho_to_epsilon, largest_rho):
        with pytest.raises(TypeError, match="Fraction"):
            function(wrong, Fraction(1, 10))
        with pytest.raises(TypeError, match="Fraction"):
            function(Fraction(1, 10), wrong)


@pytest.mark.parametrize("delta", ["0", "-1", "1", "2", "1e-301"])
def test_a_delta_that_is_no_probability_below_one_is_refused(delta):
    for function in (rho_to_epsilon, largest_rho):
        with pytest.raises(ValueError, match="delta"):
            function(Fraction(1), Fraction(delta))


@pytest.mark.parametrize("amount", ["0", "-1", "1e10", "1e-31"])
def test_an_amount_beyond_the_limits_is_refused(amount):
    for function in (rho_to_epsilon, largest_rho):
        with pytest.raises(ValueError, match="too small or too large"):
            function(Fraction(amount), Fraction(1, 10))


class TestComposition:
    """`total_budget` over tables of both noises and private choices."""

    DELTA = Fraction(1, 10**9)

    def test_pure_events_need_no_delta(self):
        events = [laplace("1/3"), SelectionEvent(7, Fraction(1, 6))]
        assert total_budget(events, delta=self.DELTA) == Budget(Fraction(1, 2), Fraction(0))

    def test_gaussian_tables_add_up_their_rhos(self):
        total = total_budget([gaussian("1/100")] * 10, delta=self.DELTA)
        assert total == Budget(rho_to_epsilon(Fraction(1, 10), self.DELTA), self.DELTA)

    def test_gaussian_tables_without_a_delta_are_refused(self):
        with pytest.raises(ValueError, match="delta"):
            total_budget([gaussian("1/100")], delta=Fraction(0))

    def test_one_large_pure_event_is_added(self):
        total = total_budget([gaussian("1/1000"), laplace("1")], delta=self.DELTA)
        assert total.epsilon == 1 + rho_to_epsilon(Fraction(1, 1000), self.DELTA)

    def test_many_small_pure_events_are_converted(self):
        choices = [SelectionEvent(9, Fraction(1, 100))] * 100
        total = total_budget([gaussian("1/100"), *choices], delta=self.DELTA)
        converted = Fraction(1, 100) + 100 * Fraction(1, 100) ** 2 / 2
        assert total.epsilon == rho_to_epsilon(converted, self.DELTA)
        assert total.epsilon < 1 + rho_to_epsilon(Fraction(1, 100), self.DELTA)

    @pytest.mark.parametrize("count", [1, 5, 40])
    def test_never_below_the_composed_loss_distributions(self, count):
        """Laplace and Gaussian noise composed by another program."""
        rho, epsilon = Fraction(1, 200), Fraction(1, 20)
        events = [laplace(epsilon)] * count + [gaussian(rho)] * 4
        step = {"value_discretization_interval": 1e-3, "pessimistic_estimate": False}
        losses = pld.from_discrete_gaussian_mechanism(10, **step).self_compose(4)
        losses = losses.compose(
            pld.from_discrete_laplace_mechanism(float(epsilon), **step).self_compose(count)
        )
        total = total_budget(events, delta=Fraction(1, 10**6))
        exact = losses.get_epsilon_for_delta(1e-6)
        assert exact <= float(total.epsilon) <= 1.4 * exact

    def test_a_selection_has_substance(self):
        for wrong in ({"candidates": 0}, {"epsilon": Fraction(0)}, {"mechanism": "exponential"}):
            with pytest.raises(ValueError, match=r"positive|no accounting rule"):
                SelectionEvent(**{"candidates": 3, "epsilon": Fraction(1), **wrong})
        for wrong in ({"candidates": 2.0}, {"candidates": True}, {"epsilon": 1}, {"epsilon": 0.5}):
            with pytest.raises(TypeError):
                SelectionEvent(**{"candidates": 3, "epsilon": Fraction(1), **wrong})
