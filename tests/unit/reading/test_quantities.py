"""Shares, means, differences and ratios: what is asked for, and intervals by enumerated noise."""

import math
from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from synth.domain import Attribute, Universe
from synth.errors import QueryError
from synth.measurements import MeasuredTable, Measurements
from synth.measurements.intervals import Intervals
from synth.noise import noise_variance
from synth.privacy import TableEvent
from synth.reading.measured_quantities import MOST_STEPS, MeasuredQuantities, compared, grid
from synth.reading.quantities import Asked, value

GROUPS = Attribute("group, or so", "categorical", ("a", 'b "c"'))
AGE = Attribute("age", "integer", edges=tuple(map(Fraction, (0, 20, 40, 100))), missing=("",))
GAIN = Attribute("gain", "number", edges=(Fraction(-1), Fraction(0), Fraction("2.5")))
UNIVERSE = Universe((GROUPS, AGE, GAIN))
TRUTH = np.random.default_rng(3).integers(0, 40, UNIVERSE.size)
A, B = '"group, or so"=a', 'group, or so="b ""c"""'


def of_truth(where):
    table = TRUTH.reshape(UNIVERSE.shape)
    sizes = zip(UNIVERSE.names, UNIVERSE.shape, strict=True)
    chosen = np.ix_(*(where.codes.get(name, range(size)) for name, size in sizes))
    return np.array(table[chosen].sum(), dtype=float)


def asked(**given):
    return list(Asked(**given).quantities(UNIVERSE))


def by_hand(chosen):
    """Sums over cells of [whether chosen, number of age, number of gain] by a plain loop."""
    found = np.zeros(4)
    for count, (group, age, gain) in zip(TRUTH, np.ndindex(UNIVERSE.shape), strict=True):
        if chosen(group, age, gain):
            numbers = (9, 29, 70, 0)[age], (-0.5, 1.25)[gain]
            found += count * np.array([1, age < 3, numbers[0], numbers[1]])
    return found


@pytest.mark.parametrize(
    ("given", "text", "expected"),
    [
        (
            {"shares": ["age in [0, 40)"]},
            "share of age in [0, 40)",
            by_hand(lambda _, age, __: age < 2)[0] / by_hand(lambda *_: True)[0],
        ),
        (
            {"shares": ["age in [0, 40)"], "within": f"{A}, age in [20, 101)"},
            f"share of age in [0, 40) within {A}, age in [20, 101)",
            by_hand(lambda group, age, _: group == 0 and age == 1)[0]
            / by_hand(lambda group, age, _: group == 0 and age in (1, 2))[0],
        ),
        (
            {"means": ["age"], "within": B},
            f"mean of age within {B}",
            by_hand(lambda group, *_: group == 1)[2] / by_hand(lambda group, *_: group == 1)[1],
        ),
        (
            {"means": ["gain"], "within": "age is missing"},
            "mean of gain within age is missing",
            by_hand(lambda _, age, __: age == 3)[3] / by_hand(lambda _, age, __: age == 3)[0],
        ),
        (
            {"means": ["age"], "difference": (A, B), "within": "age in [20, 101), gain in [-1, 0)"},
            f"mean of age within age in [20, 101), gain in [-1, 0), {A} minus "
            f"mean of age within age in [20, 101), gain in [-1, 0), {B}",
            np.subtract(
                *(
                    by_hand(lambda g, a, n, of=of: g == of and a in (1, 2) and n == 0)[2]
                    / by_hand(lambda g, a, n, of=of: g == of and a in (1, 2) and n == 0)[1]
                    for of in (0, 1)
                )
            ),
        ),
        (
            {"ratio": (A, "age is missing")},
            f"{A} over age is missing",
            by_hand(lambda group, *_: group == 0)[0] / by_hand(lambda _, age, __: age == 3)[0],
        ),
    ],
)
def test_what_is_asked_for_is_this_number(given, text, expected):
    (quantity,) = asked(**given)
    assert quantity.text == text
    assert float(value(quantity, of_truth)) == pytest.approx(float(expected))


def test_every_share_and_mean_is_compared_both_ways():
    found = asked(shares=["gain in [-1, 0)"], means=["age"], difference=(A, B), ratio=(A, B))
    assert [quantity.kind for quantity in found] == ["difference"] * 2 + ["ratio"] * 2
    assert asked() == []


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"within": A}, ["none is asked for"]),
        ({"shares": [A], "within": B}, ["no record is in", "'group, or so'"]),
        ({"means": ["group, or so"]}, ["no mean", "ask for one of: age, gain"]),
        ({"means": ["age, gain"]}, ["one column"]),
        ({"means": ["age"], "within": "age is missing"}, ["missing"]),
        ({"difference": (A, "twon=Nord")}, ["no column 'twon'"]),
        ({"shares": ["age=\x1b[31m<b>"]}, ["no label", r"\x1b[31m<b>"]),
        ({"means": ["\x1b]0;x\x07"]}, ["no column", r"\x1b]0;x\x07"]),
    ],
)
def test_what_cannot_be_asked_is_said_with_its_fix(given, words):
    with pytest.raises(QueryError) as caught:
        asked(**given)
    assert all(word in str(caught.value) for word in words), str(caught.value)
    assert caught.value.fix
    assert "\x1b" not in str(caught.value)


SMALL = Universe((Attribute("x", "integer", edges=tuple(map(Fraction, (0, 1, 2, 6)))),))
EVENT = TableEvent(("x",), 3, 1, Fraction(3, 2))
REACH = 3


def noise_law():
    """Noises of three cells, and the probability of each; what is left out has 0.013 together."""
    numbers = np.arange(-REACH, REACH + 1)
    chances = math.tanh(0.75) * np.exp(-1.5 * abs(numbers))  # (1 - r) / (1 + r) r^|k|, r = e^-1.5
    for places in product(range(len(numbers)), repeat=3):
        yield numbers[list(places)], math.prod(chances[list(places)])


def measured(counts):
    table = MeasuredTable(EVENT, np.asarray(counts), noise_variance(EVENT))
    config = SimpleNamespace(universe=SMALL, public_totals=())
    return MeasuredQuantities(Intervals(Measurements("test", "", (table,)), config), SMALL)


ASKED = {
    "count": (Asked(difference=("x in {1}", "x=0")), lambda n: n[1] - n[0]),
    "part": (Asked(ratio=("x=1", "x in {0, 1}")), lambda n: n[1] / (n[0] + n[1])),
    "share": (Asked(shares=["x=1"]), lambda n: n[1] / sum(n)),
    "mean": (Asked(means=["x"]), lambda n: (n[1] + 4 * n[2]) / sum(n)),
    "difference of shares": (
        Asked(shares=["x=0"], difference=("x in {0, 1}", "x in {0, [2, 6]}")),
        lambda n: n[0] / (n[0] + n[1]) - n[0] / (n[0] + n[2]),
    ),
}


@pytest.mark.parametrize("what", ASKED)
def test_the_level_holds_over_all_noise(what):
    """The chance of a miss, summed over every outcome of the noise: a law by enumeration."""
    given, exact = ASKED[what]
    (quantity,) = given.quantities(SMALL)
    truth = np.array([7, 3, 12])
    missed, told = dict.fromkeys((0.5, 0.9), 0.0), 0.0
    for noise, chance in noise_law():
        told += chance
        quantities = measured(truth + noise)
        for level in missed:
            low, high = quantities.of(quantity, level=level).ends
            missed[level] += chance * (not low <= exact(truth) <= high)
    assert 1 - told < 0.013
    assert all(missed[level] + (1 - told) <= 1 - level for level in missed)
    low, high = measured(truth).of(quantity, level=0.5).ends
    assert missed[0.5] > 0 or high - low < 1, "intervals that never miss would say little"


def test_estimates_are_those_of_the_noisy_counts():
    noisy = [5, -1, 13]
    for given, exact in ASKED.values():
        (quantity,) = given.quantities(SMALL)
        found = measured(noisy).of(quantity, level=0.9)
        assert found.estimate == pytest.approx(exact(noisy))
    (share,) = Asked(shares=["x=1"]).quantities(SMALL)
    nothing = measured([-3, 0, 0]).of(share, level=0.9)
    assert (nothing.estimate, nothing.ends) == (None, (0.0, 1.0))


def test_a_mean_holds_wherever_in_their_bins_the_values_lie():
    (mean,) = Asked(means=["x"]).quantities(SMALL)
    counts = np.array([700, 300, 1200])
    found = measured(counts).of(mean, level=0.95)
    for at, ends in ((2, found.anywhere), (4, found.ends), (6, found.anywhere)):
        true = (counts @ [0, 1, at]) / counts.sum()
        assert ends[0] <= true <= ends[1]
    assert found.anywhere[0] < found.ends[0] < found.ends[1] < found.anywhere[1]


def test_parts_of_a_whole_bound_what_is_compared():
    for noise, _ in list(noise_law())[::17]:
        of = measured(np.array([2, 0, 1]) + noise)
        for part, whole in (("x=0", "x in {0, 1}"), ("x=1", "")):
            less, more = (
                next(iter(Asked(difference=pair).quantities(SMALL)))
                for pair in ((part, whole), (whole, part))
            )
            assert of.of(less, level=0.9).ends[1] <= 0 <= of.of(more, level=0.9).ends[0]


@pytest.mark.parametrize(
    ("first", "second", "difference", "ratio"),
    [
        ((1, 2), (4, 8), (-7, -2), (0.125, 0.5)),
        ((-1, 2), (4, 8), (-9, -2), (-0.25, 0.5)),
        ((1, 2), (0, 8), (-7, 2), (0.125, math.inf)),
        ((0, 2), (0, 0), (0, 2), (0, math.inf)),
        ((-1, 2), (0, 8), (-9, 2), (-math.inf, math.inf)),
        ((1, 2), (-1, 8), (-7, 3), (-math.inf, math.inf)),
        ((1, 2), (-8, -4), (5, 10), (-0.5, -0.125)),
    ],
)
def test_ranges_are_compared_at_their_extremes(first, second, difference, ratio):
    assert compared("difference", first, second) == difference
    assert compared("ratio", first, second) == ratio


def test_numbers_lie_on_their_grid_or_it_is_fine():
    values = [Fraction(1, 2), Fraction(3), Fraction(-4), Fraction(9, 4)]
    origin, step = grid(values)
    assert step == Fraction(1, 4)
    assert all(((value - origin) / step).denominator == 1 for value in values)
    origin, step = grid([Fraction(0), Fraction(1, 7), Fraction(99999)])
    assert step == Fraction(99999, MOST_STEPS)
    assert grid([Fraction(5)]) == (5, 1)
