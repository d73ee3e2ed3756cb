"""Evenly spread points: their counts, where they are, and what no point may be."""

import numpy as np
import pytest

from synth.domain import Conjunction
from synth.domain.counts import code_type, is_possible
from synth.estimate.listed.classes import ONE, Classes, whole_shares
from synth.estimate.listed.points import drawn_points, quotas_of, steady_steps
from synth.estimate.listed.support import spread


def test_steps_are_many_and_differ():
    steps = steady_steps(60)
    assert len(set(steps)) == 60
    assert all(0 < step < 2**64 for step in steps)


def even_classes(universe, total):
    return Classes.independent([np.ones(size) for size in universe.shape], float(total))


def mixed_classes(universe, total, classes, seed=1):
    """Classes that differ much."""
    generator = np.random.default_rng(seed)
    laws = [generator.dirichlet(np.full(size, 0.4), classes) for size in universe.shape]
    return Classes.of(generator.dirichlet(np.ones(classes)), laws, float(total))


@pytest.mark.parametrize("seed", range(4))
def test_quotas_are_whole_and_carry_what_is_rounded(seed):
    generator = np.random.default_rng(seed)
    law = whole_shares(generator.dirichlet(np.full(30, 0.1), 80))
    sizes = generator.integers(0, 40, 80)
    quotas = np.array(list(quotas_of(law, sizes)))
    assert (quotas >= 0).all()
    assert quotas.sum(axis=1).tolist() == sizes.tolist()
    wanted = law * sizes[:, None] / ONE
    assert np.abs(quotas.sum(axis=0) - wanted.sum(axis=0)).max() <= 1.0
    assert np.abs(np.cumsum(quotas - wanted, axis=0)).max() <= 2.0


def test_classes_and_codes_have_the_points_that_their_shares_say(make):
    universe, points = make.universe(7, 5, 11, 3), 10_000
    model = mixed_classes(universe, points, 40)
    columns = drawn_points(model, universe, 3, points)
    for column, law in zip(columns, model.laws, strict=True):
        wanted = points * ((model.shares / ONE) @ (law / ONE))
        found = np.bincount(column, minlength=law.shape[1])
        assert np.abs(found - wanted).max() < 2 + 40 * 0.5  # the sizes of classes are rounded, too
        assert np.abs(found - wanted).mean() < 2
    chance = np.zeros(universe.shape)
    for share, *laws in zip(model.shares / ONE, *model.laws, strict=True):
        part = share
        for law in laws:
            part = np.multiply.outer(part, law / ONE)
        chance += part
    found = np.zeros(universe.shape)
    np.add.at(found, tuple(columns), 1 / points)
    sampled = 0.5 * np.sqrt(2 / np.pi * chance / points).sum()
    assert 0.5 * np.abs(found - chance).sum() < sampled


def test_points_are_more_even_than_chance(make):
    """Mean total variation of all pairs: chance gives 0.5 sum E|binomial - mean| / n."""
    universe, points = make.universe(*[10] * 12), 20_000
    columns = drawn_points(even_classes(universe, points), universe, 3, points)
    ones = [np.abs(np.bincount(c, minlength=10) / points - 0.1).sum() / 2 for c in columns]
    assert max(ones) < 10 * 5 / points
    pairs = []
    for i in range(12):
        for j in range(i):
            joint = np.bincount(columns[i].astype(int) * 10 + columns[j], minlength=100)
            pairs.append(np.abs(joint / points - 0.01).sum() / 2)
    chance = 0.5 * 100 * np.sqrt(2 / np.pi * 0.01 * 0.99 / points)
    assert np.mean(pairs) < 0.7 * chance
    assert max(pairs) < 3 * chance


def test_points_are_of_the_narrowest_type_and_differ_by_their_seed(make):
    universe = make.universe(5, 300, 3)
    one, other = (drawn_points(even_classes(universe, 9), universe, s, 999) for s in (8, 9))
    assert {column.dtype for column in one} == {np.dtype(code_type(universe.shape))}
    assert any((a != b).any() for a, b in zip(one, other, strict=True))
    assert [len(column) for column in drawn_points(even_classes(universe, 0), universe, 1, 0)] == [
        0
    ] * 3


def test_the_support_has_every_cell_once_and_keeps_listed_counts(make):
    universe = make.universe(6, 5, 4)
    listed = [np.array([0, 2, 5]), np.array([1, 1, 4]), np.array([0, 3, 3])]
    found = spread(
        even_classes(universe, 500), universe, 1, listed=listed, counts=np.array([7.5, 80, 9])
    )
    cells = sum(
        c.astype(np.int64) * s for c, s in zip(found.columns, universe.strides, strict=True)
    )
    assert (np.diff(cells) > 0).all()
    kept = {int(c): v for c, v in zip(cells[found.listed], found.values[found.listed], strict=True)}
    assert kept == {4: 7.5, 47: 80, 119: 9}
    assert found.values[~found.listed].sum() == pytest.approx(500)
    assert (found.values > 0).all()


def test_impossible_cells_are_not_drawn(make):
    rules = (Conjunction({"a0": (0, 1, 2), "a1": (0,)}), Conjunction({"a2": (3,)}))
    universe = make.universe(6, 3, 4, impossible=rules)
    none = [np.zeros(0, dtype=np.int64)] * 3
    found = spread(even_classes(universe, 1000), universe, 1, listed=none, counts=np.zeros(0))
    assert is_possible(found.columns, universe).all()
    assert found.values.sum() == pytest.approx(1000)
    assert len(found.values) == universe.possible().sum()


def test_points_that_complete_a_rule_exchange_codes_so_that_counts_stay(make):
    """A tenth of the records are young, three tenths married, and no young one may be married."""
    universe = make.universe(10, 10, 4, impossible=(Conjunction({"a0": (0,), "a1": (0, 1, 2)}),))
    columns = drawn_points(even_classes(universe, 5000), universe, 1, 5000)
    assert is_possible(columns, universe).all()
    assert np.bincount(columns[0]).tolist() == [500] * 10
    assert np.bincount(columns[1]).tolist() == [500] * 10
    young = np.bincount(columns[1][columns[0] == 0], minlength=10)
    assert young[3:] == pytest.approx([500 / 7] * 7, rel=0.3)


def test_rules_that_leave_one_code_or_none(make):
    """A point without another code is left out; where a class has no other code, it gets one."""
    rules = (
        Conjunction({"a0": (0,), "a1": (0, 1)}),
        Conjunction({"a0": (1,), "a1": (0, 1, 2)}),
        Conjunction({"a2": (0,)}),
    )
    universe = make.universe(3, 3, 2, impossible=rules)
    laws = [np.array([[1.0, 1, 1]]), np.array([[1.0, 1, 0]]), np.array([[1.0, 1]])]
    model = Classes.of(np.ones(1), laws, 600.0)
    none = [np.zeros(0, dtype=np.int64)] * 3
    found = spread(model, universe, 1, listed=none, counts=np.zeros(0))
    assert is_possible(found.columns, universe).all()
    assert found.values.sum() == pytest.approx(600)
    cells = set(zip(*(column.tolist() for column in found.columns), strict=True))
    assert cells == {(0, 2, 1), (2, 0, 1), (2, 1, 1)}
