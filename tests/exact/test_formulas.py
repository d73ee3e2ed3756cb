"""Every formula in the docstrings of the noise is evaluated, and follows from the definition."""

import re
from fractions import Fraction

import pytest

from synth.noise import DiscreteLaplace
from synth.noise.discrete_laplace import DigitDifference, TwoSidedGeometric

LAWS = [
    DiscreteLaplace(Fraction(epsilon), sensitivity)
    for epsilon, sensitivity in (("0.1", 1), ("1", 1), ("1", 2), ("10", 1))
]


def evaluate(formula: str, **values) -> Fraction:
    """A formula as people write it: ^ for powers, |k| for magnitudes, 2 a for products."""
    python = re.sub(r"\|(\w+)\|", r"abs(\1)", formula).replace("^", "**")
    python = re.sub(r"\b(\d+) (?=[a-z(])", r"\1 * ", python)
    return eval(python, {"__builtins__": {}, "abs": abs}, values)


def formula_in(documented, pattern: str) -> str:
    found = re.search(pattern, " ".join((documented.__doc__ or "").split()))
    assert found, f"the docstring of {documented} has no formula like {pattern}"
    return found.group(1)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_pmf_is_what_both_docstrings_say(law):
    for documented in (DiscreteLaplace, DiscreteLaplace.pmf):
        formula = formula_in(documented, r"P\(X = k\) = (\S+ \* alpha\^\|k\|)")
        for k in range(-9, 10):
            assert law.pmf(k) == evaluate(formula, alpha=law.alpha, k=k)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_cdf_is_what_its_docstring_says(law):
    pattern = r"P\(X <= k\) = (.+) for k >= 0, .+ for k < 0, exactly"
    not_negative = formula_in(DiscreteLaplace.cdf, pattern)
    negative = formula_in(DiscreteLaplace.cdf, r"for k >= 0, (.+) for k < 0, exactly")
    for k in range(-9, 10):
        formula = not_negative if k >= 0 else negative
        assert law.cdf(k) == evaluate(formula, alpha=law.alpha, k=k)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_tail_and_variance_are_what_their_docstrings_say(law):
    tail = formula_in(DiscreteLaplace.tail, r"P\(\|X\| > k\) = (.+) for k >= 0")
    variance = formula_in(DiscreteLaplace.variance, r"^(.+), in records squared")
    for k in range(9):
        assert law.tail(k) == evaluate(tail, alpha=law.alpha, k=k)
    assert law.tail(-1) == 1
    assert law.variance == float(evaluate(variance, alpha=law.alpha))


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_pmf_cdf_and_tail_belong_together(law):
    for k in range(-9, 10):
        assert law.cdf(k) - law.cdf(k - 1) == law.pmf(k) > 0
        assert law.pmf(k) == law.pmf(-k)
        assert law.cdf(k) + law.cdf(-k - 1) == 1, "symmetric"
        assert law.pmf(abs(k) + 1) / law.pmf(abs(k)) == law.alpha
    for k in range(9):
        assert law.tail(k) == law.cdf(-k - 1) + 1 - law.cdf(k)
    far = 60 * int(1 / law.rate + 1)
    assert law.cdf(-far) < Fraction(1, 10**20), "the mass is all there: cdf goes from 0 to 1"
    assert law.cdf(far) > 1 - Fraction(1, 10**20)


@pytest.mark.parametrize("epsilon", ["1", "2", "5"])
def test_variance_is_the_second_moment(epsilon):
    law = DiscreteLaplace(Fraction(epsilon), 1)
    second_moment = sum(2 * k * k * law.pmf(k) for k in range(1, 80))
    assert law.variance == pytest.approx(float(second_moment), rel=1e-15)


def test_variances_known_from_the_literature():
    known = {"0.1": 199.8, "0.5": 7.84, "1": 1.84, "2": 0.362, "5": 0.0137}
    for epsilon, variance in known.items():
        assert DiscreteLaplace(Fraction(epsilon), 1).variance == pytest.approx(variance, rel=5e-3)


@pytest.mark.parametrize("exponent", [1, 3])
def test_bounds_of_the_two_sided_geometric_enclose_its_formula(exponent):
    alpha = DiscreteLaplace(Fraction("0.3"), 1).alpha
    b = alpha**exponent
    law = TwoSidedGeometric(alpha, exponent)
    formulas = [
        formula_in(TwoSidedGeometric.cdf_bounds, r"\) = (.+) below 0"),
        formula_in(TwoSidedGeometric.cdf_bounds, r"below 0, else (.+)\. Rounding"),
    ]
    pmf = formula_in(TwoSidedGeometric, r"P\(k\) = (.+) with b")
    for bits in (16, 64, 80, 300):
        for value in (-200, -40, -3, -2, -1, 0, 1, 2, 3, 40, 200):
            exact = evaluate(formulas[value >= 0], b=b, value=value)
            step = exact - evaluate(formulas[value - 1 >= 0], b=b, value=value - 1)
            assert step == evaluate(pmf, b=b, k=value)
            assert_encloses(law.cdf_bounds(value, bits), exact, bits)


@pytest.mark.parametrize("base", [2, 4, 8, 16])
def test_bounds_of_the_digit_difference_enclose_its_definition(base):
    alpha = DiscreteLaplace(Fraction("0.03"), 1).alpha
    for exponent in (1, 5):
        b = alpha**exponent
        digit = [b**r / sum(b**j for j in range(base)) for r in range(base)]
        law = DigitDifference(alpha, exponent, base)
        total = Fraction(0)
        for d in range(-base - 1, base + 2):
            total += sum(digit[r] * digit[r - d] for r in range(base) if 0 <= r - d < base)
            for bits in (16, 64, 80, 300):
                assert_encloses(law.cdf_bounds(d, bits), total, bits)
        assert total == 1


def assert_encloses(bounds, exact: Fraction, bits: int) -> None:
    low, high = bounds
    assert low <= exact * 2**bits <= high
    assert high - low <= 4, "what IntegerLaw promises"
