"""The public stream: each row's word stands for itself, scaling is exact."""

import hashlib

import numpy as np
import pytest

from synth.release.rows.blocks import row_words, scale_words

SEED = 2**127 + 12345


def test_a_row_has_the_same_word_in_every_block():
    whole = row_words(SEED, column=2, start=0, count=50)
    for start in range(50):
        for count in (0, 1, (50 - start) // 2, 50 - start):
            part = row_words(SEED, column=2, start=start, count=count)
            assert (part == whole[start : start + count]).all()
            assert len(part) == count


def test_the_words_are_those_of_philox_under_the_documented_key():
    key = hashlib.sha256(f"{SEED}:3".encode()).digest()[:16]
    expected = np.random.Philox(key=int.from_bytes(key, "little")).random_raw(9)
    assert (row_words(SEED, column=3, start=0, count=9) == expected).all()


def test_columns_and_seeds_have_streams_of_their_own():
    first = row_words(SEED, column=0, start=0, count=8)
    assert not np.intersect1d(first, row_words(SEED, column=1, start=0, count=8)).size
    assert not np.intersect1d(first, row_words(SEED + 1, column=0, start=0, count=8)).size


@pytest.mark.parametrize("width", [1, 2, 3, 10, 2**31 + 7, 2**32, 2**53 - 1, 2**64 - 1])
def test_scaling_is_the_upper_half_of_the_product(width):
    words = np.concatenate(
        [
            row_words(SEED, column=0, start=0, count=200),
            np.array([0, 1, 2**32 - 1, 2**32, 2**63, 2**64 - 1], dtype=np.uint64),
        ]
    )
    widths = np.full(len(words), width, dtype=np.uint64)
    expected = [int(word) * width >> 64 for word in words]
    assert scale_words(words, widths).tolist() == expected
