"""Noise that is used twice shows by its signs; independent noise does not."""

from fractions import Fraction

import numpy as np
import pytest

from synth.audit.reuse import MOST_VALUES, WINDOW, NoiseSigns
from synth.noise import DiscreteLaplace, NoiseStream, TableSampler

MISS = 1e-5
SIZE = 4096


def noise(runs=1, epsilon=1):
    sampler = TableSampler(DiscreteLaplace(Fraction(epsilon), 1))
    stream = NoiseStream(key=b"noise used again, or never, 32 b")
    return [sampler.draw(stream, table=run, start=0, count=SIZE) for run in range(runs)]


def reuse_of(*parts):
    signs = NoiseSigns.of(len(parts), MISS)
    for part in parts:
        signs.add(part)
    return signs.reuse(MISS)


@pytest.mark.parametrize("epsilon", [4, 1, "1/100"])
def test_independent_noise_is_not_found(epsilon):
    found = reuse_of(*noise(30, epsilon))
    assert found.values == 30 * SIZE
    assert found.sentences == []
    assert found.to_plain() == {
        "values": 30 * SIZE,
        "repeated_windows": 0,
        "distance": None,
        "excess": 0,
        "exceeded": False,
    }


@pytest.mark.parametrize("sign", [1, -1], ids=["same", "negative"])
@pytest.mark.parametrize("width", [200, SIZE])
def test_a_part_of_another_run_is_found(sign, width):
    """From any place, shifted, as it is or with the opposite sign."""
    parts = noise(30)
    parts[23][-width:] = sign * parts[4][:width]
    found = reuse_of(*parts)
    windows = np.count_nonzero(parts[4][:width]) - WINDOW + 1
    assert windows <= found.repeated < windows + 20  # beside it signs agree by chance
    assert "windows of 64 signs" in found.sentences[0]


@pytest.mark.parametrize("sign", [1, -1], ids=["same", "negative"])
@pytest.mark.parametrize("apart", [1, 2, 7, 50])
def test_cells_too_near_for_windows_are_found_by_their_distance(sign, apart):
    """Every value is used twice, and no window of 64."""
    cells = np.arange(SIZE)
    again = cells // apart % 2
    (part,) = noise()
    shared = part[cells - apart * again] * np.where(again, sign, 1)
    found = reuse_of(*noise(4)[1:], shared)
    assert (found.repeated, found.distance) == (0, apart)
    assert found.excess * sign > SIZE // 8
    assert found.sentences[0].startswith(f"noise is used twice: signs {apart} values apart")
    assert ("agree" if sign > 0 else "differ") in found.sentences[0]


def test_a_window_is_one_of_64_signs_and_no_fewer():
    """A repeated stretch of 64 values is one window; one of 63 is none."""
    (part,) = noise()
    signs = part[part != 0]
    for width, repeated in ((WINDOW - 1, 0), (WINDOW, 1), (WINDOW + 5, 6)):
        before, stretch, after = np.split(signs[999 : 1001 + width], [1, width + 1])
        assert reuse_of(signs, -before, stretch, -after).repeated == repeated


def test_few_enough_values_are_kept_for_the_error_that_is_allowed():
    """n^2 2^-64 is at most half of it."""
    for miss in (1e-3, 1e-6, 1e-9, 1e-12):
        kept = 7 * NoiseSigns.of(7, miss).each
        assert kept**2 / 2**64 <= miss / 2
        assert kept <= MOST_VALUES
    assert NoiseSigns.of(1, 1e-3).each == MOST_VALUES
    signs = NoiseSigns(10)
    signs.add(noise()[0])
    assert signs.reuse(MISS).values == 10


def test_nothing_is_found_in_nothing():
    assert reuse_of().sentences == []
    assert reuse_of(np.array([3])).sentences == []
    assert reuse_of(np.zeros(500, dtype=np.int64)).sentences == []


def test_by_chance_something_is_found_no_more_often_than_allowed():
    """At 1 in 10 for distances, 200 times; the bound of all of them is far from tight."""
    rng = np.random.Generator(np.random.PCG64(3))
    found = 0
    for _ in range(200):
        signs = NoiseSigns(SIZE)
        signs.add(rng.integers(-3, 4, size=SIZE // 8))
        found += bool(signs.reuse(0.2).sentences)
    assert found <= 40
