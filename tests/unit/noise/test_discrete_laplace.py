"""Parameters, half-widths and records of the discrete Laplace law."""

import math
import pickle
from decimal import Decimal
from fractions import Fraction

import pytest

from synth.noise import DiscreteLaplace


@pytest.mark.parametrize("epsilon", [0, 0.0, False, None, "", "1", 1, 1.0, 0.1, True, Decimal(1)])
def test_an_epsilon_that_is_no_exact_fraction_is_refused(epsilon):
    with pytest.raises(TypeError, match="epsilon must be a Fraction"):
        DiscreteLaplace(epsilon, 1)


@pytest.mark.parametrize("epsilon", ["0", "-1", "-1e-9"])
def test_an_epsilon_that_is_not_positive_is_refused(epsilon):
    with pytest.raises(ValueError, match="epsilon must be positive"):
        DiscreteLaplace(Fraction(epsilon), 1)


@pytest.mark.parametrize("sensitivity", [None, False, True, 0.0, 1.0, "1", Fraction(1)])
def test_a_sensitivity_that_is_no_whole_number_is_refused(sensitivity):
    with pytest.raises(TypeError, match="sensitivity must be a whole number"):
        DiscreteLaplace(Fraction(1), sensitivity)


@pytest.mark.parametrize("sensitivity", [0, -1])
def test_a_sensitivity_below_one_is_refused(sensitivity):
    with pytest.raises(ValueError, match="at least 1"):
        DiscreteLaplace(Fraction(1), sensitivity)


def test_noise_too_wide_for_64_bits_is_refused():
    DiscreteLaplace(Fraction(1, 10**12), 1)
    with pytest.raises(ValueError, match="1e-12"):
        DiscreteLaplace(Fraction(1, 10**12), 2)


def test_the_law_is_frozen():
    law = DiscreteLaplace(Fraction(1), 1)
    with pytest.raises(AttributeError):
        law.epsilon = Fraction(2)
    assert law == DiscreteLaplace(Fraction(1), 1)
    assert pickle.loads(pickle.dumps(law)).alpha == law.alpha


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3", "10"])
@pytest.mark.parametrize(
    "confidence", [Fraction(1, 2), 0.5, 0.9, 0.95, Fraction(99, 100), 1 - 2**-40]
)
def test_half_width_is_the_smallest_that_holds(epsilon, confidence):
    law = DiscreteLaplace(Fraction(epsilon), 1)
    width = law.half_width(confidence)
    miss = 1 - Fraction(confidence)
    assert law.tail(width) <= miss
    assert width == 0 or law.tail(width - 1) > miss


def test_half_width_at_equality():
    """Where P(|X| > k) equals 1 - confidence exactly, k is enough."""
    law = DiscreteLaplace(Fraction(1), 1)
    for k in (0, 1, 5):
        assert law.half_width(1 - law.tail(k)) == k
        assert law.half_width(1 - law.tail(k) + Fraction(1, 10**400)) == k + 1


def test_half_width_of_wide_noise_needs_no_large_fractions():
    law = DiscreteLaplace(Fraction(1, 10**9), 1)
    assert law.half_width(Fraction(95, 100)) == pytest.approx(math.log(20) * 1e9, rel=1e-6)


@pytest.mark.parametrize("confidence", [0, 1, 0.0, 1.0, -1, 2, math.nan, math.inf])
def test_a_confidence_that_is_none_is_refused(confidence):
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        DiscreteLaplace(Fraction(1), 1).half_width(confidence)


@pytest.mark.parametrize("epsilon", ["1e-12", "0.001", "1", "100", "1e9"])
def test_bounds_of_the_law_enclose_it(epsilon):
    law = DiscreteLaplace(Fraction(epsilon), 1)
    for k in (-3, -1, 0, 1, 3):
        for bits in (16, 64, 200):
            low, high = law.cdf_bounds(k, bits)
            assert low <= law.cdf(k) * 2**bits <= high
            assert high - low <= 4
