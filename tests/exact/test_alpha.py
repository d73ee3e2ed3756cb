"""alpha is exp(-epsilon / sensitivity) rounded up, checked against 200 decimal digits.

`Decimal.exp` is correctly rounded, so with 200 digits its relative error is below 10^-199; the
division before it adds less than 10^-190 for every rate used here. `MARGIN` covers both.
"""

from decimal import Context, Decimal, localcontext
from fractions import Fraction

import pytest

from synth.noise import DiscreteLaplace
from synth.noise.law import (
    _alternating_series,
    exponential_bounds,
    exponential_rounded_up,
    power_bounds,
)

MARGIN = Fraction(1, 10**180)
EPSILONS = [
    Fraction(text)
    for text in (
        *(
            "1e-12",
            "1e-9",
            "1/1000003",
            "0.001",
            "0.01",
            "1/32",
            "0.1",
            "1/3",
            "0.5",
            "0.6931",
            "1",
        ),
        *("1.5", "2", "5", "10", "22/7", "64", "100", "255.9", "256"),
    )
]


def exponential_by_decimals(rate: Fraction) -> Fraction:
    with localcontext() as context:
        context.prec = 200
        return Fraction((-Decimal(rate.numerator) / Decimal(rate.denominator)).exp())


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_alpha_is_the_next_dyadic_number_above_the_exponential(epsilon):
    for sensitivity in (1, 2, 7):
        rate = epsilon / sensitivity
        if rate < Fraction(1, 10**12):
            continue
        alpha = DiscreteLaplace(epsilon, sensitivity).alpha
        exact = exponential_by_decimals(rate)
        significant = 64 + (rate.denominator // rate.numerator).bit_length()
        assert alpha.denominator.bit_count() == 1, "dyadic"
        assert alpha >= exact * (1 + MARGIN), "rounded down"
        # one step down on the grid of `significant` bits lies below the exponential
        assert alpha.numerator.bit_length() <= significant
        step = Fraction(2) ** (_exponent(alpha) - significant)
        assert alpha - step <= exact * (1 - MARGIN), "rounded up too far"


def _exponent(alpha: Fraction) -> int:
    """The e with 2^(e-1) <= alpha < 2^e."""
    exponent = alpha.numerator.bit_length() - (alpha.denominator.bit_length() - 1)
    assert Fraction(2) ** (exponent - 1) <= alpha < Fraction(2) ** exponent
    return exponent


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_the_true_loss_never_exceeds_the_claim_and_hardly_falls_short(epsilon):
    for sensitivity in (1, 3):
        if epsilon / sensitivity < Fraction(1, 10**12):
            continue
        alpha = DiscreteLaplace(epsilon, sensitivity).alpha
        with localcontext() as context:
            context.prec = 200
            ratio = Decimal(alpha.numerator) / Decimal(alpha.denominator)
            loss = Fraction(-sensitivity * ratio.ln())
        assert loss <= epsilon * (1 - MARGIN)
        assert loss >= epsilon * (1 - Fraction(1, 2**62))


@pytest.mark.parametrize("epsilon", ["257", "1000", "1e6", "1e30"])
def test_a_huge_epsilon_keeps_noise_on(epsilon):
    largest = DiscreteLaplace(Fraction(256), 1)
    assert DiscreteLaplace(Fraction(epsilon), 1).alpha == largest.alpha
    assert 0 < largest.alpha < Fraction(1, 10**110)
    assert largest.variance > 0


def test_a_tiny_epsilon_keeps_alpha_below_one():
    alpha = DiscreteLaplace(Fraction(1, 10**9), 1).alpha
    assert 1 - Fraction(1, 10**9) < alpha < 1


def test_a_rate_with_huge_terms_is_no_problem():
    rate = Fraction(10**400 + 1, 3 * 10**400)
    alpha = exponential_rounded_up(rate)
    assert abs(alpha - exponential_by_decimals(Fraction(1, 3))) < Fraction(1, 2**63)


@pytest.mark.parametrize("bits", [8, 64, 80, 500])
@pytest.mark.parametrize("rate", ["1e-9", "0.1", "0.5", "1", "3", "50"])
def test_exponential_bounds_enclose(rate, bits):
    low, high = exponential_bounds(Fraction(rate), bits)
    exact = exponential_by_decimals(Fraction(rate)) * 2**bits
    assert low <= exact <= high
    assert low >= 0
    # a unit or two for each of at most 2 bits terms, doubled by each of at most 7 squarings
    assert high - low <= 4 * bits * 2**7


@pytest.mark.parametrize("bits", [1, 16, 64, 80, 144])
@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 7, 64, 1000])
@pytest.mark.parametrize("base", ["0", "1", "1/2", "0.37", "0.9999", "1e-30"])
def test_power_bounds_enclose_closely(base, exponent, bits):
    exact = Fraction(base) ** exponent * 2**bits
    low, high = power_bounds(Fraction(base), exponent, bits)
    assert low <= exact <= high
    assert high - low <= 2


def test_power_bounds_become_exact_with_enough_bits():
    assert power_bounds(Fraction(3, 8), 5, 15) == (3**5, 3**5)


@pytest.mark.parametrize("bits", range(1, 13))
def test_every_series_of_few_bits_encloses_its_exponential(bits):
    """All whole y up to 2^bits / 2, those included where every term but the last is exact."""
    for y in range((1 << bits) // 2 + 1):
        exact = Context(prec=50).exp(Decimal(-y) / (1 << bits)) * (1 << bits)
        low, high = _alternating_series(y, y, bits)
        assert low <= exact <= high
