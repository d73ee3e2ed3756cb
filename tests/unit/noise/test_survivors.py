"""Survivors of empty cells: every law and every mapping against its slow definition."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from synth.errors import BugError
from synth.noise import DiscreteLaplace, NoiseStream, survivors
from synth.noise.survivors import (
    BASE,
    BelowThreshold,
    Beyond,
    Digit,
    Digits,
    ExactRatio,
    Geometric,
    Rest,
    cells_of_ranks,
    smallest_threshold,
    stream_table,
    surviving_ranks,
    surviving_values,
)

KEY = bytes(range(32))
UNIT = DiscreteLaplace(Fraction(1), 1)


def stream():
    return NoiseStream(key=KEY)


def survival(law, threshold):
    return law.alpha**threshold / (1 + law.alpha)


@pytest.mark.parametrize(
    ("epsilon", "sensitivity", "cells", "false"),
    [
        ("1", 1, 10**20, 10_000),
        ("1", 2, 10**20, 10_000),
        ("1/10", 1, 10**30, 1),
        ("5", 1, 10**6, 100),
        ("1/3", 1, 10, 100),
    ],
)
def test_the_threshold_is_the_smallest(epsilon, sensitivity, cells, false):
    law = DiscreteLaplace(Fraction(epsilon), sensitivity)
    found = smallest_threshold(law, cells=cells, false_cells=Fraction(false))
    assert cells * survival(law, found) <= false
    assert found == 1 or cells * survival(law, found - 1) > false
    formula = math.log(cells / (false * (1 + float(law.alpha)))) / float(law.rate)
    assert found == max(1, math.ceil(formula))


def test_the_example_of_the_design():
    """10^20 cells at epsilon 1: threshold 37 and about 6,200 false cells."""
    threshold = smallest_threshold(UNIT, cells=10**20, false_cells=Fraction(10_000))
    assert threshold == 37
    assert float(10**20 * survival(UNIT, 37)) == pytest.approx(6238, abs=1)


@pytest.mark.parametrize("bits", [8, 300])
@pytest.mark.parametrize("threshold", [1, 60])
@pytest.mark.parametrize("epsilon", ["1", "1/100", "7"])
def test_bounds_of_survival_hold(epsilon, threshold, bits):
    law = DiscreteLaplace(Fraction(epsilon), 1)
    ratio = BelowThreshold(law.alpha, threshold)
    low, high = ratio.survival_bounds(bits)
    assert low <= (1 << bits) * survival(law, threshold) <= high
    assert high - low <= 2
    for exponent in (1, 2, 255, 1000):
        low, high = ratio.power_bounds(exponent, bits)
        assert low <= (1 << bits) * (1 - survival(law, threshold)) ** exponent <= high
        assert high - low <= 2


def test_powers_of_a_ratio_next_to_one_are_close():
    """q^(256^10) with 1 - q about 10^-26, against exp(-256^10 p) with a bound of its error."""
    ratio = BelowThreshold(UNIT.alpha, 60)
    survives = survival(UNIT, 60)
    low, high = ratio.power_bounds(BASE**10, 200)
    assert high - low <= 2
    exponent = BASE**10 * survives
    shift = Fraction(low, 1 << 200)
    assert abs(math.log(float(shift)) + float(exponent)) < 1e-12


def exact_digit(ratio, step, base):
    weights = [ratio ** (step * digit) for digit in range(base)]
    return [weight / sum(weights) for weight in weights]


def test_digits_make_up_a_geometric_number_exactly():
    """Products of the exact laws of the digits and of the rest are (1-q) q^g."""
    q = Fraction(9, 10)
    first, second = exact_digit(q, 1, 4), exact_digit(q, 4, 4)
    for low, high, rest in product(range(4), range(4), range(3)):
        value = low + 4 * high + 16 * rest
        law = first[low] * second[high] * (1 - q**16) * q ** (16 * rest)
        assert law == (1 - q) * q**value


@pytest.mark.parametrize("bits", [16, 64, 150])
@pytest.mark.parametrize("step", [1, 7, 300])
def test_bounds_of_digits_hold(step, bits):
    q = Fraction(97, 100)
    for base in (2, 5):
        exact = exact_digit(q, step, base)
        for value in range(-2, base + 2):
            low, high = Digit(ExactRatio(q), step, base).cdf_bounds(value, bits)
            assert low <= (1 << bits) * sum(exact[: max(0, value + 1)]) <= high
            assert high - low <= 4
    for value in range(-2, 6):
        exact_rest = 1 - q ** (step * (value + 1)) if value >= 0 else 0
        low, high = Rest(ExactRatio(q), step).cdf_bounds(value, bits)
        assert low <= (1 << bits) * exact_rest <= high
        low, high = Beyond(ExactRatio(q), step).cdf_bounds(value, bits)
        assert low <= (1 << bits) * (1 if value >= 1 else exact_rest) <= high


def test_parts_are_the_digits_of_one_number():
    parts = Digits(ExactRatio(Fraction(1, 2)), BASE, 3).parts()
    assert [part.step for part in parts] == [1, BASE, BASE**2]
    assert [part.law.step for part in parts] == [BASE, BASE**2, BASE**3]
    steps = [part.step for part in Geometric(DiscreteLaplace(Fraction(1, 10**6), 1).alpha).parts()]
    assert steps == [1, BASE, BASE**2]
    assert [part.step for part in Geometric(UNIT.alpha).parts()] == [1]


def slow_cells(ranks, filled, cells):
    empty = [cell for cell in range(cells) if cell not in set(filled)]
    return [empty[rank] for rank in ranks]


def test_ranks_map_to_empty_cells():
    """Every subset of filled cells of a small universe, every rank."""
    for pattern in product([False, True], repeat=7):
        filled = [cell for cell in range(7) if pattern[cell]]
        ranks = list(range(7 - len(filled)))
        found = cells_of_ranks(np.array(ranks, dtype=object), np.array(filled, dtype=object))
        assert found.tolist() == slow_cells(ranks, filled, 7)


def test_ranks_beyond_64_bits_map_to_empty_cells():
    large = 10**40
    filled = np.array([0, 1, large, large + 2], dtype=object)
    ranks = np.array([0, large - 3, large - 2, large - 1], dtype=object)
    found = cells_of_ranks(ranks, filled)
    assert found.tolist() == [2, large - 1, large + 1, large + 3]


def ranks_of(cells, threshold=5, number=0):
    return surviving_ranks(
        UNIT, threshold=threshold, empty_cells=cells, stream=stream(), number=number
    ).tolist()


def test_fewer_cells_have_the_same_survivors_among_the_first():
    many = ranks_of(10**6)
    assert len(many) > 4000
    for cells in (0, 1, 12_345, 10**6 - 1, many[0], many[0] + 1, many[2_000]):
        assert ranks_of(cells) == [rank for rank in many if rank < cells]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_blocks_do_not_matter(size, monkeypatch):
    whole = ranks_of(20_000)
    monkeypatch.setattr(survivors, "BLOCK", size)
    assert ranks_of(20_000) == whole


def test_gaps_are_the_digits_of_their_words():
    """The slow definition: digit after digit by `quantile`, one gap at a time."""
    from synth.noise.quantile_table import QuantileTable

    threshold = smallest_threshold(UNIT, cells=10**30, false_cells=Fraction(200))
    found = ranks_of(10**30 - 17, threshold)
    ratio = BelowThreshold(UNIT.alpha, threshold)
    position, expected = -1, []
    for gap in range(len(found)):
        value = 0
        for place in range(13):
            limb, part = divmod(place, 7)
            words = stream().keystream(
                lane=2 * part, table=stream_table(0, 3 + limb), index=gap // 8
            )
            bucket = int(words.words(8)[gap % 8])
            table = QuantileTable(Digit(ratio, BASE**place, BASE))
            digit = int(table.values[bucket])
            if digit == table.undecided:
                more = stream().blocks(
                    lane=2 * part + 1,
                    table=stream_table(0, 3 + limb),
                    round_number=0,
                    indices=np.array([gap]),
                )
                digit = int(
                    table.refine(np.array([bucket], np.uint16), more[:, 0], lambda *_: 1 / 0)[0]
                )
            value += digit * BASE**place
        position += 1 + value
        expected.append(position)
        if gap == 20:
            break
    assert found[: len(expected)] == expected


def test_survivors_of_1e30_cells_are_spread_evenly():
    threshold = smallest_threshold(UNIT, cells=10**30, false_cells=Fraction(10_000))
    found = ranks_of(10**30, threshold)
    expected = float(10**30 * survival(UNIT, threshold))
    assert abs(len(found) - expected) < 7 * math.sqrt(expected)
    assert found == sorted(set(found))
    halves = sum(rank < 5 * 10**29 for rank in found)
    assert abs(halves - expected / 2) < 7 * math.sqrt(expected / 2)
    assert {rank % 2 for rank in found} == {0, 1}


def test_values_begin_at_the_threshold():
    values = surviving_values(UNIT, threshold=37, count=10_000, stream=stream(), number=0)
    assert values.dtype == np.int64
    assert values.min() == 37
    mean = float(UNIT.alpha / (1 - UNIT.alpha))
    assert values.mean() - 37 == pytest.approx(mean, abs=0.1)


def test_every_use_has_its_own_words():
    tables = [stream_table(number, use) for number in (0, 1, 65_535) for use in range(6)]
    assert len(set(tables)) == len(tables)
    for number in (-1, 65_536):
        with pytest.raises(BugError):
            stream_table(number, 1)


def test_survivors_are_drawn_once():
    once = stream()
    surviving_ranks(UNIT, threshold=3, empty_cells=10, stream=once, number=4)
    with pytest.raises(BugError):
        surviving_ranks(UNIT, threshold=3, empty_cells=10, stream=once, number=4)
