"""Points that are chosen for small tables: how near these are, and when there is a choice."""

from itertools import combinations

import numpy as np
import pytest

from synth.domain import Conjunction
from synth.domain.counts import is_possible
from synth.estimate.listed.chosen import chosen_points
from synth.estimate.listed.classes import Classes
from synth.estimate.listed.points import drawn_points
from synth.estimate.listed.support import spread
from synth.planning.costs import TRIED, tables_to_choose_by

RECORDS = 1500
SHAPE = (9, 12, 6, 8, 10, 18)


def of_several_classes(shape, records=RECORDS, seed=1):
    generator = np.random.default_rng(seed)
    laws = [generator.dirichlet(np.full(size, 0.4), 30) for size in shape]
    return Classes.of(generator.dirichlet(np.ones(30)), laws, float(records))


def sums(columns, table, shape):
    sizes = [shape[axis] for axis in table]
    cells = np.ravel_multi_index([columns[axis].astype(np.int64) for axis in table], sizes)
    return np.bincount(cells, minlength=int(np.prod(sizes))) / len(columns[0])


def distance(columns, others, tables, shape=SHAPE):
    """Mean total variation."""
    apart = [np.abs(sums(columns, t, shape) - sums(others, t, shape)).sum() / 2 for t in tables]
    return np.mean(apart)


def test_the_tables_of_what_is_kept_are_nearer_to_those_of_all_that_were_drawn(make):
    universe, model = make.universe(*SHAPE), of_several_classes(SHAPE)
    drawn = drawn_points(model, universe, 3, RECORDS * TRIED)
    kept = chosen_points(drawn, SHAPE, tables_to_choose_by(SHAPE, [], RECORDS))
    plain = drawn_points(model, universe, 3, RECORDS)
    assert [(len(column), column.dtype) for column in kept] == [(RECORDS, np.uint8)] * 6
    for order, most in ((2, 0.6), (3, 0.9)):
        tables = [*combinations(range(6), order)]
        assert distance(kept, drawn, tables) < most * distance(plain, drawn, tables)
    assert distance(kept, drawn, [(axis,) for axis in range(6)]) < 4 / RECORDS


def test_one_of_every_few_points_is_kept_and_what_is_left_over_dropped():
    generator = np.random.default_rng(5)
    drawn = [generator.integers(0, size, 10 * TRIED + 3) for size in SHAPE]
    kept = np.stack(chosen_points(drawn, SHAPE, [(0,), (1, 2), (0, 3, 5)]), axis=1)
    groups = np.stack(drawn, axis=1)[: 10 * TRIED].reshape(10, TRIED, len(SHAPE))
    assert all((group == row).all(axis=1).any() for group, row in zip(groups, kept, strict=True))
    assert all(column.size == 0 for column in chosen_points([c[:3] for c in drawn], SHAPE, [(0,)]))


def test_a_choice_is_decided_by_hand():
    """Two groups of which one offers code 0 alone: the other one takes code 1, as half do."""
    drawn = [np.array([0] * TRIED + [0, 1] * (TRIED // 2) + [1] * TRIED)]
    assert chosen_points(drawn, [2], [(0,)])[0].tolist() in ([0, 0, 1], [0, 1, 1])
    drawn = [np.array([0] * TRIED + [0] * (TRIED - 4) + [1] * 4)]
    assert chosen_points(drawn, [2], [(0,)])[0].tolist() == [0, 0]
    drawn = [np.array([0] * TRIED + [0] * (TRIED - 5) + [1] * 5)]
    assert chosen_points(drawn, [2], [(0,)])[0].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("shape", "points", "orders"),
    [
        ((10,) * 6, 1_500, {1: 6, 2: 15, 3: 20}),
        ((10,) * 6, 2_000, {}),  # 500 cells for every record
        ((10,) * 6, 900, {1: 6, 2: 15}),  # triples have 1,000 cells
        ((10,) * 30, 5_000, {1: 30, 2: 435}),  # 4,060 triples
        ((10,) * 100, 5_000, {1: 100, 2: 4950}),
        ((10,) * 14, 50_000, {1: 14, 2: 91, 3: 364}),
        ((10,) * 14, 250_000, {1: 14, 2: 91}),  # with triples it would take too long
        ((10,) * 100, 100_000, {}),
        ((10,) * 6, 100, {1: 6, 2: 15}),
        ((10,) * 6, 90, {}),
        ((2000, 10, 10, 10), 1_500, {}),  # the first is right to a record or two as it is drawn
        ((150, 10, 10, 100), 1_500, {1: 4, 2: 5}),
        ((30,) * 6, 1_000_000, {}),
        ((10,) * 6, 0, {}),
    ],
)
def test_tables_that_points_are_chosen_by(shape, points, orders):
    tables = tables_to_choose_by(shape, [], points)
    found = {order: sum(len(table) == order for table in tables) for order in (1, 2, 3)}
    assert {order: number for order, number in found.items() if number} == orders


def test_measured_tables_count_whatever_their_size():
    measured = [(0, 1), (2, 3, 4, 5, 6), (1, 2)]
    tables = tables_to_choose_by((60, 50, *[2] * 24), measured, 1_000)
    assert {*measured} <= {*tables}
    assert len({*tables}) == len(tables)
    assert {len(table) for table in tables if table not in measured} == {1, 2}


def test_a_measured_total_is_no_table_that_points_are_chosen_by():
    """It has no column, and every choice has it."""
    tables = tables_to_choose_by(SHAPE, [(), (0, 1)], RECORDS)
    assert tables == tables_to_choose_by(SHAPE, [(0, 1)], RECORDS)
    assert all(tables)


def test_measured_tables_of_five_columns_are_nearer_for_it(make):
    """Of binary columns a table of five tells more than its triples."""
    shape, records = (2,) * 22, 1_500
    model = of_several_classes(shape, records)
    universe, measured = make.universe(*shape), [tuple(range(k, k + 5)) for k in range(0, 18, 4)]
    drawn = drawn_points(model, universe, 3, records * TRIED)
    off = []
    for by in (measured, []):
        chosen = chosen_points(drawn, shape, tables_to_choose_by(shape, by, records))
        off.append(distance(chosen, drawn, measured, shape))
    assert off[0] < 0.6 * off[1]


def test_no_impossible_cell_is_kept_and_all_records_are_there(make):
    rules = (Conjunction({"a0": (0, 1, 2), "a1": (0, 1)}), Conjunction({"a2": (3,)}))
    universe = make.universe(*SHAPE, impossible=rules)
    none = [np.zeros(0, dtype=np.int64)] * len(SHAPE)
    by = tables_to_choose_by(SHAPE, [], RECORDS)
    model = of_several_classes(SHAPE, RECORDS + 0.4)
    found = spread(model, universe, 1, listed=none, counts=np.zeros(0), chosen_by=by)
    assert is_possible(found.columns, universe).all()
    assert found.values.sum() == pytest.approx(RECORDS + 0.4)
