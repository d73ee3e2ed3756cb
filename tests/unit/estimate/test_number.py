"""The number of records: everything that was measured says something of it."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from synth.domain import Conjunction, PublicTotal
from synth.estimate import estimate_whole
from synth.estimate.listed.estimate import records_of_model
from synth.estimate.number import Number, mean_if_positive, noisy_number, number_of_records
from synth.measurements import MeasuredLook, MeasuredTable, Measurements
from synth.privacy import LookEvent, TableEvent


@pytest.fixture(name="config")
def _config(make_config):
    return make_config((3, 4), cells=False)


def table(names, counts, variance, **kwargs):
    counts = np.array(counts, dtype=np.int64)
    event = TableEvent(names, counts.size, 1, Fraction(1), **kwargs)
    return MeasuredTable(event, counts, variance)


def measured(*tables, look=None):
    return Measurements("t", "0" * 64, tables, look=look)


LOOK = MeasuredLook(LookEvent((1, 5), (("a0", "a1"),), 2, Fraction(1)), (60, 45, 7), 8.0)
ONE = table(("a0",), (30, 30, 30), 2.0)
CELLS = table(("a0", "a1"), [10] * 12, 5.0)


def test_every_table_and_the_look_count_by_the_noise_of_their_sums():
    assert noisy_number(measured()) is None
    assert noisy_number(measured(ONE)) == pytest.approx((90, 6**0.5))
    mean, deviation = noisy_number(measured(ONE, CELLS, look=LOOK))
    weights = np.array([1 / 6, 1 / 60, 1 / 16])
    assert mean == pytest.approx(weights @ [90, 120, 105] / weights.sum()), "not the pairs' count"
    assert deviation == pytest.approx(weights.sum() ** -0.5)
    assert noisy_number(measured(ONE, CELLS), (CELLS, (100.0, 6.0)))[0] == pytest.approx(95)


def test_a_list_leaves_cells_out_and_does_not_count():
    event = TableEvent(("a0", "a1"), 12, 1, Fraction(1), threshold=5)
    listing = MeasuredTable(event, np.array([9]), 2.0, np.array([[0, 0]]))
    assert noisy_number(measured(listing)) is None
    assert noisy_number(measured(listing, ONE))[0] == pytest.approx(90)


def test_a_public_number_is_taken_at_its_word(config):
    total = PublicTotal(Conjunction({}), 77, "a register")
    told = replace(config, public_totals=(total,))
    assert number_of_records(measured(ONE), told) == Number(77.0, is_public=True)
    part = replace(config, public_totals=(replace(total, where=Conjunction({"a0": (0,)})),))
    assert not number_of_records(measured(ONE), part).is_public


@pytest.mark.parametrize(("sums", "expected"), [(90, 90.0), (0, 6**0.5 * (2 / np.pi) ** 0.5)])
def test_no_number_is_negative(config, sums, expected):
    noisy = measured(table(("a0",), (sums // 3,) * 3, 2.0))
    assert number_of_records(noisy, config).value == pytest.approx(expected, abs=1e-3)
    far_below = measured(table(("a0",), (-1000,) * 3, 2.0))
    assert 0 < number_of_records(far_below, config).value < 0.01
    assert number_of_records(measured(), config).value == 0


def test_a_mean_if_positive_is_that_of_the_law_cut_off():
    draws = np.random.default_rng(1).normal(0, 3, 400_000)
    for value in (-4.0, 0.0, 5.0):
        above = (draws + value)[draws + value > 0]
        assert mean_if_positive(np.array([value]), 3.0)[0] == pytest.approx(above.mean(), rel=0.02)


def test_far_below_zero_a_mean_is_small_and_positive():
    for value in (-1e3, -1e8, -1e160):
        assert 0 < mean_if_positive(np.array([value]), 1.0)[0] <= 0.002


def test_a_model_alone_is_of_as_many_records_as_rows(config):
    """So that rows are different cells; beside listed cells it is of those that are left."""
    told = replace(config, output=replace(config.output, rows=500))
    event = TableEvent(("a0", "a1"), 12, 1, Fraction(1), threshold=5)
    listing = MeasuredTable(event, np.array([9]), 2.0, np.array([[0, 0]]))
    assert records_of_model(measured(ONE), config, None) == pytest.approx(90)
    assert records_of_model(measured(ONE), told, None) == 500
    assert records_of_model(measured(ONE, listing), told, listing) == pytest.approx(90)


def test_noise_that_is_mostly_zero_tells_cells_and_so_their_total():
    noisy = Number(100.0, is_public=False)
    found = [noisy.for_fit(80.0, variance, 100.0) for variance in (0.0, 0.5, 1.0, 9.0)]
    assert found == [80, 90, 100, 100]
    assert noisy.for_fit(80.0, 0.5, 10.0) == 90
    assert noisy.for_fit(80.0, 0.5, 1e6) == 100, "half a million cells have noise"
    assert Number(100.0, is_public=True).for_fit(80.0, 0.0, 100.0) == 100


def test_the_rows_are_as_many_as_were_measured_where_noise_hides_them(make_config, draw_noise):
    """A fit to the cells alone has twice the records here, in every draw."""
    shape = (8, 9, 11)
    config = make_config(shape, cells=False)
    truth = np.zeros(shape)
    truth[0, 0], truth[3, 4, 5] = 20.0, 80.0
    for seed in range(6):
        counts = truth.reshape(-1) + draw_noise(truth.size, decay=0.1, seed=seed)
        event = TableEvent(config.universe.names, truth.size, 1, Fraction(1, 10))
        noise = 0.5 / np.sinh(0.05) ** 2
        noisy = measured(MeasuredTable(event, counts.astype(np.int64), noise))
        estimate = estimate_whole(noisy, config)
        expected = number_of_records(noisy, config).value
        assert estimate.values.sum() == pytest.approx(expected, rel=1e-6)
