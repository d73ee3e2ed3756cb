"""Replicates: the same law of noise, rules that hold in each, and nothing else that decides."""

import tracemalloc
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from synth.domain import Attribute, Conjunction, PublicTotal, Universe
from synth.domain.counts import Counts
from synth.estimate import estimate, replicates, replicates_of
from synth.estimate.blocks.estimate import estimate_blocks
from synth.estimate.listed.estimate import estimate_listed
from synth.estimate.whole.estimate import WholeEstimate
from synth.measurements import MeasuredLook, MeasuredTable, Measurements
from synth.privacy import LookEvent, TableEvent
from tests.unit.estimate.conftest import (
    draw_noise,
    draw_table,
    make_config,
    make_measurements,
    make_universe,
    measure,
)

SHAPE = (4, 5, 3)
SEEDS = (11, 12, 13)


def made(**rules):
    """A configuration, its measurements and what was published."""
    config = make_config(SHAPE, **rules)
    truth = draw_table(SHAPE, 2000, 1)
    noisy = truth + draw_noise(truth.size, decay=1.0, seed=2)
    return config, make_measurements(config, noisy)


def published(config, measurements, fit=None):
    fitted = fit or estimate(measurements, config, drawn_seed=1)
    return fitted, fitted.round(5), measurements, config


def test_totals_hold_and_impossible_cells_are_empty_in_each():
    rules = {"impossible": [{"a0": (1,), "a2": (2,)}], "totals": [({"a1": (0, 1)}, 700)]}
    config, measurements = made(**rules)
    found = replicates_of(*published(config, measurements), seeds=SEEDS)
    forbidden = (found.columns[0] == 1) & (found.columns[2] == 2)
    told = found.columns[1] <= 1
    assert len(found.counts) == len(SEEDS)
    for counts in (found.published, *found.counts):
        assert not counts[forbidden].any()
        assert counts[told].sum() == 700
    numbers = np.ravel_multi_index([c.astype(int) for c in found.columns], SHAPE)
    assert (np.diff(numbers) > 0).all()
    assert (found.published + sum(c.astype(int) for c in found.counts) > 0).all()


@pytest.mark.parametrize("way", ["whole", "sums alone", "blocks", "drawn", "listed"])
def test_every_way_gives_the_same_again_and_another_with_another_seed(way, monkeypatch):
    config, measurements = made()
    fit = None
    if way == "blocks":
        fit = estimate_blocks(measurements, config)
    if way in ("sums alone", "drawn"):
        universe, truth = config.universe, draw_table(SHAPE, 2000, 1)
        pairs = [("a0", "a1"), ("a1", "a2")]
        tables = [measure(universe, p, truth, epsilon=Fraction(1), seed=4) for p in pairs]
        measurements = Measurements("t", "0" * 64, tuple(tables))
        if way == "drawn":
            fit = estimate_listed(measurements, config, seed=3)
    if way == "listed":
        measurements = listed(measurements)
        fit = estimate_listed(measurements, config, seed=3)
    arguments = published(config, measurements, fit)
    one = replicates_of(*arguments, seeds=SEEDS[:1])
    monkeypatch.setattr(replicates, "default_threads", lambda: 3)
    two = replicates_of(*arguments, seeds=(SEEDS[0], 99))
    numbers, again = (
        np.ravel_multi_index([c.astype(int) for c in each.columns], SHAPE) for each in (one, two)
    )
    first, same, other = np.zeros(60), np.zeros(60), np.zeros(60)
    first[numbers], same[again], other[again] = one.counts[0], two.counts[0], two.counts[1]
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)
    if way in ("drawn", "listed"):
        assert (one.published > 0).all()


def listed(measurements, threshold=12):
    """The cells of a table that reach a threshold."""
    (table,) = measurements.tables
    kept = np.flatnonzero(table.noisy_counts >= threshold)
    event = replace(table.event, threshold=threshold)
    codes = np.stack(np.unravel_index(kept, SHAPE), axis=1)
    lists = MeasuredTable(event, table.noisy_counts[kept], table.variance, codes)
    return Measurements("t", "0" * 64, (lists, pair_of(measurements)))


def pair_of(measurements):
    (table,) = measurements.tables
    sums = table.noisy_counts.reshape(SHAPE).sum(axis=2).ravel()
    return MeasuredTable(TableEvent(("a0", "a1"), sums.size, 1, Fraction(1)), sums, 1.8)


def test_full_cells_vary_by_the_noise_of_their_law():
    """Of cells far from 0 the estimate is the noisy count: its error has the variance of it."""
    universe = Universe((Attribute("a0", "categorical", tuple("abcdef")),))
    config = replace(make_config((6,), epsilon=Fraction(1, 5)), universe=universe)
    truth = np.array([4000, 9000, 2500, 7000, 5100, 3300])
    measurements = make_measurements(config, truth, epsilon=Fraction(1, 5))
    fitted = estimate(measurements, config, drawn_seed=1)
    found = replicates_of(fitted, fitted.round(5), measurements, config, seeds=range(100))
    apart = np.stack([c.astype(int) for c in found.counts]) - found.published
    variance = measurements.tables[0].variance
    # 600 squares of a Laplace law, whose relative variance is 5: six standard errors
    assert (apart**2).mean() == pytest.approx(variance, rel=6 * (5 / apart.size) ** 0.5)
    assert abs(apart.mean()) < 6 * (variance / apart.size) ** 0.5
    together = np.corrcoef(apart.T)[np.triu_indices(6, 1)]
    assert np.abs(together).max() < 6 / 100**0.5


def test_the_look_gets_new_noise_as_well():
    """It tells the number of records here, which the cells hardly do."""
    config = make_config(SHAPE)
    truth = draw_table(SHAPE, 2000, 1)
    noisy = truth + draw_noise(truth.size, decay=0.02, seed=2)
    measurements = make_measurements(config, noisy, epsilon=Fraction(1, 50))
    event = LookEvent((1, 9), (("a0", "a1"),), 2, Fraction(1, 2))
    look = MeasuredLook(event, (900, 1100, 40), 32.0)
    measurements = replace(measurements, look=look)
    fitted, counts, *rest = published(config, measurements)
    found = replicates_of(fitted, counts, *rest, seeds=range(100, 124))
    totals = np.array([each.sum() for each in found.counts])
    assert 4 < totals.std() < 16, "of two counts with a standard deviation of 5.7 each"
    assert abs(totals.mean() - counts.total) < 6


def test_without_noise_replicates_are_the_release():
    epsilon = Fraction(400)
    config = make_config(SHAPE, epsilon=epsilon)
    truth = draw_table(SHAPE, 2000, 1)
    measurements = make_measurements(config, truth, epsilon=epsilon)
    found = replicates_of(*published(config, measurements), seeds=SEEDS)
    for counts in found.counts:
        assert np.array_equal(counts, found.published)
    assert found.factor >= 1.0


def test_the_factor_grows_where_the_release_is_far_from_what_was_measured():
    """Counts that are off by ten records in every cell, with noise of one or two."""
    config, measurements = made()
    fitted, counts, *rest = published(config, measurements)
    usual = replicates_of(fitted, counts, *rest, seeds=SEEDS).factor
    (table,) = measurements.tables
    shifted = table.noisy_counts + np.where(np.arange(60) % 2, 10, -10)
    contradicted = make_measurements(config, shifted)
    assert replicates_of(fitted, counts, contradicted, config, seeds=SEEDS).factor > 3 * usual


def test_a_universe_without_a_possible_cell_has_empty_replicates():
    config = make_config((2, 2), impossible=[{"a0": (0, 1)}])
    measurements = make_measurements(config, np.array([3, 1, 0, 2]))
    found = replicates_of(*published(config, measurements), seeds=SEEDS)
    assert found.published.size == 0
    assert [counts.size for counts in found.counts] == [0, 0, 0]


def test_a_total_of_all_records_holds_where_rows_are_drawn():
    config, measurements = made()
    total = PublicTotal(Conjunction({}), 1500, "a register")
    config = replace(config, public_totals=(total,))
    measurements = listed(measurements)
    fitted = estimate_listed(measurements, config, seed=3)
    found = replicates_of(fitted, fitted.round(5), measurements, config, seeds=SEEDS[:2])
    assert [int(counts.sum()) for counts in found.counts] == [1500] * 2


def test_small_universes_are_estimated_from_nothing(monkeypatch):
    """How much the fit smooths is then as random as it is in a release."""
    config = make_config(SHAPE, epsilon=Fraction(1))
    measurements = make_measurements(config, draw_table(SHAPE, 2000, 1), epsilon=Fraction(1))
    arguments = published(config, measurements)

    def start_again(*_: object) -> None:
        raise AssertionError("started from the release")

    monkeypatch.setattr(WholeEstimate, "again", start_again)
    assert len(replicates_of(*arguments, seeds=SEEDS).counts) == len(SEEDS)
    monkeypatch.setattr(replicates, "QUICK_CELLS", 0)
    with pytest.raises(AssertionError, match="started from the release"):
        replicates_of(*arguments, seeds=SEEDS)


def test_a_total_that_is_measured_by_itself_is_measured_again():
    config, measurements = made()
    truth = draw_table(SHAPE, 2000, 1)
    total = measure(config.universe, (), truth, epsilon=Fraction(3), seed=6)
    beside = Measurements("t", "0" * 64, (*measurements.tables, total))
    found = replicates_of(*published(config, beside), seeds=SEEDS)
    for counts in found.counts:
        assert abs(int(counts.sum(dtype=np.int64)) - int(found.published.sum())) < 25


class Unchanged:
    """An estimate of many columns that every noise leaves as it is."""

    def __init__(self, counts):
        self.counts = counts

    def again(self, *_):
        return self

    afresh = again

    def round(self, _):
        return Counts(tuple(codes.copy() for codes in self.counts.columns), self.counts.values)


def test_of_a_replicate_one_number_per_line_is_kept_where_it_has_no_new_cells():
    lines, columns = 10_000, 30
    shape = (10,) * columns
    config = make_config(shape)
    table = measure(make_universe((10,)), ("a0",), np.full(10, lines // 10), epsilon=Fraction(1))
    codes = [np.arange(lines) // 10 ** min(place, 9) % 10 for place in range(columns)]
    cells = tuple(each.astype(np.uint8) for each in reversed(codes))
    counts = Counts(cells, np.full(lines, 2))
    made = Measurements("t", "0" * 64, (table,))
    peaks = []
    for number in (2, 42):
        tracemalloc.start()
        found = replicates_of(Unchanged(counts), counts, made, config, seeds=range(number))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert len(found.counts) == number
    assert peaks[1] - peaks[0] < 40 * 5 * lines, peaks
