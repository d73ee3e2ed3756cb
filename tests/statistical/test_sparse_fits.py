"""A list of 10^6 cells has the law of noise on every cell followed by the threshold.

Outcomes are one bin for what is not listed, one for each value, and one for all large values; a
cell belongs to exactly one. The same test accepts noise drawn cell by cell, and rejects lists
whose noise has 0.9 or 1.1 times the scale.
"""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from synth.curator.boundary import measure_list
from synth.curator.counting.tabulate import FilledCells
from synth.curator.seal import Sensitive
from synth.domain import Attribute, Universe
from synth.noise import DiscreteLaplace, NoiseStream, TableSampler
from synth.privacy import TableEvent

KEY = bytes.fromhex("7a" * 32)
SIDE = 1000
LEVELS = tuple(map(str, range(SIDE)))
UNIVERSE = Universe(tuple(Attribute(name, "categorical", LEVELS) for name in "ab"))
COUNT = 2
"""Records in every filled cell."""
FILLED = np.arange(0, SIDE * SIDE, 5)
"""Every fifth cell."""
THRESHOLD = 2
RATES = ["1", "1/4"]


def shares(rate: float, count: int, bins: int | None = None):
    """The chance of every bin: not listed, the threshold, one more, ..., and the rest."""
    a = math.exp(-rate)

    def at_least(value):
        k = value - count
        return a**k / (1 + a) if k >= 0 else 1 - a ** (1 - k) / (1 + a)

    last = THRESHOLD + (int(math.log(30) / rate) if bins is None else bins - 2)
    tails = [at_least(value) for value in range(THRESHOLD, last + 1)]
    inner = [upper - lower for upper, lower in pairwise(tails)]
    return np.array([1 - tails[0], *inner, tails[-1]])


def bins(values, cells: int, rate: float, count: int):
    """Observed counts of the same bins; `values` are those that are listed."""
    size = len(shares(rate, count))
    listed = np.bincount(np.minimum(values - THRESHOLD, size - 2), minlength=size - 1)
    return np.array([cells - len(values), *listed])


def listed(rate: Fraction, stream=None):
    """The listed cells, by number, and their noisy counts, in a universe of 10^6 cells."""
    event = TableEvent(UNIVERSE.names, UNIVERSE.size, 1, rate, threshold=THRESHOLD)
    columns = (FILLED // SIDE, FILLED % SIDE)
    cells = FilledCells(columns, np.full(len(FILLED), COUNT, dtype=np.int64))
    table = measure_list(
        Sensitive(cells), event, UNIVERSE, number=3, stream=stream or NoiseStream(key=KEY)
    )
    return table.codes @ np.array([SIDE, 1]), table.noisy_counts


def dense(rate: Fraction):
    """The same cells and counts, from noise on every cell."""
    noisy = TableSampler(DiscreteLaplace(rate, 1)).draw(
        NoiseStream(key=KEY), table=0, start=0, count=UNIVERSE.size
    )
    noisy[FILLED] += COUNT
    heavy = np.flatnonzero(noisy >= THRESHOLD)
    return heavy, noisy[heavy]


def fits(policy, found, rate: float) -> bool:
    """Filled and empty cells have the values of their laws, and survivors are spread evenly."""
    cells, values = found
    filled = np.isin(cells, FILLED)
    empty = UNIVERSE.size - len(FILLED)
    # every block of 1000 cells holds 800 empty ones
    blocks = np.bincount(cells[~filled] // SIDE, minlength=SIDE)
    grouped = blocks.reshape(20, -1).sum(axis=1)
    return (
        policy.fits(bins(values[filled], len(FILLED), rate, COUNT), shares(rate, COUNT))
        and policy.fits(bins(values[~filled], empty, rate, 0), shares(rate, 0))
        and policy.fits(grouped, np.full(20, 1 / 20))
    )


@pytest.mark.parametrize("rate", RATES)
def test_every_bin_expects_enough(policy, rate):
    for count, cells in ((COUNT, len(FILLED)), (0, UNIVERSE.size - len(FILLED))):
        expected = shares(float(Fraction(rate)), count)
        assert expected.sum() == pytest.approx(1)
        assert expected.min() * cells >= policy.MINIMUM_EXPECTED


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("scale", [0.9, 1.1])
def test_another_scale_would_be_seen(policy, rate, scale):
    """The power of the test on empty cells alone is that of the policy."""
    rate = float(Fraction(rate))
    expected = shares(rate, 0)
    other = shares(rate / scale, 0, bins=len(expected))
    cells = UNIVERSE.size - len(FILLED)
    assert policy.power(expected, other, cells) >= 1 - policy.MISS


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("way", [listed, dense])
def test_the_list_fits_noise_and_threshold(policy, way, rate):
    assert fits(policy, way(Fraction(rate)), float(Fraction(rate)))


@pytest.mark.parametrize(
    ("rate", "scale"),
    [("1", Fraction(9, 10)), ("1/4", Fraction(11, 10))],
    ids=["1-x0.9", "1/4-x1.1"],
)
def test_a_list_of_another_scale_is_rejected(policy, rate, scale):
    assert not fits(policy, listed(Fraction(rate) / scale), float(Fraction(rate)))
