"""Sums by products of matrices against sums cell by cell."""

from dataclasses import replace

import numpy as np
import pytest

from synth.domain import Attribute, Universe
from synth.estimate.blocks import products
from synth.estimate.blocks.cells import Cells
from synth.estimate.blocks.groups import PAIRS, CellRules, Groups, PairTables
from synth.estimate.blocks.products import product_sums
from synth.estimate.blocks.scores import Term, mean_score, on_grid


def groups_of(*sizes):
    attributes = tuple(
        Attribute(f"a{number}", "categorical", levels=tuple(map(str, range(size))))
        for number, size in enumerate(sizes)
    )
    return Groups.of(Universe(attributes))


def tables(groups, seed, *, missing=()):
    generator = np.random.default_rng(seed)
    first, second, third = (
        None if pair in missing else generator.normal(size=(groups.sizes[i], groups.sizes[j]))
        for pair, (i, j) in enumerate(PAIRS)
    )
    return PairTables((first, second, third))


def whole(groups, pairs):
    """The sum of the tables at every cell."""
    total = np.zeros(groups.sizes)
    for table, (i, j) in zip(pairs.tables, PAIRS, strict=True):
        if table is not None:
            total += np.expand_dims(table, 3 - i - j)
    return total


@pytest.mark.parametrize("missing", [(), (0,), (1, 2)])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_are_those_of_the_cells(missing, weighted):
    groups = groups_of(3, 4, 2, 5, 3)
    log_mean = tables(groups, 1, missing=missing)
    weight = tables(groups, 2, missing=(1,)) if weighted else None
    found = product_sums(groups, log_mean, weight, threads=2)
    cells = np.exp(whole(groups, log_mean)) * (1.0 if weight is None else whole(groups, weight))
    for table, (i, j) in zip(found.tables, PAIRS, strict=True):
        assert table == pytest.approx(cells.sum(axis=3 - i - j), rel=1e-12)


def test_the_same_bytes_with_any_number_of_threads():
    groups = groups_of(40, 150, 130)
    log_mean, weight = tables(groups, 3), tables(groups, 4)
    one, five = (product_sums(groups, log_mean, weight, threads=n) for n in (1, 5))
    for left, right in zip(one.tables, five.tables, strict=True):
        assert left.tobytes() == right.tobytes()


def test_a_step_much_too_far_stays_finite():
    groups = groups_of(2, 2, 2)
    found = product_sums(groups, tables(groups, 5).of_each(lambda t: t * 1e6), None, threads=1)
    assert all(np.isfinite(table).all() for table in found.tables)


def test_a_pass_over_the_cells_gives_the_same_but_for_its_grid(monkeypatch):
    groups = groups_of(6, 7, 8)
    cells = Cells(groups, None, CellRules(groups, []), threads=1)
    looked_up = replace(mean_score(), is_exponential=False)
    log_mean, weight = on_grid(tables(groups, 6)), tables(groups, 7).of_each(np.abs)
    asked = []
    monkeypatch.setattr(
        "synth.estimate.blocks.cells.product_sums",
        lambda *given, **options: asked.append(1) or products.product_sums(*given, **options),
    )
    terms = [Term(mean_score(), log_mean, weight=weight), Term(mean_score(), log_mean, sign=-1)]
    found = cells.sums(terms)
    assert len(asked) == 2
    slow = cells.sums([replace(term, score=looked_up) for term in terms])
    assert len(asked) == 2
    for left, right in zip(found.tables, slow.tables, strict=True):
        assert left == pytest.approx(right, rel=0.01, abs=0.01 * np.abs(right).max())
