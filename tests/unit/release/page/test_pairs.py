"""Pairs of columns: which stand out of their noise, and how that is shown without colours."""

import pytest

from synth.release.manifest.figures import Figures
from synth.release.page.accuracy import (
    CLEAR,
    ComparedPair,
    compared_pairs,
    most_informative,
    states,
)
from synth.release.page.summary import PairSummary, Summary


def pair(typical, half_width, association=0.35, columns=(0, 1)):
    return ComparedPair(columns, PairSummary(association, typical), half_width)


@pytest.mark.parametrize(
    ("typical", "half_width", "state", "mark", "times"),
    [
        (0, 10, "drowned", "○", "0.0"),
        (9, 10, "drowned", "○", "0.9"),
        (10, 10, "blurred", "◐", "1.0"),
        (10 * CLEAR - 1, 10, "blurred", "◐", "4.9"),
        (10 * CLEAR, 10, "clear", "●", "5.0"),
        (123, 10, "clear", "●", "12"),
        (10_000, 10, "clear", "●", ">99"),
        (7, 0, "clear", "●", "7.0"),
        (7, None, "unknown", "?", ""),
    ],
)
def test_a_typical_count_stands_against_its_noise(typical, half_width, state, mark, times):
    found = pair(typical, half_width)
    assert (found.state, found.mark, found.times) == (state, mark, times)


def test_only_what_noise_does_not_drown_is_coloured():
    assert (pair(50, 10).shade, pair(50, 10).association) == (3, "0.35")
    assert (pair(10, 10).shade, pair(10, 10).association) == (3, "0.35")
    assert (pair(9, 10).shade, pair(9, 10).association) == (None, "○ 0.35")
    assert (pair(9, None).shade, pair(9, None).association) == (None, "? 0.35")
    assert (pair(50, 10, None).shade, pair(50, 10, None).association) == (None, "–")
    assert pair(50, 10, 1.0).shade == 9


SUMMARY = Summary(
    ((1,), (1,), (1,)),
    (
        (),
        (PairSummary(0.1, 60),),
        (PairSummary(0.9, 20), PairSummary(0.5, 70)),
    ),
)
FIGURES = [
    Figures("marginal", ("b", "a"), half_width_95_records=10),
    Figures("marginal", ("a", "c"), half_width_95_records=10),
    Figures("range", ("b", "c"), half_width_95_records=1),
    Figures("marginal", ("a",), half_width_95_records=1),
]


def test_pairs_take_their_noise_from_the_figures_of_their_table_alone():
    lines = compared_pairs(SUMMARY, "abc", FIGURES)
    widths = [[each.half_width for each in line] for line in lines]
    assert widths == [[], [10], [10, None]]
    assert [[each.columns for each in line] for line in lines] == [[], [(0, 1)], [(0, 2), (1, 2)]]
    assert states(lines) == [("●", "clear", 1), ("◐", "blurred", 1), ("?", "unknown", 1)]


def test_clear_pairs_come_first_and_then_the_strongest():
    lines = compared_pairs(SUMMARY, "abc", FIGURES)
    assert [each.columns for each in most_informative(lines)] == [(0, 1), (0, 2)]
    more = Figures("marginal", ("b", "c"), half_width_95_records=10)
    known = compared_pairs(SUMMARY, "abc", [*FIGURES, more])
    assert [each.columns for each in most_informative(known)] == [(1, 2), (0, 1), (0, 2)]
