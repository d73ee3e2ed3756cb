"""Attributes: codes, labels, bins and hierarchies against their definition."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import chain, count, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.config.columns import DOMAIN
from synth.config.schema.problems import Report
from synth.config.schema.yaml_tree import from_json
from synth.domain import CLAMP, MISSING, Attribute, HierarchyLevel, Margin, Universe, format_number
from synth.domain.attribute import (
    balanced_levels,
    divided_group,
    grouped_level,
    interval_level,
    shorten,
    with_halves,
    with_missing,
)

DETERMINISTIC = settings(derandomize=True, deadline=None)


def integer(minimum: int, maximum: int, width: int, missing: tuple[str, ...] = ()) -> Attribute:
    """The attribute that the loader makes of minimum, maximum and bin width."""
    values = {
        "name": "x",
        "type": "integer",
        "minimum": minimum,
        "maximum": maximum,
        "bin_width": width,
        "missing": list(missing),
        "out_of_domain": CLAMP,
        "source": "s",
    }
    report = Report()
    (column,) = DOMAIN.read(from_json([values]), (), report)
    assert report.problems() == ()
    return column.attribute


@DETERMINISTIC
@given(st.integers(-50, 50), st.integers(0, 60), st.integers(1, 70))
def test_integer_bins_hold_every_number_once(minimum: int, span: int, width: int) -> None:
    attribute = integer(minimum, minimum + span, width)
    inside = [attribute.integer_bounds(code) for code in range(attribute.bin_count)]
    numbers = [n for low, high in inside for n in range(low, high + 1)]
    assert numbers == list(range(minimum, minimum + span + 1))
    sizes = [high - low + 1 for low, high in inside]
    assert set(sizes[:-1]) <= {width}
    assert 1 <= sizes[-1] <= width


@DETERMINISTIC
@given(st.integers(-50, 50), st.integers(0, 60), st.integers(1, 70))
def test_integer_bins_agree_with_half_open_edges(minimum: int, span: int, width: int) -> None:
    attribute = integer(minimum, minimum + span, width)
    for code in range(attribute.bin_count):
        low, high = attribute.integer_bounds(code)
        for number in range(low, high + 1):
            edges = attribute.edges
            first = max(i for i in range(attribute.bin_count) if edges[i] <= number)
            assert first == code
            assert number <= edges[-1]


def test_the_last_bin_may_be_shorter() -> None:
    ages = integer(17, 90, 5)
    assert ages.bin_count == 15
    assert ages.label(0) == "[17, 22)"
    assert ages.label(14) == "[87, 90]"
    assert ages.integer_bounds(14) == (87, 90)


def test_bins_of_one_number_are_named_by_it() -> None:
    grades = integer(1, 16, 1, missing=("?",))
    assert grades.labels == (*map(str, range(1, 17)), MISSING)
    assert grades.size == 17
    assert grades.missing_code == 16
    assert all(grades.is_single_value(code) for code in range(16))
    assert not grades.is_single_value(16)


def test_labels_of_numbers_are_intervals() -> None:
    edges = tuple(map(Fraction, ("-1000", "0", "0.5", "1000000")))
    income = Attribute("income", "number", edges=edges, missing=("NA",))
    assert income.labels == ("[-1000, 0)", "[0, 0.5)", "[0.5, 1000000]", MISSING)


ATTRIBUTES = [
    Attribute("a", "categorical", levels=("x", "y, z", "[1, 2)", "1"), missing=("",)),
    Attribute("b", "categorical", levels=("0", "1")),
    integer(-7, 90, 5, missing=("",)),
    integer(0, 3, 1),
    integer(5, 5, 1),
    Attribute("c", "number", edges=tuple(map(Fraction, ("-1.5", "-0.25", "0", "0.5", "2")))),
]


@pytest.mark.parametrize("attribute", ATTRIBUTES, ids=lambda attribute: attribute.labels[0])
def test_a_label_names_its_code_and_nothing_else_does(attribute: Attribute) -> None:
    for code, label in enumerate(attribute.labels):
        assert attribute.code_of(label) == code
    others = ["", "z", "[", "17", "[0, 5)", "0.5", "[-7, -2]", "-8", "1e9", "[0, 0.50)", "[5, 5]"]
    for other in others:
        if other not in attribute.labels:
            assert attribute.code_of(other) is None
    assert (attribute.code_of(MISSING) is None) == (not attribute.missing)


def test_where_unknown_and_unreadable_values_go() -> None:
    edges = tuple(map(Fraction, (0, 10, 20)))
    clamped = Attribute("n", "number", edges=edges, out_of_domain=CLAMP)
    assert clamped.out_of_domain_code is None
    assert clamped.unreadable_code == 0
    with_missing = Attribute("n", "number", edges=edges, missing=("",), out_of_domain=CLAMP)
    assert with_missing.unreadable_code == 2
    labelled = Attribute("n", "number", edges=edges, out_of_domain="[10, 20]")
    assert labelled.out_of_domain_code == labelled.unreadable_code == 1
    with pytest.raises(ValueError, match="no level"):
        _ = Attribute("n", "number", edges=edges, out_of_domain="other").out_of_domain_code


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(20), "20"),
        (Fraction(-3, 2), "-1.5"),
        (Fraction(1, 1000), "0.001"),
        (Fraction(-1, 8), "-0.125"),
        (Fraction(1, 3), "1/3"),
        (Fraction(10**20), "1" + "0" * 20),
    ],
)
def test_numbers_are_written_exactly(value: Fraction, text: str) -> None:
    assert format_number(value) == text


def ordered(bins: int, *, missing: bool = False) -> Attribute:
    edges = tuple(Fraction(edge) for edge in range(bins + 1))
    return Attribute("x", "number", edges=edges, missing=("",) if missing else ())


def parts_of(level: HierarchyLevel, bins: int) -> list[list[int]]:
    """The bins of every group; the groups of the bins come first."""
    groups: list[list[int]] = [[] for _ in range(max(level.group_of[:bins]) + 1)]
    for code in range(bins):
        groups[level.group_of[code]].append(code)
    return groups


@DETERMINISTIC
@given(st.integers(1, 400), st.integers(2, 40), st.booleans())
def test_a_tree_is_balanced_nested_and_no_deeper_than_it_must_be(
    bins: int, branching: int, missing: bool
) -> None:
    levels = balanced_levels(ordered(bins, missing=missing), branching)
    tables = [parts_of(level, bins) for level in levels]
    trees = [[list(range(bins))], *tables, [[code] for code in range(bins)]]
    for coarse, fine in pairwise(trees):
        if bins > 1:
            assert len(coarse) < len(fine)
        for part in coarse:
            inside = [inner for inner in fine if inner[0] in part]
            assert list(chain.from_iterable(inside)) == part
            assert 1 <= len(inside) <= branching
    for table in tables:
        sizes = {len(part) for part in table}
        assert max(sizes) - min(sizes) <= 1
        assert list(chain.from_iterable(table)) == list(range(bins))
    steps = len(levels) + 1
    assert branching**steps >= bins
    assert steps == 1 or branching ** (steps - 1) < bins
    if steps > 1:
        fan_out = len(tables[0])
        assert [len(table) for table in tables] == [fan_out**step for step in range(1, steps)]
        assert (fan_out - 1) ** steps < bins


@pytest.mark.parametrize("bins", [1, 16, 17, 100, 1000, 1001])
def test_ordered_attributes_of_some_bins_are_halved_where_nothing_is_declared(bins: int) -> None:
    plain = ordered(bins, missing=True)
    halved = balanced_levels(plain, 2)
    assert with_halves(plain).hierarchy == (halved if 17 <= bins <= 1000 else ())
    declared = replace(plain, hierarchy=balanced_levels(plain, 5))
    assert with_halves(declared).hierarchy == declared.hierarchy
    letters = Attribute("x", "categorical", tuple(map(str, range(bins))))
    assert with_halves(letters) == letters


@DETERMINISTIC
@given(st.integers(1, 200), st.integers(2, 20))
def test_missing_is_the_last_group_of_every_level_of_a_tree(bins: int, branching: int) -> None:
    plain = balanced_levels(ordered(bins), branching)
    for level, same in zip(
        balanced_levels(ordered(bins, missing=True), branching), plain, strict=True
    ):
        assert level.group_of == (*same.group_of, same.size)
        assert level.labels == (*same.labels, "missing")
        assert level.name == same.name == f"{same.size} parts"


@pytest.mark.parametrize(
    ("bins", "branching", "parts"),
    [
        (2, 2, []),
        (3, 2, [2]),
        (8, 2, [2, 4]),
        (9, 2, [2, 4, 8]),
        (16, 16, []),
        (17, 16, [5]),
        (256, 16, [16]),
        (1024, 16, [11, 121]),
    ],
)
def test_sizes_of_trees(bins: int, branching: int, parts: list[int]) -> None:
    assert [level.size for level in balanced_levels(ordered(bins), branching)] == parts


@DETERMINISTIC
@given(st.data())
def test_interval_groups_are_labelled_by_what_they_hold(data: st.DataObject) -> None:
    low = data.draw(st.integers(-20, 20))
    inner = sorted(data.draw(st.sets(st.integers(low + 1, low + 30), min_size=1, max_size=12)))
    edges = [low, *inner]
    if edges[-1] - edges[-2] == 1 and data.draw(st.booleans()):
        edges.append(edges[-1])  # the last bin holds one number
    attribute = Attribute("x", "integer", edges=tuple(map(Fraction, edges)), missing=("?",))
    last = attribute.bin_count
    starts = sorted({0, *data.draw(st.sets(st.integers(0, last - 1)))})
    level = interval_level(attribute, "some", starts)
    assert level.group_of[last] == level.size - 1
    assert level.labels[-1] == "missing"
    for number, (start, end) in enumerate(pairwise([*starts, last])):
        assert {level.group_of[code] for code in range(start, end)} == {number}
        first, final = attribute.integer_bounds(start)[0], attribute.integer_bounds(end - 1)[1]
        if first == final:
            expected = str(first)
        elif end == last:
            expected = f"[{first}, {final}]"
        else:
            expected = f"[{first}, {final + 1})"
        assert level.labels[number] == expected


@DETERMINISTIC
@given(st.lists(st.integers(0, 4), min_size=1, max_size=12), st.booleans())
def test_groups_are_numbered_by_their_first_code(numbers: list[int], missing: bool) -> None:
    levels = tuple(f"level {code}" for code in range(len(numbers)))
    attribute = Attribute("x", "categorical", levels=levels, missing=("",) if missing else ())
    groups: dict[str, list[int]] = {}
    for code, number in enumerate(numbers):
        groups.setdefault(f"group {number}", []).insert(0, code)
    shuffled = dict(reversed(groups.items()))
    level = grouped_level(attribute, "some", with_missing(attribute, shuffled))
    of_code = [f"group {number}" for number in numbers] + ["missing"] * missing
    assert [level.labels[group] for group in level.group_of] == of_code
    assert list(level.labels) == list(dict.fromkeys(of_code))


def test_a_group_that_lists_the_missing_level_keeps_it() -> None:
    attribute = Attribute("x", "categorical", levels=("a", "b"), missing=("",))
    groups = {"known": [0, 1], "unknown": [2]}
    assert with_missing(attribute, groups) == groups
    assert with_missing(attribute, {"all": [0, 1]}) == {"all": [0, 1], "missing": (2,)}


@DETERMINISTIC
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=10))
def test_a_divided_group_is_found_where_there_is_one(pairs: list[tuple[int, int]]) -> None:
    coarser = HierarchyLevel("coarser", tuple(outer for outer, _ in pairs), ("",) * 4)
    finer = HierarchyLevel("finer", tuple(inner for _, inner in pairs), ("",) * 4)
    found = divided_group(coarser, finer)
    divided = {inner for o, inner in pairs for p, same in pairs if inner == same and o != p}
    assert (found is None) == (not divided)
    if found is not None:
        inner, first, second = found
        assert first != second
        assert {(first, inner), (second, inner)} <= set(pairs)


def test_a_level_is_found_by_its_name_and_a_margin_sums_its_groups() -> None:
    plain = ordered(8)
    attribute = Attribute("x", "number", edges=plain.edges, hierarchy=balanced_levels(plain, 2))
    assert [attribute.coarsening_of(f"{parts} parts") for parts in (4, 2)] == [1, 2]
    assert attribute.coarsening_of("8 parts") is None
    assert attribute.depth == 3
    universe = Universe((attribute,))
    for parts in (4, 2):
        step = attribute.coarsening_of(f"{parts} parts")
        assert step is not None
        sums = Margin(("x",), (step,)).sums(universe, np.arange(8))
        assert sums.tolist() == np.arange(8).reshape(parts, -1).sum(axis=1).tolist()


@pytest.mark.parametrize(
    ("size", "shown"),
    [(0, []), (2, ["0", "1"]), (3, ["0", "1", "2"]), (4, ["0", "1", "..."])],
)
def test_at_least_two_entries_are_hidden_or_none(size: int, shown: list[str]) -> None:
    assert shorten(map(str, range(size)), 2) == shown


def test_an_endless_list_is_read_only_as_far_as_needed() -> None:
    assert shorten(map(str, count()), 1) == ["0", "..."]
