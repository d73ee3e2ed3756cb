"""The public stream: each row's word depends on its cell alone, scaling is exact."""

import hashlib

import numpy as np
import pytest

from synth.release.rows.blocks import RowBlock, row_words, scale_words

SEED = 2**127 + 12345


CELLS = np.array([0, 7, 7, 2**64 - 1], dtype=np.uint64)
PLACES = np.array([0, 0, 1, 2**40])
MASK = 2**64 - 1


def words_of(count, *, seed=SEED, column=0):
    """The words of one row in each of the first cells."""
    cells = np.arange(count, dtype=np.uint64)
    return row_words(seed, column=column, cells=cells, places=np.zeros(count, dtype=np.int64))


def mixed(z):
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


def test_the_words_are_those_of_splitmix_under_the_documented_key():
    key = int.from_bytes(hashlib.sha256(f"{SEED}:3".encode()).digest()[:8], "little")
    expected = []
    for cell, place in zip(CELLS.tolist(), PLACES.tolist(), strict=True):
        state = mixed(cell + key & MASK)
        expected.append(mixed(state + (place + 1) * 0x9E3779B97F4A7C15 & MASK))
    assert row_words(SEED, column=3, cells=CELLS, places=PLACES).tolist() == expected


def test_the_generator_is_the_published_one():
    # the first numbers of SplitMix64 from the state 0, of its reference implementation
    assert mixed(0x9E3779B97F4A7C15) == 0xE220A8397B1DCDAF
    assert mixed(2 * 0x9E3779B97F4A7C15 & MASK) == 0x6E789E6AA1B965F4


def test_the_number_of_a_cell_comes_from_its_codes():
    codes = [np.array([3, 0], dtype=np.uint8), np.array([300, 1], dtype=np.uint16)]
    block = RowBlock(codes, np.zeros(2, dtype=np.int64))
    golden = 0x9E3779B97F4A7C15
    assert block.cells.tolist() == [((3 + 1) * golden + 300 + 1) & MASK, (golden + 2) & MASK]


def test_columns_and_seeds_have_streams_of_their_own():
    first = words_of(8)
    assert not np.intersect1d(first, words_of(8, column=1)).size
    assert not np.intersect1d(first, words_of(8, seed=SEED + 1)).size


def test_values_fill_their_bins_evenly_over_cells_and_over_places():
    # a chi-square variable of 15 degrees of freedom is above 90 with a chance of 1e-12
    rows = 16_000
    zeros, running = np.zeros(rows, dtype=np.int64), np.arange(rows)
    for cells, places in ((running, zeros), (zeros, running), (running // 3, running % 3)):
        words = row_words(SEED, column=0, cells=cells.astype(np.uint64), places=places)
        found = np.bincount((words >> np.uint64(60)).astype(np.int64), minlength=16)
        assert ((found - rows / 16) ** 2 / (rows / 16)).sum() < 90


@pytest.mark.parametrize("width", [1, 2, 3, 10, 2**31 + 7, 2**32, 2**53 - 1, 2**64 - 1])
def test_scaling_is_the_upper_half_of_the_product(width):
    words = np.concatenate(
        [
            words_of(200),
            np.array([0, 1, 2**32 - 1, 2**32, 2**63, 2**64 - 1], dtype=np.uint64),
        ]
    )
    widths = np.full(len(words), width, dtype=np.uint64)
    expected = [int(word) * width >> 64 for word in words]
    assert scale_words(words, widths).tolist() == expected
