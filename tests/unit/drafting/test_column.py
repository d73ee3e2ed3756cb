"""What a column of a draft holds: round bounds, and text that is text whatever it says."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import yaml
from hypothesis import given
from hypothesis import strategies as st

from synth.drafting.column import (
    MOST_BINS,
    SINGLE_NUMBERS,
    DraftColumn,
    Entry,
    flow_list,
    integer_bounds,
    number_edges,
    round_width,
    yaml_text,
)
from synth.drafting.render import Place, render

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
    assert (maximum - minimum + 1) % width == 0
    assert (maximum - minimum + 1) // width <= SINGLE_NUMBERS + 10
    assert first_digits(Fraction(width)) in "125"


def test_widths_by_hand():
    found = [round_width(Fraction(span), bins=10) for span in (10, 11, 21, 51, 100, 0)]
    assert found == [1, 2, 5, 10, 10, 1]
    assert round_width(Fraction(3, 100), bins=10) == Fraction(5, 1000)


TEXT = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=20)


@given(TEXT)
def test_text_is_read_back_as_it_was_and_stands_in_one_line(text):
    written = yaml_text(text)
    assert yaml.safe_load(f"key: {written}") == {"key": text}
    assert len(written.splitlines()) == 1


@given(st.lists(TEXT, max_size=5))
def test_lists_are_read_back_as_they_were(texts):
    assert yaml.safe_load(f"key: {flow_list(texts)}") == {"key": texts}


@given(TEXT, TEXT)
def test_no_name_or_advice_breaks_out_of_its_place(name, advice):
    columns = [
        DraftColumn(name, (Entry("type", "integer", confirmed=True),), (advice,)),
        DraftColumn(name, left_out=advice),
    ]
    text = render(columns, Place(None), reads_raw_data=True).replace("!CONFIRM", "")
    assert yaml.safe_load(text)["domain"] == [{"name": name, "type": "integer"}]
