"""The discrete Gaussian: bounds, all masses of its tables, and its privacy on toy tables.

The oracle sums exp(-k^2 / (2 sigma^2)) in decimals of 340 digits, each from the one before it by
two products, and keeps whole multiples of 10^-300. `Decimal.exp` is correctly rounded, so k steps
are off by less than 2 k^2 roundings.
"""

import importlib.util
import itertools
import math
from collections.abc import Iterator
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from itertools import islice
from pathlib import Path

import pytest

from synth.noise import DiscreteGaussian
from synth.noise.discrete_gaussian import gaussian_tails, gaussian_weights
from synth.noise.quantile_table import QuantileTable
from synth.privacy import rho_to_epsilon

DIGITS = 300
SCALE = 10**DIGITS
LAWS = {
    "sigma 0.2": DiscreteGaussian(Fraction(25, 2), 1),
    "sigma 1": DiscreteGaussian(Fraction(1, 2), 1),
    "sigma sqrt(32/3)": DiscreteGaussian(Fraction(3, 4), 16),
    "sigma 20": DiscreteGaussian(Fraction(1, 800), 1),
    "sigma 89": DiscreteGaussian(Fraction(1, 2 * 89**2), 1),  # the widest that has no blocks
}


def exponentials(unit: Decimal) -> Iterator[Decimal]:
    """exp(-unit * k^2) for k = 0, 1, 2, ..., with the digits of the context."""
    value, step, growth = Decimal(1), (-unit).exp(), (-2 * unit).exp()
    while True:
        yield value
        value *= step
        step *= growth


class DecimalGaussian:
    """cdf(x) * denominator for |x| <= reach, from weights rounded to whole numbers."""

    def __init__(self, sigma_squared: Fraction, reach: int) -> None:
        with localcontext(Context(prec=DIGITS + 40, Emin=-(10**7))):
            unit = Decimal(sigma_squared.denominator) / (2 * Decimal(sigma_squared.numerator))
            end = reach + 30 * math.isqrt(int(sigma_squared) + 1)
            weights = [int(weight * SCALE) for weight in islice(exponentials(unit), end)]
        self.denominator = 2 * sum(weights) - weights[0]
        self._upper = [0]  # P(X >= k), from the far end
        for weight in reversed(weights):
            self._upper.append(self._upper[-1] + weight)
        self._upper.reverse()

    def tail(self, k: int) -> int:
        return self._upper[k] if k < len(self._upper) else 0

    def cdf(self, x: int) -> int:
        return self.tail(-x) if x < 0 else self.denominator - self.tail(x + 1)

    def pmf(self, x: int) -> Fraction:
        return Fraction(self.cdf(x) - self.cdf(x - 1), self.denominator)


def _checks():
    place = Path(__file__).with_name("test_table_masses.py")
    spec = importlib.util.spec_from_file_location("masses_for_gaussian", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MASSES = _checks()
_cases = {}


@pytest.fixture(params=LAWS)
def case(request):
    """A law, its table and its oracle; built once."""
    if request.param not in _cases:
        law = LAWS[request.param]
        table = QuantileTable(law)
        oracle = DecimalGaussian(law.sigma_squared, len(table.lower) + 2)
        _cases[request.param] = (law, table, oracle)
    return _cases[request.param]


def check_table(law: DiscreteGaussian) -> None:
    """All 2^16 entries and all refinements of a table that is built now."""
    table = QuantileTable(law)
    oracle = DecimalGaussian(1 / (2 * law.rho / law.sensitivity_l2_squared), len(table.lower) + 2)
    MASSES.check_masses(table, oracle)


def test_entries_and_refinements_have_the_masses_of_the_law(case):
    _, table, oracle = case
    MASSES.check_masses(table, oracle)


def test_keys_on_a_threshold_are_decided_by_the_exact_law(case):
    _, table, oracle = case
    MASSES.test_keys_on_a_threshold_are_decided_by_the_exact_law((table, oracle))


def test_no_bucket_is_undecided_without_need(case):
    _, table, oracle = case
    MASSES.test_no_bucket_is_undecided_without_need((table, oracle))


@pytest.mark.parametrize("case", ["sigma 1", "sigma 20", "sigma 89"], indirect=True)
def test_the_support_is_not_cut_off(case):
    """More words reach beyond every threshold of the table."""
    law, table, _ = case
    MASSES.test_the_ends_of_the_law_are_reached_by_more_words((table, law))


@pytest.mark.parametrize("bits", [1, 16, 64, 144, 300])
def test_bounds_enclose_the_law_and_are_close(case, bits):
    law, table, oracle = case
    margin = Fraction(1, 10**100)
    ends = [*range(-40, 41), table.first, table.first - 7, -table.first, 10**6, -(10**6)]
    for value in ends:
        low, high = law.cdf_bounds(value, bits)
        exact = Fraction(oracle.cdf(value), oracle.denominator) * 2**bits
        assert 0 <= low <= exact * (1 + margin)
        assert exact * (1 - margin) <= high <= 2**bits
        assert high - low <= 2
    if bits >= 64:
        assert law.cdf_bounds(0, bits)[0] > 2 ** (bits - 1)


@pytest.mark.parametrize("sigma", [3000, 30000])
def test_wide_noise_is_bounded_as_closely(sigma):
    """At a few values, against the normal law with its Euler-Maclaurin correction.

    P(X <= k) is that of the normal law at k + 1/2, to within |phi''| / 24, which is
    less than 1/100 of sigma^-2.
    """
    law = DiscreteGaussian(Fraction(1, 2 * sigma**2), 1)
    tails = gaussian_tails(law.rate, 24)
    assert max(high - low for low, high in zip(tails.low, tails.high, strict=True)) <= 2
    for value in (-4 * sigma, -sigma, -1, 0, 7, sigma // 3, 3 * sigma):
        low, high = law.cdf_bounds(value, 24)
        normal = math.erfc(-(value + 0.5) / sigma / math.sqrt(2)) / 2 * 2**24
        slack = 2**24 * 0.01 / sigma**2
        assert low - slack <= normal <= high + slack


@pytest.mark.parametrize("bits", [8, 64, 200])
@pytest.mark.parametrize("rate", ["1e-4", "1/800", "0.3", "3", "256"])
def test_weights_enclose_their_exponentials(rate, bits):
    rate = Fraction(rate)
    weights = gaussian_weights(rate, bits)
    with localcontext(Context(prec=150, Emin=-(10**7))):
        unit = Decimal(rate.numerator) / Decimal(rate.denominator)
        exact = [
            Fraction(weight) * 2**bits
            for weight in islice(exponentials(unit), 2 * len(weights.low) + 9)
        ]
    for k, (low, high) in enumerate(zip(weights.low, weights.high, strict=True)):
        assert low <= exact[k] * (1 + Fraction(1, 10**140))
        assert exact[k] * (1 - Fraction(1, 10**140)) <= high
    assert sum(exact[len(weights.low) :]) <= weights.rest


def divergence(oracle, alpha: int, shift: int, reach: int) -> Decimal:
    """sum P(x)^alpha Q(x)^(1 - alpha), Q being P moved by `shift`: exp((alpha-1) D_alpha)."""
    with localcontext(Context(prec=100, Emin=-(10**7))):
        whole = range(-reach - abs(shift), reach + abs(shift) + 1)
        mass = {x: Decimal(oracle.cdf(x) - oracle.cdf(x - 1)) / oracle.denominator for x in whole}
        return sum(
            mass[x] ** alpha / mass[x - shift] ** (alpha - 1) for x in range(-reach, reach + 1)
        )


@pytest.mark.parametrize("rho", ["0.02", "0.5", "2"])
@pytest.mark.parametrize("shifts", [(1,), (2,), (1, 1), (1, -1)], ids=str)
def test_renyi_divergences_are_at_most_alpha_rho(rho, shifts):
    """Independent cells: divergences add up. |shifts|^2 is the squared sensitivity."""
    law = DiscreteGaussian(Fraction(rho), sum(shift**2 for shift in shifts))
    reach = math.ceil(26 * math.sqrt(law.sigma_squared))
    oracle = DecimalGaussian(law.sigma_squared, reach + 5)
    for alpha in (2, 3, 8):
        moment = Decimal(1)
        for shift in shifts:
            moment *= divergence(oracle, alpha, shift, reach)
        loss = float(moment.ln()) / (alpha - 1)
        assert loss <= alpha * float(law.rho) * (1 + 1e-12), "more is lost than claimed"
        assert loss >= alpha * float(law.rho) * 0.99 or law.sigma_squared < 1


@pytest.mark.parametrize(("rho", "delta"), [("0.02", "1e-6"), ("0.1", "1e-9"), ("0.5", "1e-6")])
@pytest.mark.parametrize("shifts", [(1,), (1, 1), (2, 0)], ids=str)
def test_every_output_of_toy_tables_is_within_epsilon_and_delta(rho, delta, shifts):
    """sum over outputs of max(0, P - exp(epsilon) Q) <= delta, over every noisy table."""
    delta, squared = Fraction(delta), sum(shift**2 for shift in shifts)
    law = DiscreteGaussian(Fraction(rho), squared)
    epsilon = math.exp(float(rho_to_epsilon(law.rho, delta)))
    reach = 9 * math.ceil(math.sqrt(law.sigma_squared))
    oracle = DecimalGaussian(law.sigma_squared, reach + 5)
    outputs = range(-reach, reach + 1)
    mass = {x: float(oracle.pmf(x)) for x in range(-reach - 5, reach + 6)}
    excess = math.fsum(
        max(
            0.0,
            math.prod(mass[x] for x in output)
            - epsilon * math.prod(mass[x - s] for x, s in zip(output, shifts, strict=True)),
        )
        for output in itertools.product(outputs, repeat=len(shifts))
    )
    assert excess <= float(delta)
    assert excess >= float(delta) / 100, "the claim is not far from the truth"


@pytest.mark.parametrize("sigma_squared", ["1/1000", "0.04", "0.5", "1", "2", "3.99", "4", "30"])
def test_the_variance_is_the_second_moment(sigma_squared):
    law = DiscreteGaussian(1 / (2 * Fraction(sigma_squared)), 1)
    oracle = DecimalGaussian(law.sigma_squared, 200)
    moment = sum(2 * k * k * oracle.pmf(k) for k in range(1, 190))
    assert law.variance == pytest.approx(float(moment), rel=1e-15)


def test_few_undecided_buckets():
    """The figure that docs/noise.md gives."""
    table = QuantileTable(LAWS["sigma 20"])
    assert (table.values == table.undecided).sum() == 162
