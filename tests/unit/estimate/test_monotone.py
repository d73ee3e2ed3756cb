"""Records added to a release before: none is lost, and the sums are those of the new fit."""

import numpy as np
import pytest

from synth.domain import Margin
from synth.domain.counts import Counts, is_possible
from synth.estimate import records_taken_back, with_records_added
from tests.unit.estimate.conftest import make_universe

SHAPE = (4, 5, 3, 6)
UNIVERSE = make_universe(SHAPE, impossible=[{"a0": (0,), "a1": (4,)}])
SINGLES = [Margin((name,), (0,)) for name in UNIVERSE.names]
PAIR = Margin(("a0", "a3"), (0, 0))


def drawn(records, seed):
    """Counts that resemble each other from seed to seed, empty where cells are impossible."""
    share = np.random.default_rng(1).dirichlet(np.full(UNIVERSE.size, 0.3)) * UNIVERSE.possible()
    counts = np.random.default_rng(seed).multinomial(records, share / share.sum())
    return Counts.of_all(counts, SHAPE)


def added(previous, fitted, *, seed=1):
    return with_records_added(previous, fitted, [PAIR], UNIVERSE, seed=seed)


@pytest.mark.parametrize("seed", range(5))
def test_no_count_decreases_and_the_total_is_that_of_the_fit(seed):
    previous, fitted = drawn(300, seed), drawn(900, seed + 100)
    counts = added(previous, fitted)
    every = counts.of_every_cell(SHAPE)
    assert (every >= previous.of_every_cell(SHAPE)).all()
    assert counts.total == 900
    assert is_possible(counts.columns, UNIVERSE).all()
    assert records_taken_back(previous, counts, SHAPE) == 0
    assert added(previous, fitted).of_every_cell(SHAPE).tolist() == every.tolist()


@pytest.mark.parametrize("margin", [*SINGLES, PAIR])
def test_the_sums_are_those_of_the_fit_where_the_release_before_leaves_room(margin):
    previous, fitted = drawn(2_000, 3), drawn(6_000, 4)
    aim = fitted.sums(UNIVERSE, margin)
    low = previous.sums(UNIVERSE, margin)
    off = np.abs(added(previous, fitted).sums(UNIVERSE, margin) - np.maximum(aim, low))
    plain = np.abs(low * 3 - aim)  # what it would be if the release before were blown up
    assert off.sum() < 0.2 * plain.sum()


def test_records_that_the_fit_does_not_have_are_kept_and_made_up_for_elsewhere():
    shape = (2, 3)
    universe = make_universe(shape)
    previous = Counts.of_all(np.array([900, 0, 0, 0, 0, 0]), shape)
    fitted = Counts.of_all(np.array([300, 300, 300, 400, 400, 400]), shape)
    counts = with_records_added(previous, fitted, [], universe, seed=2)
    every = counts.of_every_cell(shape).reshape(shape)
    assert every[0, 0] == 900
    assert every.sum() == 2_100
    assert 900 <= every.sum(axis=1)[0] <= 1_150
    assert records_taken_back(previous, fitted, shape) == 600


@pytest.mark.parametrize("records", [0, 299, 300])
def test_a_fit_with_no_more_records_adds_none(records):
    previous = drawn(300, 1)
    assert added(previous, drawn(records, 2)) is previous


def test_a_first_release_without_records_is_followed_by_the_fit():
    fitted = drawn(500, 7)
    nothing = Counts.of_all(np.zeros(UNIVERSE.size, dtype=np.int64), SHAPE)
    assert added(nothing, fitted).of_every_cell(SHAPE).tolist() == (
        fitted.of_every_cell(SHAPE).tolist()
    )


def test_other_seeds_add_other_records_of_the_same_sums():
    previous, fitted = drawn(300, 1), drawn(2_000, 2)
    one, other = (added(previous, fitted, seed=seed).of_every_cell(SHAPE) for seed in (1, 2))
    assert (one != other).any()
    assert np.abs(one - other).max() <= 1


def test_a_universe_of_any_size():
    universe = make_universe((10,) * 30)
    generator = np.random.default_rng(5)

    def rows(number):
        codes = generator.integers(10, size=(number, 30)).astype(np.uint8)
        cells, values = np.unique(codes, axis=0, return_counts=True)
        return Counts(tuple(cells.T), values)

    previous, fitted = rows(400), rows(1_000)
    counts = with_records_added(previous, fitted, [], universe, seed=1)
    assert counts.total == 1_000
    assert records_taken_back(previous, counts, universe.shape) == 0
    singles = [Margin((name,), (0,)) for name in universe.names]
    aims = [fitted.sums(universe, single) for single in singles]
    off = [counts.sums(universe, each) - aim for each, aim in zip(singles, aims, strict=True)]
    plain = [
        previous.sums(universe, each) * 2.5 - aim for each, aim in zip(singles, aims, strict=True)
    ]
    assert np.std(off) < 0.4 * np.std(plain)
