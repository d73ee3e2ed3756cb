"""The universe: cell numbers, sets of cells and what is possible, against enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.domain import Attribute, Conjunction, PublicTotal, Universe
from synth.domain.totals import check_public_totals, coarsen

DETERMINISTIC = settings(derandomize=True, deadline=None)


def categorical(name: str, size: int) -> Attribute:
    return Attribute(name, "categorical", levels=tuple(f"{name}{code}" for code in range(size)))


def universe_of(sizes: list[int], *rules: dict[str, tuple[int, ...]]) -> Universe:
    attributes = tuple(categorical(f"c{i}", size) for i, size in enumerate(sizes))
    return Universe(attributes, tuple(map(Conjunction, rules)))


SIZES = st.lists(st.integers(1, 5), min_size=1, max_size=5)


@st.composite
def universes(draw: st.DrawFn) -> Universe:
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    rules = draw(st.lists(conjunctions(sizes), max_size=5))
    return universe_of(sizes, *rules)


@st.composite
def conjunctions(draw: st.DrawFn, sizes: list[int]) -> dict[str, tuple[int, ...]]:
    chosen = draw(st.lists(st.sampled_from(range(len(sizes))), min_size=1, unique=True))
    return {
        f"c{i}": tuple(sorted(draw(st.sets(st.integers(0, sizes[i] - 1), min_size=1))))
        for i in chosen
    }


@DETERMINISTIC
@given(SIZES)
def test_cell_numbers_count_codes_in_c_order(sizes: list[int]) -> None:
    universe = universe_of(sizes)
    assert universe.size == math.prod(sizes)
    every = itertools.product(*map(range, sizes))
    assert [universe.cell(codes) for codes in every] == list(range(universe.size))


@DETERMINISTIC
@given(SIZES)
def test_codes_undo_cell_numbers(sizes: list[int]) -> None:
    universe = universe_of(sizes)
    codes = universe.codes(np.arange(universe.size))
    expected = np.array(list(itertools.product(*map(range, sizes)))).T
    assert all(np.array_equal(a, b) for a, b in zip(codes, expected, strict=True))


@DETERMINISTIC
@given(st.lists(st.integers(2, 10**6), min_size=12, max_size=12), st.data())
def test_cell_numbers_of_any_magnitude_are_exact(sizes: list[int], data: st.DataObject) -> None:
    attributes = tuple(Attribute(f"c{i}", "categorical", levels=("x",)) for i in range(len(sizes)))
    universe = Universe(attributes)
    universe.__dict__["shape"] = tuple(sizes)  # a large shape without a million levels
    codes = [data.draw(st.integers(0, size - 1)) for size in sizes]
    cell = universe.cell(codes)
    undone = [cell // stride % size for stride, size in zip(universe.strides, sizes, strict=True)]
    assert undone == codes
    assert 0 <= cell < universe.size == math.prod(sizes)


def test_a_universe_without_attributes_is_one_cell() -> None:
    universe = Universe(())
    assert (universe.shape, universe.strides, universe.size) == ((), (), 1)
    assert universe.codes(np.zeros(1, dtype=np.int64)) == []
    assert universe.cell(()) == 0


def test_a_universe_beyond_64_bits() -> None:
    universe = universe_of([1000] * 10)
    assert universe.size == 10**30
    assert universe.cell([999] * 10) == 10**30 - 1
    assert universe.cell([1] + [0] * 9) == 10**27


@settings(DETERMINISTIC, max_examples=60)
@given(universes())
def test_masks_are_those_of_enumeration(universe: Universe) -> None:
    cells = list(itertools.product(*map(range, universe.shape)))

    def inside(rule: Conjunction, codes: tuple[int, ...]) -> bool:
        return all(codes[universe.names.index(n)] in allowed for n, allowed in rule.codes.items())

    for rule in universe.impossible:
        assert universe.members(rule).tolist() == [inside(rule, codes) for codes in cells]
    possible = [not any(inside(r, codes) for r in universe.impossible) for codes in cells]
    assert universe.possible().tolist() == possible
    assert universe.has_possible_cell() == any(possible)


def test_an_empty_conjunction_is_all_cells() -> None:
    universe = universe_of([2, 3])
    assert universe.members(Conjunction({})).all()
    assert Conjunction({}).describe(universe) == "all records"
    assert Conjunction({"c0": (1,), "c1": (0, 2)}).describe(universe) == "c0=c01, c1=c10|c12"


def test_possibility_is_found_in_a_universe_of_any_size() -> None:
    sizes = [100] * 15
    rules = [{f"c{i}": tuple(range(1, 100))} for i in range(15)]
    assert universe_of(sizes, *rules).has_possible_cell() is True
    assert universe_of(sizes, *rules, {"c3": (0,)}).has_possible_cell() is False


def test_possibility_is_not_searched_for_without_end() -> None:
    """Twelve records in eleven places, no two in the same: impossible, and hard to see."""
    pairs = itertools.combinations(range(12), 2)
    rules = [{f"c{i}": (k,), f"c{j}": (k,)} for i, j in pairs for k in range(11)]
    assert universe_of([11] * 12, *rules).has_possible_cell() is None


@settings(DETERMINISTIC, max_examples=60)
@given(universes(), st.data())
def test_a_coarse_universe_has_the_same_atoms(universe: Universe, data: st.DataObject) -> None:
    sizes = list(universe.shape)
    wheres = [Conjunction(c) for c in data.draw(st.lists(conjunctions(sizes), max_size=4))]
    small, moved = coarsen(universe, wheres)
    assert small.size <= universe.size

    def atoms(u: Universe, rules: list[Conjunction]) -> set[tuple[bool, ...]]:
        masks = [u.members(rule) for rule in rules]
        return set(zip(u.possible().tolist(), *(mask.tolist() for mask in masks), strict=True))

    assert atoms(small, list(moved)) == atoms(universe, wheres)
    assert [w.describe(universe).count("=") for w in wheres] == [
        w.describe(small).count("=") for w in moved
    ]


@settings(DETERMINISTIC, max_examples=25)
@given(universes(), st.data())
def test_a_coarse_universe_gives_the_same_answer_on_totals(
    universe: Universe, data: st.DataObject
) -> None:
    pairs = st.tuples(conjunctions(list(universe.shape)), st.integers(0, 3))
    declared = data.draw(st.lists(pairs, max_size=3))
    totals = [PublicTotal(Conjunction(codes), total, "s") for codes, total in declared]
    small, moved = coarsen(universe, [total.where for total in totals])
    coarse = [PublicTotal(w, t.total, t.source) for w, t in zip(moved, totals, strict=True)]
    fine_answer = check_public_totals(universe, totals)
    assert (check_public_totals(small, coarse) is None) == (fine_answer is None)
