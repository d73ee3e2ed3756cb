"""Possible cells, against the mask over the whole universe."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.domain import Attribute, Conjunction, Universe

SIZES = (2, 3, 4, 3)
NAMES = ("a", "b", "c", "d")


def universe(sizes, rules):
    attributes = tuple(
        Attribute(name, "categorical", tuple(map(str, range(size))))
        for name, size in zip(NAMES, sizes, strict=False)
    )
    return Universe(attributes, tuple(Conjunction(rule) for rule in rules))


rules = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            name: st.lists(st.integers(0, size - 1), min_size=1, unique=True).map(tuple)
            for name, size in zip(NAMES, SIZES, strict=True)
        },
    ),
    max_size=5,
)


@given(rules)
@settings(max_examples=150, deadline=None, derandomize=True, database=None)
def test_the_count_is_that_of_the_mask(drawn):
    made = universe(SIZES, drawn)
    assert made.possible_cells() == int(made.possible().sum())


def test_without_rules_every_cell_is_possible():
    assert universe(SIZES, []).possible_cells() == math.prod(SIZES)


def test_a_universe_of_any_size_is_counted():
    attributes = tuple(
        Attribute(f"x{i}", "categorical", tuple(map(str, range(10)))) for i in range(30)
    )
    made = Universe(attributes, (Conjunction({"x0": (1,), "x29": (2, 3)}),))
    assert made.possible_cells() == 10**30 - 2 * 10**28


@pytest.mark.parametrize("codes", [(0,), (0, 1)])
def test_one_rule_by_hand(codes):
    assert universe((2, 3), [{"a": codes, "b": (1,)}]).possible_cells() == 6 - len(codes)
