"""Anchoring moves sums only where they contradict the noise."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from synth.estimate.interactions import Interactions
from synth.estimate.whole.towards_sums import NoisySums, move_to_total

Draw = Callable[..., NDArray[np.int64]]
SHAPE = (10, 8, 5)
VARIANCE = 0.5 / np.sinh(0.5) ** 2


@pytest.fixture(name="truth")
def _truth(draw_table: Draw) -> NDArray[np.float64]:
    return draw_table(SHAPE, 20_000, 1).astype(float)


@pytest.fixture(name="sums")
def _sums(truth: NDArray[np.float64], draw_noise: Draw) -> NoisySums:
    noisy = truth + draw_noise(400, decay=1.0, seed=2)
    return NoisySums(Interactions(SHAPE), noisy, np.ones(400, dtype=bool), VARIANCE)


def test_true_sums_fit_and_stay(sums: NoisySums, truth: NDArray[np.float64]) -> None:
    assert 0.5 < sums.misfit(truth) < sums.misfit_limit()
    anchored, report = sums.anchor(truth, np.ones(truth.size))
    assert np.array_equal(anchored, truth)
    assert report["one_way_shares"] == {}


def test_wrong_sums_are_found_and_moved(sums: NoisySums, truth: NDArray[np.float64]) -> None:
    wrong = truth.reshape(SHAPE).copy()
    wrong[:, 0] *= 1.5
    wrong *= truth.sum() / wrong.sum()
    assert sums.misfit(wrong.reshape(-1)) > sums.misfit_limit()
    anchored, report = sums.anchor(wrong.reshape(-1), np.ones(wrong.size))
    assert "1" in report["one_way_shares"]
    before = np.abs(wrong.sum(axis=(0, 2)) - truth.reshape(SHAPE).sum(axis=(0, 2))).sum()
    after = anchored.reshape(SHAPE).sum(axis=(0, 2)) - truth.reshape(SHAPE).sum(axis=(0, 2))
    assert np.abs(after).sum() < 0.1 * before
    assert np.all(anchored >= 0.0)


def test_uncertain_values_bear_what_a_total_has_too_much() -> None:
    values, ratio = np.array([100.0, 10.0, 10.0, 0.0]), np.array([1e-3, 0.5, 0.5, 1.0])
    for total in (60.0, 105.0, 120.0, 500.0):
        moved, report = move_to_total(values, ratio, total)
        assert moved.sum() == pytest.approx(total)
        assert report["fitted"] == 120
        assert moved[3] == 0
    moved, _ = move_to_total(values, ratio, 105.0)
    assert moved[0] > 99.5
    moved, _ = move_to_total(values, ratio, 240.0)
    assert moved == pytest.approx(2 * values)


def test_noise_alone_moves_nothing_but_rarely(draw_noise: Draw) -> None:
    shape = (2,) * 8
    truth = np.full(256, 50.0)
    moved = 0
    for seed in range(300):
        noisy = truth + draw_noise(256, decay=1.0, seed=seed)
        sums = NoisySums(Interactions(shape), noisy, np.ones(256, dtype=bool), VARIANCE)
        moved += bool(sums.anchor(truth, np.ones(truth.size))[1]["one_way_shares"])
    # one in a hundred is meant: more than 12 of 300 would happen in 1e-5 of all seeds
    assert moved <= 12


def test_nothing_at_all_stays_nothing() -> None:
    sums = NoisySums(Interactions((4,)), np.zeros(4), np.ones(4, dtype=bool), VARIANCE)
    anchored, _ = sums.anchor(np.zeros(4), np.ones(4))
    assert np.array_equal(anchored, np.zeros(4))
