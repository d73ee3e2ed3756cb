"""Published columns: which values a bin can become."""

from fractions import Fraction

import pytest

from synth.domain import Attribute, Universe
from synth.release.rows.columns import POINTS_PER_BIN, published_columns


def column(bins, **fields):
    (found,) = published_columns(Universe((Attribute("a", **fields),)), bins)
    return found


def edges(*values):
    return tuple(map(Fraction, values))


def test_a_level_is_published_as_it_is():
    found = column("uniform", kind="categorical", levels=("x", "y"), missing=("",))
    assert (found.published_type, found.texts) == ("text", ("x", "y"))


@pytest.mark.parametrize("bins", ["uniform", "interval", "midpoint"])
def test_bins_of_one_integer_give_that_integer_by_every_rule(bins):
    found = column(bins, kind="integer", edges=edges(1, 2, 3))
    assert (found.first, found.last) == ((1, 2), (1, 3)) if found.is_random else True
    single = column(bins, kind="integer", edges=edges(1, 2, 3, 3))
    assert (single.published_type, single.first, single.last) == ("integer", (1, 2, 3), (1, 2, 3))


def test_integer_bins_are_half_open_and_the_last_is_closed():
    found = column("uniform", kind="integer", edges=edges(-5, 0, 10))
    assert (found.first, found.last) == ((-5, 0), (-1, 10))


def test_a_midpoint_of_whole_numbers_is_a_whole_number_of_the_bin():
    found = column("midpoint", kind="integer", edges=edges(-5, 0, 10))
    assert found.first == found.last == (-3, 5)
    assert not found.is_random


def test_an_interval_is_published_as_text():
    found = column("interval", kind="integer", edges=edges(0, 1, 10))
    assert (found.published_type, found.texts) == ("text", ("0", "[1, 10]"))


@pytest.mark.parametrize(
    "bounds",
    [
        ("0", "1", "5000"),
        ("-2", "0", "0.25"),
        ("0.001", "0.0015", "7"),
        ("-1000000000000000", "0", "1000000000000000"),
        ("0", "0.000000000001", "1"),
    ],
)
def test_points_of_a_number_stay_inside_their_half_open_bin(bounds):
    found = column("uniform", kind="number", edges=edges(*bounds))
    limits, scale = edges(*bounds), 10**found.decimals
    for code in range(len(limits) - 1):
        low, high = limits[code], limits[code + 1]
        first, last = Fraction(found.first[code], scale), Fraction(found.last[code], scale)
        assert low <= first <= last
        assert last <= high if code == len(limits) - 2 else last < high
        assert float(low) <= float(first)
        assert float(last) < float(high) or last == high
        assert round(float(last) * scale) == found.last[code]


def test_the_narrowest_bin_has_many_points():
    found = column("uniform", kind="number", edges=edges("0", "1", "100000"))
    assert found.decimals == 3
    assert found.last[0] - found.first[0] + 1 >= POINTS_PER_BIN


def test_midpoints_of_numbers_are_exact():
    found = column("midpoint", kind="number", edges=edges("0", "0.5", "2"))
    assert (found.first, found.last, found.decimals) == ((25, 125), (25, 125), 2)
