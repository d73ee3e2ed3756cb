"""Columns of few codes measured together: every column once, every pair somewhere, and worth it."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import pytest

from synth.domain import Margin
from synth.planning.after_nonnegativity import ErrorsAfterFit
from synth.planning.covering import covering_tables, joined_columns
from synth.planning.margins import errors_of_columns, margins_of_order, one_way_shares
from synth.planning.problem import problem_of
from synth.planning.spending import Purse, table_event
from synth.planning.weighing import choose


@pytest.fixture
def problem_with(configure):
    def build(sizes, records=None):
        return problem_of(configure(sizes, strategy="auto", total=records, cells=False))

    return build


def pairs_of(problem):
    return [Margin(names, (0, 0)) for names in combinations(problem.universe.names, 2)]


def columns_of(tables):
    return {frozenset(table.names) for table in tables}


MIXED = (2, 2, 3, 2, 4, 2, 5, 2, 3, 2, 30)


@pytest.mark.parametrize("sizes", [(2,) * 16, MIXED, (3,) * 9])
def test_joined_columns_are_all_columns_once_and_tell_them_better_than_alone(problem_with, sizes):
    problem = problem_with(sizes)
    alone = margins_of_order(problem, 1)
    found = list(joined_columns(problem))
    assert found
    assert len({frozenset(columns_of(tables)) for tables in found}) == len(found)
    for tables in found:
        assert sorted(n for t in tables for n in t.names) == sorted(problem.universe.names)
        assert off_by(problem, tables) <= 0.9 * off_by(problem, alone)


def off_by(problem, tables):
    """The error of all single columns where a budget of epsilon is split as it is."""
    purse = Purse(Fraction(1), "laplace")
    events = purse.events(problem, tables, one_way_shares(problem, tables, purse))
    errors = errors_of_columns(problem, tables)
    return sum(error / float(event.epsilon) for error, event in zip(errors, events, strict=True))


@pytest.mark.parametrize("sizes", [(5, 6, 7, 8), (4, 4, 4, 4), (85, 16, 7, 6, 5, 2, 2), (2, 2, 2)])
def test_columns_that_are_as_well_known_alone_are_not_joined_nor_is_the_universe(
    problem_with, sizes
):
    problem = problem_with(sizes)
    assert all(problem.full not in tables for tables in joined_columns(problem))
    if max(sizes) > 2:
        assert not list(joined_columns(problem))


@pytest.mark.parametrize("sizes", [(2,) * 16, MIXED, (3,) * 9, (10,) * 4])
def test_covering_tables_hold_every_pair_and_are_fewer_than_pairs(problem_with, sizes):
    problem = problem_with(sizes)
    pairs = pairs_of(problem)
    for asked in (pairs, pairs[::2]):
        for tables in covering_tables(problem, asked):
            held = {pair for t in tables for pair in combinations(t.names, 2)}
            assert {pair.names for pair in asked} <= held
            assert len(tables) <= 0.8 * len(asked)
            assert len(columns_of(tables)) == len(tables)
            assert problem.full not in tables
            assert all(len(t.names) == 2 or t.cells(problem.universe) <= 128 for t in tables)


def test_twenty_tables_of_four_columns_would_do_for_sixteen_and_few_more_are_taken(problem_with):
    problem = problem_with((2,) * 16)
    of_four = next(iter(covering_tables(problem, pairs_of(problem))))
    assert max(len(table.names) for table in of_four) == 4
    assert 20 <= len(of_four) <= 28


def test_the_tables_do_not_depend_on_the_order_of_the_columns(problem_with):
    problem = problem_with(MIXED)
    turned = replace(problem, attributes=problem.attributes[::-1])
    for made in (joined_columns, lambda p: covering_tables(p, pairs_of(p))):
        ours, others = (list(map(columns_of, made(each))) for each in (problem, turned))
        assert ours == others


def test_tables_that_share_no_column_keep_what_they_know(problem_with):
    problem = problem_with((2,) * 4)
    names = problem.universe.names
    apart = [Margin(names[:2], (0, 0)), Margin(names[2:], (0, 0))]
    linked = [Margin(names[:2], (0, 0)), Margin(names[1:3], (0, 0)), Margin(names[2:], (0, 0))]

    def first_error(margins):
        events = [table_event(problem, m, Fraction(1, 10), noise="laplace") for m in margins]
        asked = [q for q in problem.questions if set(q.attributes) == set(names[:1])]
        return ErrorsAfterFit(problem.axes, events, tuple(asked)).at(100_000)[0]

    assert first_error(apart) < first_error(linked[:2])


def test_small_columns_are_joined_beside_the_universe_and_cover_pairs_above_the_dense_limit(
    problem_with,
):
    narrow = problem_with((2,) * 14, records=20_000)
    assert choose(narrow).chosen.spending.tables == "universe + joined columns"
    wide = problem_with((2,) * 40, records=50_000)
    assert "covering tables" in choose(wide).chosen.spending.tables
