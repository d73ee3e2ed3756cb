"""A cumulative release is fitted to its tables, and keeps the records of the one before."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from synth.config import WorkloadConfig
from synth.config.workload import WeightedMarginal
from synth.domain import Margin
from synth.domain.counts import Counts
from synth.estimate import judge, records_taken_back
from synth.estimate.any_size import rows_are_drawn
from synth.estimate.blocks.cells import BLOCK_CELLS
from synth.measurements import Measurements
from synth.planning import costs
from synth.release.derivation import ADDED, derive
from tests.unit.estimate.conftest import draw_table, make_config, measure

SHAPE = (4, 3, 5)
DRAWN, BLOCKS = (10,) * 6, (40, 41, 42)
"""Universes of which rows are drawn, and that are passed over in two blocks."""
NO_CELLS = {shape: np.zeros(np.prod(shape), dtype=np.int64) for shape in (DRAWN, BLOCKS)}


def of_pairs(config, truth, *, seed=0):
    universe = config.universe
    pairs = combinations(universe.names, 2)
    tables = [
        measure(universe, names, truth, epsilon=Fraction(1, 2), seed=seed + place)
        for place, names in enumerate(pairs)
    ]
    return Measurements("t", "0" * 64, tuple(tables))


def configured(shape, order):
    config = make_config(shape, cells=False)
    asked = tuple(WeightedMarginal(names) for names in combinations(config.universe.names, order))
    return replace(config, workload=WorkloadConfig(asked, cells=False), strategy="auto")


def release(records, *, previous=None, seed=0, more=0):
    config = configured(SHAPE, 2)
    measured = of_pairs(config, draw_table(SHAPE, records, 1), seed=seed)
    if more:
        tables = [replace(t, noisy_counts=t.noisy_counts + more) for t in measured.tables]
        measured = replace(measured, tables=tuple(tables))
    return derive(measured, config, previous)


def test_the_release_before_is_kept_and_the_new_one_agrees_with_its_tables():
    first = release(400)
    assert first.growth is None
    assert ADDED not in first.seeds
    second = release(900, previous=first.counts, seed=10)
    plain = release(900, seed=10)
    assert second.counts.total == plain.counts.total
    assert second.growth.previous is first.counts
    assert second.growth.taken_back == 0
    assert records_taken_back(first.counts, second.counts, SHAPE) == 0
    assert records_taken_back(first.counts, plain.counts, SHAPE) > 0
    verdict = judge(second.counts, second.measurements, second.config, grown=True)
    assert second.gate == {"outcome": "agree", **verdict.to_plain()}
    again = release(900, previous=first.counts, seed=10)
    assert again.counts.of_every_cell(SHAPE).tolist() == second.counts.of_every_cell(SHAPE).tolist()


def test_a_release_before_that_contradicts_the_tables_is_taken_back():
    wrong = np.zeros(60, dtype=np.int64)
    wrong[[0, 59]] = 300
    second = release(900, previous=Counts.of_all(wrong, SHAPE))
    plain = release(900)
    assert second.counts.of_every_cell(SHAPE).tolist() == plain.counts.of_every_cell(SHAPE).tolist()
    assert second.gate == plain.gate
    lost = np.maximum(wrong - plain.counts.of_every_cell(SHAPE), 0).sum()
    assert second.growth.taken_back == lost > 0


@pytest.mark.parametrize("more", [0, -3])
def test_tables_of_nobody_may_lie_below_nothing(more):
    before = Counts.of_all(np.eye(1, 60, 7, dtype=np.int64)[0] * 2, SHAPE)
    found = release(0, previous=before, more=more)
    assert sum(int(t.noisy_counts.sum()) for t in found.measurements.tables) < 1 or not more
    assert (found.counts.of_every_cell(SHAPE) >= before.of_every_cell(SHAPE)).all()
    assert found.growth.taken_back == 0


def test_replicates_are_those_of_the_counts_that_are_published():
    first = release(400)
    config = configured(SHAPE, 2)
    config = replace(config, output=replace(config.output, replicates=10))
    measured = of_pairs(config, draw_table(SHAPE, 900, 1), seed=10)
    second = derive(measured, config, first.counts)
    assert second.replicates.published.sum() == second.counts.total
    assert len(second.replicates.counts) == 10


@pytest.mark.parametrize(("sizes", "records"), [(DRAWN, 3_000), (BLOCKS, 4_000)])
def test_rows_that_are_drawn_and_universes_passed_over_block_by_block(monkeypatch, sizes, records):
    monkeypatch.setattr(costs, "HELD_CELLS", BLOCK_CELLS)
    config = configured(sizes, 1)
    universe = config.universe
    generator = np.random.default_rng(3)
    codes = [generator.binomial(size - 1, 0.3, records) for size in sizes]

    def counts(number):
        cells = np.ravel_multi_index([code[:number] for code in codes], sizes)
        where, values = np.unique(cells, return_counts=True)
        return Counts.of_cells(where, values, sizes)

    def measured(truth, seed):
        tables = []
        for place, name in enumerate(universe.names):
            sums = truth.sums(universe, Margin((name,), (0,)))
            blank = measure(universe, (name,), NO_CELLS[sizes], epsilon=Fraction(1), seed=seed)
            noise = blank.noisy_counts
            tables.append(replace(blank, noisy_counts=sums + np.roll(noise, place)))
        if sizes == BLOCKS:
            blank = measure(
                universe, universe.names, NO_CELLS[sizes], epsilon=Fraction(1), seed=seed
            )
            every = Margin(universe.names, (0,) * len(sizes))
            tables.append(
                replace(blank, noisy_counts=blank.noisy_counts + truth.sums(universe, every))
            )
        return Measurements("t", "0" * 64, tuple(tables))

    first = derive(measured(counts(records // 2), 1), config)
    assert rows_are_drawn(measured(counts(records), 2), config) == (sizes == DRAWN)
    assert not costs.is_held(universe)
    second = derive(measured(counts(records), 2), config, first.counts)
    assert second.growth.taken_back == 0
    assert records_taken_back(first.counts, second.counts, sizes) == 0
    assert abs(second.counts.total - records) < 50
