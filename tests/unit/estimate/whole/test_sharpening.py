"""Sharpening keeps floors, ceilings and block sums, and gathers fractions."""

from collections.abc import Callable

import numpy as np
import pytest

from synth.config import Config
from synth.estimate import required_atoms
from synth.estimate.rounding import atom_sums
from synth.estimate.whole.sharpening import BLOCK_RECORDS, STRENGTH, sharpen, sharpen_atoms


def test_values_stay_between_floor_and_ceiling_and_sums_stay() -> None:
    values = np.random.default_rng(1).gamma(0.3, 2.0, size=5000)
    sharper = sharpen(values)
    assert np.all(sharper >= np.floor(values))
    assert np.all(sharper <= np.ceil(values))
    drift = np.cumsum(sharper - values)
    # A run of cells is off by what moved inside its last block, and a quarter of a record.
    assert np.abs(drift).max() <= STRENGTH * BLOCK_RECORDS
    assert abs(drift[-1]) <= 0.25 + 1e-9


def test_whole_values_are_left_alone() -> None:
    values = np.array([0.0, 3.0, 1.0, 0.0, 7.0])
    assert np.array_equal(sharpen(values), values)


def test_small_fractions_give_to_large_ones() -> None:
    values = np.array([0.1, 0.9, 0.2, 0.8])
    assert sharpen(values) == pytest.approx([0.05, 0.95, 0.1, 0.9])


def test_of_equals_the_first_in_cell_order_is_taken() -> None:
    assert sharpen(np.full(4, 0.5)) == pytest.approx([0.75, 0.75, 0.25, 0.25])


def test_no_cells() -> None:
    assert sharpen(np.zeros(0)).size == 0


def test_one_way_tables_are_kept_where_one_cell_has_most_of_a_row_and_of_a_column() -> None:
    """Scaling whole rows and columns would move the large cells, each of which has both."""
    shape = (60, 50)
    values = np.random.default_rng(3).random(shape) * 0.3
    for code in range(20):
        values[code, code] += 5_000.0 * (code + 1)
    kept = sharpen_atoms(values.reshape(-1), None, shape).reshape(shape)
    assert np.abs(kept - values).max() < 1.0
    for axis in (0, 1):
        assert np.abs(kept.sum(axis=axis) - values.sum(axis=axis)).max() < 0.05
    assert np.abs(kept - values).mean() > 0.02


def test_required_totals_and_one_way_tables_are_kept(make_config: Callable[..., Config]) -> None:
    """A long tail of small counts keeps its records, inside what is required as without."""
    falling = np.exp(-np.arange(60) / 10.0)
    values = (np.outer(np.ones(6), falling) * 400 / falling.sum() / 6).reshape(-1)
    for totals in ([({}, 400)], [({}, 400), ({"a0": (0, 1, 2)}, 200)]):
        atoms = required_atoms(make_config((6, 60), totals=totals))
        assert atoms is not None
        kept = sharpen_atoms(values, atoms, (6, 60))
        assert np.abs(kept - values).mean() > 0.01
        assert atom_sums(atoms, kept) == pytest.approx(atom_sums(atoms, values), rel=1e-12)
        up_to = np.cumsum((kept - values).reshape(6, 60).sum(axis=0))
        assert np.abs(up_to).max() < 0.2
