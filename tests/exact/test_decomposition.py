"""Digits and quotient together have exactly the law of the whole: identities of fractions."""

from fractions import Fraction

import pytest

from synth.noise import DiscreteLaplace
from synth.noise.discrete_laplace import DigitDifference, TwoSidedGeometric
from synth.noise.quantile_table import BUCKETS, QuantileTable


def laplace(alpha: Fraction, k: int) -> Fraction:
    return (1 - alpha) / (1 + alpha) * alpha ** abs(k)


def digit_difference(alpha: Fraction, base: int, d: int) -> Fraction:
    total = sum(alpha**r for r in range(base))
    pairs = [(r, r - d) for r in range(base) if 0 <= r - d < base]
    return sum((alpha ** (r + s) for r, s in pairs), Fraction(0)) / total**2


@pytest.mark.parametrize("base", [2, 4, 8, 16])
@pytest.mark.parametrize("alpha", [Fraction(1, 2), Fraction(63, 64), Fraction(1023, 1024)])
def test_a_digit_and_a_quotient_make_up_the_noise(alpha, base):
    """X = D + base * Q: at most two digits differences d leave x - d a multiple of base."""
    for x in (*range(-2 * base, 2 * base + 1), -5 * base - 1, 7 * base + 1):
        remainder = x % base
        mass = sum(
            digit_difference(alpha, base, d) * laplace(alpha**base, (x - d) // base)
            for d in (remainder, remainder - base)
        )
        assert mass == laplace(alpha, x)


@pytest.mark.parametrize(
    "epsilon", ["1e-12", "1e-9", "1e-5", "0.001", "0.01", "0.031", "0.05", "1"]
)
def test_parts_are_digits_and_a_quotient_that_fit_tables(epsilon):
    law = DiscreteLaplace(Fraction(epsilon), 1)
    *digits, quotient = law.parts()
    step = 1
    for digit in digits:
        assert isinstance(digit.law, DigitDifference)
        assert digit.step == digit.law.exponent == step
        assert digit.law.alpha == law.alpha
        assert 2 <= digit.law.base <= 128
        step *= digit.law.base
    assert quotient.step == step
    assert quotient.law == TwoSidedGeometric(law.alpha, step)
    assert law.rate * step >= Fraction(1, 128), "narrow enough for one table"
    assert bool(digits) == (law.rate < Fraction(1, 128))


@pytest.mark.parametrize(
    ("epsilon", "parts"),
    [("1e-12", 6), ("1e-9", 5), ("1e-6", 3), ("0.001", 2), ("0.0078", 2), ("1/128", 1), ("10", 1)],
)
def test_few_parts_with_few_undecided_buckets(epsilon, parts):
    """The figures that docs/noise.md gives."""
    law = DiscreteLaplace(Fraction(epsilon), 1)
    tables = [QuantileTable(part.law, part.step) for part in law.parts()]
    assert len(tables) == parts
    for table in tables:
        assert (table.values == table.undecided).sum() <= 0.03 * BUCKETS
        assert len(table.lower) * 4 < 2**16, "so that 64 bits leave one cell in 2^48 open"
