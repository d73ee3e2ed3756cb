"""Bounds and edges of a draft: round, few, around all numbers, and no bin holds nearly all."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.drafting.column import (
    MOST_BINS,
    SINGLE_NUMBERS,
    are_crowded,
    integer_bounds,
    ladder,
    nearest_round,
    number_edges,
    round_down,
    round_up,
    round_width,
)

NUMBERS = st.fractions(-(10**9), 10**9, max_denominator=10**6)


def first_digits(width: Fraction) -> str:
    return f"{float(width):.12e}"[:1]


@given(NUMBERS, NUMBERS)
def test_edges_are_few_round_and_hold_both_numbers(a, b):
    low, high = min(a, b), max(a, b)
    edges = number_edges(low, high)
    assert edges[0] <= low
    assert edges[-1] >= high
    steps = {after - before for before, after in pairwise(edges)}
    assert len(steps) == 1
    (width,) = steps
    assert first_digits(width) in "125"
    assert len(edges) - 1 <= MOST_BINS // 2 + 2
    assert all((edge / width).denominator == 1 for edge in edges)


@given(st.integers(-(10**12), 10**12), st.integers(0, 10**12))
def test_whole_bounds_hold_both_numbers_in_whole_bins(low, span):
    minimum, maximum, width = integer_bounds(low, low + span)
    assert minimum <= low <= low + span <= maximum
    assert (maximum - minimum + 1) % width == 0 or maximum == low + span == round_up(
        Fraction(maximum)
    )
    assert (maximum - minimum + 1) // width <= SINGLE_NUMBERS + 10
    assert first_digits(Fraction(width)) in "125"


def test_widths_by_hand():
    found = [round_width(Fraction(span), bins=10) for span in (10, 11, 21, 51, 100, 0)]
    assert found == [1, 2, 5, 10, 10, 1]
    assert round_width(Fraction(3, 100), bins=10) == Fraction(5, 1000)


def test_round_numbers_by_hand():
    assert [nearest_round(n) for n in (1, 3, 4, 7, 8, 891, 1400, 1500, 40_000)] == [
        1, 2, 5, 5, 10, 1000, 1000, 2000, 50_000,
    ]  # fmt: skip
    assert integer_bounds(0, 100) == (0, 100, 5)
    assert integer_bounds(0, 101)[1] == 104 + 5


@given(st.fractions(Fraction(1, 10**9), 10**12, max_denominator=10**9))
def test_rounding_up_and_down_encloses_a_number(number):
    low, high = round_down(number), round_up(number)
    assert low <= number <= high
    assert {first_digits(low), first_digits(high)} <= {*"125"}
    assert high <= low * Fraction(5, 2)


def at_equal_ranks(numbers):
    ordered = sorted(numbers)
    return tuple(Fraction(ordered[round(n / 40 * (len(ordered) - 1))]) for n in range(41))


@given(st.lists(NUMBERS, min_size=1, max_size=60), st.sampled_from([None, Fraction(1)]))
def test_a_ladder_holds_all_numbers_with_round_edges(numbers, least):
    low, high = min(numbers), max(numbers)
    edges = ladder(low, high, at_equal_ranks(numbers), least=least)
    assert edges[0] <= low
    assert edges[-1] >= high
    assert all(before < after for before, after in pairwise(edges))
    if any(number for number in numbers):
        assert {first_digits(abs(edge)) for edge in edges if edge} <= {*"125"}
    if least is not None:
        assert all(edge.denominator == 1 for edge in edges)


@pytest.mark.parametrize("sigma", [1.0, 1.5, 2.5])
def test_skewed_amounts_lie_apart_on_a_ladder_and_not_in_equal_bins(sigma):
    drawn = random.Random(3)
    numbers = [math.exp(drawn.gauss(6, sigma)) for _ in range(3_000)] + [0.0] * 1_000
    quantiles = at_equal_ranks(numbers)
    low, high = Fraction(0), Fraction(max(numbers))
    assert are_crowded(number_edges(low, high), quantiles)
    edges = ladder(low, high, quantiles)
    assert not are_crowded(edges, quantiles)
    assert len(edges) <= 2 * MOST_BINS
    assert edges[0] == 0
    beside_zero = sum(0 < number < edges[1] for number in numbers)
    assert beside_zero < 0.06 * len(numbers), "zero has a bin of its own"


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ((0, 0, 1, 1, 2, 2, 3, 3), False),
        ((0, 0, 0, 0, 0, 1, 2, 3), True),
        ((-9, -1, 0, 0, 0, 1, 2, 3), True),
        ((0, 0, 0, 0, 1, 1, 1, 1, 1, 2), True),
        ((0, 0, 0, 0, 1, 1, 1, 1, 2, 3), False),
        ((), False),
    ],
)
def test_bins_are_crowded_where_one_or_two_hold_nearly_all(numbers, expected):
    edges = tuple(map(Fraction, range(5)))
    assert are_crowded(edges, tuple(map(Fraction, numbers))) is expected
