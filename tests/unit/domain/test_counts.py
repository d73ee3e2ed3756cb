"""Counts of some cells, against the table of all cells."""

import numpy as np
import pytest

from synth.domain import Attribute, Conjunction, HierarchyLevel, Margin, Universe
from synth.domain.counts import (
    Counts,
    difference,
    inside,
    is_possible,
    margin_sums,
)

SHAPE = (4, 3, 2)
LEVEL = HierarchyLevel("half", (0, 0, 1, 1), ("low", "high"))
UNIVERSE = Universe(
    (
        Attribute("a", "categorical", tuple("pqrs"), hierarchy=(LEVEL,)),
        Attribute("b", "categorical", tuple("xyz")),
        Attribute("c", "categorical", tuple("mn")),
    ),
    (Conjunction({"a": (0,), "b": (1, 2)}), Conjunction({"c": (1,), "b": (0,)})),
)


def table(seed):
    return np.random.default_rng(seed).poisson(0.7, 24).astype(np.int64)


def sparse(dense):
    cells = np.flatnonzero(dense)
    codes = [codes.astype(np.uint8) for codes in UNIVERSE.codes(cells)]
    return Counts(tuple(codes), dense[cells])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "margin",
    [
        Margin(("a",), (1,)),
        Margin(("a", "c"), (0, 0)),
        Margin(("a", "b", "c"), (1, 0, 0)),
        Margin((), ()),
    ],
)
def test_margins_are_those_of_the_whole_table(seed, margin):
    dense = table(seed)
    counts = sparse(dense)
    found = margin_sums(counts.columns, counts.values, UNIVERSE, margin)
    assert found.tolist() == margin.sums(UNIVERSE, dense).tolist()
    assert counts.total == dense.sum()


def test_sets_of_cells_are_those_of_the_whole_table():
    every = tuple(UNIVERSE.codes(np.arange(24)))
    for rule in (*UNIVERSE.impossible, Conjunction({}), Conjunction({"a": (1, 3)})):
        assert inside(every, UNIVERSE, rule).tolist() == UNIVERSE.members(rule).tolist()
    assert is_possible(every, UNIVERSE).tolist() == UNIVERSE.possible().tolist()


@pytest.mark.parametrize("seed", range(5))
def test_two_tables_differ_where_the_whole_ones_do(seed):
    left, right = table(seed), table(seed + 100)
    apart = difference(sparse(left), sparse(right), SHAPE)
    wrong = np.flatnonzero(left != right)
    assert wrong.size
    assert [UNIVERSE.cell(codes) for codes in zip(*apart.columns, strict=True)] == wrong.tolist()
    assert apart.found.tolist() == left[wrong].tolist()
    assert apart.expected.tolist() == right[wrong].tolist()
    assert apart.apart.tolist() == np.abs(left - right)[wrong].tolist()
    assert not len(difference(sparse(left), sparse(left), SHAPE).found)


def test_counts_are_looked_up():
    dense = table(3)
    every = tuple(UNIVERSE.codes(np.arange(24)))
    assert sparse(dense).at(every, SHAPE).tolist() == dense.tolist()
    nothing = sparse(np.zeros(24, dtype=np.int64))
    assert nothing.at(every, SHAPE).tolist() == [0] * 24
    assert len(difference(nothing, sparse(dense), SHAPE).found) == np.count_nonzero(dense)


@pytest.mark.parametrize("seed", range(3))
def test_the_records_of_two_tables_are_added_cell_by_cell(seed):
    one, other = table(seed), table(seed + 10)
    both = sparse(one).plus(sparse(other), SHAPE)
    assert both.of_every_cell(SHAPE).tolist() == (one + other).tolist()
    assert (both.values > 0).all()
    assert sparse(one).plus(sparse(one * 0), SHAPE).of_every_cell(SHAPE).tolist() == one.tolist()
