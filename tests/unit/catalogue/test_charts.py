"""What is drawn: scales, gaps, bands, which values of a column, and the steps of an account."""

from fractions import Fraction

import pytest

from synth.catalogue.charts import (
    INCREMENT,
    MOST_PANELS,
    MOST_POINTS,
    MOST_WHISKERS,
    Point,
    column_trends,
    records_trend,
    round_top,
    spending,
    trend,
)
from synth.catalogue.document import Account, Series, accounts_of, grouped_series
from synth.catalogue.page import shown_number
from synth.catalogue.tables import MOST_CODES, MOST_GROUPS, MOST_LEVELS, _told_apart, grouped
from synth.domain import Attribute
from synth.domain.attribute import balanced_levels, grouped_level
from synth.privacy.meaning import exact_number


def points(places, estimate=50, low=40, high=60):
    return [Point(place, f"2026-{place:02}", estimate, low, high) for place in places]


@pytest.mark.parametrize(
    ("count", "top"),
    [(0, 10), (1, 10), (9, 10), (11, 12), (13, 16), (356, 400), (7344, 8000), (100_001, 120_000)],
)
def test_a_scale_ends_at_a_round_number(count, top):
    assert round_top(count) == top


def test_every_scale_holds_its_counts():
    for count in range(1, 3000):
        assert count <= round_top(count) < 1.6 * count + 10


def test_estimates_stand_between_the_ends_of_their_intervals():
    drawn = trend("x", points([1, 2, 3], 50, 0, 100), (1, 3))
    assert drawn.line == "M3 50L50 50L97 50"
    assert drawn.whiskers == "M3 97V3M50 97V3M97 97V3"
    assert (drawn.top, drawn.band, drawn.last.period) == (100, "", "2026-03")
    assert drawn.words == "x: from 50 in 2026-01 to 50 (0 to 100) in 2026-03"


def test_a_line_is_broken_where_a_period_is_missing():
    assert trend("x", points([1, 2, 4]), (1, 4)).line.count("M") == 2
    assert trend("x", points([1, 8, 15]), (1, 15)).line.count("M") == 1, "weeks, as days"
    assert trend("x", points([5]), (5, 5)).line == ""
    assert trend("x", points([5]), (5, 5)).dots.startswith("M50 ")


def test_many_periods_have_a_band_and_very_many_are_cut_off():
    drawn = trend("x", points(range(MOST_WHISKERS + 1)), (0, MOST_WHISKERS))
    assert (drawn.whiskers, drawn.dots, drawn.band[0], drawn.band[-1]) == ("", "", "M", "Z")
    cut = trend("x", points(range(3 * MOST_POINTS)), (2 * MOST_POINTS, 3 * MOST_POINTS - 1))
    assert len(cut.points) == MOST_POINTS


def release(name, *, series=None, tables=(), day="2026-01-01", spent="1", place=0, part=""):
    cap = {"epsilon": exact_number(Fraction(4)), "delta": exact_number(Fraction(0))}
    budget = {"epsilon": exact_number(Fraction(spent)), "delta": exact_number(Fraction(0))}
    return {
        "release_id": name,
        "series": series,
        "date_published": day,
        "tables": list(tables),
        "privacy": budget,
        "account": {
            "population": "all",
            "part": part,
            "place": place,
            "cap": cap,
            "spent": budget,
        },
    }


def test_series_are_told_by_ids_that_end_in_a_period():
    names = ["a-2026", "a-2025", "b-2026-q2", "b-2026-q1", "c-2026-01-05", "c-2025-12-29", "d-12"]
    found = {each.name: each.periods for each in grouped_series(map(release, names))}
    assert found == {
        "a-{period}": ("2025", "2026"),
        "b-{period}": ("2026-q1", "2026-q2"),
        "c-{period}": ("2025-12-29", "2026-01-05"),
        "d-12": ("",),
    }


@pytest.mark.parametrize(
    ("periods", "places"),
    [
        (("2025-q4", "2026-q2"), (8103, 8105)),
        (("2025-12", "2026-01"), (24311, 24312)),
        (("2026-01", "2026"), (0, 1)),
        (("2026-01", "2026-01"), (0, 1)),
        (("2026-13", "2026-14"), (0, 1)),
        (("<b>", ""), (0, 1)),
    ],
)
def test_places_in_time(periods, places):
    assert Series("x", (release("a"), release("b")), periods, False).places == places


def table(labels, estimates, *, ordered=False, level=""):
    numbers = {name: list(estimates) for name in ("estimates", "lows", "highs")}
    return {"column": "c", "title": "", "level": level, "ordered": ordered, "labels": labels} | (
        numbers
    )


def test_of_many_unordered_values_the_most_frequent_are_drawn():
    labels = [f"v{number}" for number in range(30)]
    found = release("a-2026", tables=[table(labels, range(30))])
    (column,) = column_trends(Series("a", (found,), ("2026",), False))
    assert [each.label for each in column.trends] == labels[: -MOST_PANELS - 1 : -1]
    assert column.left_out == 30 - MOST_PANELS


def test_ordered_values_stay_in_order_and_a_missing_one_stays():
    labels = [f"v{number}" for number in range(MOST_PANELS)] + ["missing"]
    for ordered in (True, False):
        found = release("a-2026", tables=[table(labels, range(13), ordered=ordered)])
        (column,) = column_trends(Series("a", (found,), ("2026",), False))
        assert [each.label for each in column.trends] == labels


def test_a_value_that_is_new_begins_later_and_one_that_is_gone_is_not_drawn():
    first = release("a-2025", tables=[table(["old", "both"], [1, 2])])
    last = release("a-2026", tables=[table(["both", "new"], [3, 4])])
    (column,) = column_trends(Series("a", (first, last), ("2025", "2026"), False))
    assert {each.label: len(each.points) for each in column.trends} == {"both": 2, "new": 1}


def test_tables_of_the_last_period_alone_are_drawn_beside_those_of_all_so_far():
    found = []
    for number in range(3):
        alone = {"records": table([""], [number]), "tables": [table(["v"], [number])]}
        found.append(release(f"a-{2020 + number}", tables=[table(["v"], [100])]))
        if number:
            found[-1] |= {"increment": alone, "records": table([""], [100])}
    (series,) = grouped_series(found)
    assert len(records_trend(series).points) == 2
    assert [point.estimate for point in records_trend(series, INCREMENT).points] == [1, 2]
    (column,) = column_trends(series, INCREMENT)
    assert [point.estimate for point in column.trends[0].points] == [1, 2]
    assert len(column_trends(series)[0].trends[0].points) == 3


def test_an_account_is_drawn_in_the_order_of_its_charges():
    late, early = release("z", spent="3", place=1), release("a", spent="1", place=0)
    apart = release("p", part="north")
    account, other = accounts_of([late, early, apart])
    assert [each["release_id"] for each in account.releases] == ["a", "z"]
    drawn = spending(account)
    assert drawn.steps == "M0 97H25V73.5H75V26.5H100"
    assert (drawn.cap, drawn.share) == ("3", 75)
    assert other.part == "north"


def test_an_account_without_a_cap_is_drawn():
    nothing = release("a", spent="0")
    nothing["account"]["cap"] = nothing["account"]["spent"]
    assert spending(Account("all", "", (nothing,))).share == 100


@pytest.mark.parametrize(
    ("value", "shown"),
    [("1/2", "0.5"), ("100/1", "100"), ("1/3", "≤ 0.3334"), ("1/100000", "≤ 0.0001"), ("0/1", "0")],
)
def test_numbers_are_short_and_never_too_small(value, shown):
    assert shown_number(exact_number(Fraction(value))) == shown


def ordered(bins, **more):
    edges = tuple(map(Fraction, range(bins + 1)))
    return Attribute("age", "number", edges=edges, **more)


def test_columns_of_few_codes_are_shown_by_them():
    found = grouped(Attribute("sex", "categorical", levels=("a", "b"), missing=("",)))
    assert found.labels == ("a", "b", "missing")
    assert found.codes == ((0,), (1,), (2,))
    assert grouped(Attribute("one", "categorical", levels=("a",))) is None


def test_numbers_in_many_bins_are_shown_in_runs_of_bins():
    found = grouped(ordered(100, missing=("?",)))
    assert found.labels[0] == "[0, 9)"
    assert found.labels[-2:] == ("[99, 100]", "missing")
    assert [code for codes in found.codes for code in codes] == list(range(101))
    assert len(found.codes) <= MOST_GROUPS + 1


def test_a_hierarchy_is_shown_by_its_finest_level_of_few_groups():
    plain = ordered(40)
    attribute = ordered(40, hierarchy=balanced_levels(plain, 2))
    found = grouped(attribute)
    assert found.level == "8 parts"
    towns = Attribute("town", "categorical", levels=tuple(f"t{n}" for n in range(300)))
    assert grouped(towns) is None
    level = grouped_level(towns, "side", {"west": range(150), "east": range(150, 300)})
    sides = Attribute("town", "categorical", levels=towns.levels, hierarchy=(level,))
    assert grouped(sides).labels == ("west", "east")
    assert len(grouped(Attribute("t", "categorical", levels=towns.levels[:200])).codes) == 200
    assert MOST_LEVELS < 300
    assert grouped(ordered(MOST_CODES + 1)) is None


def test_labels_that_became_alike_are_told_apart():
    assert _told_apart(["a", "b", "a", "a"]) == ["a", "b", "a (2)", "a (3)"]
