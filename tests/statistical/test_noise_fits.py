"""Noise fits its law, and the same test rejects noise that does not.

The laws here are written down anew in floating point, from epsilon alone.
"""

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from synth.noise import DiscreteLaplace, NoiseStream, TableSampler

KEY = bytes.fromhex("5e" * 32)
EPSILONS = ["0.001", "0.02", "0.1", "1", "5"]
FLIPPED = 0.25
"""The sign bias that must be seen: a quarter of all negative values turned positive."""


def laplace_cdf(rate: float):
    a = math.exp(-rate)
    return lambda k: 1 - a ** (k + 1) / (1 + a) if k >= 0 else a**-k / (1 + a)


def biased_cdf(rate: float):
    """The law after `FLIPPED` of the negative values have lost their sign."""
    plain, a = laplace_cdf(rate), math.exp(-rate)

    def cdf(k):
        if k < 0:
            return plain(k) * (1 - FLIPPED)
        return plain(k) - FLIPPED * a ** (k + 1) / (1 + a)

    return cdf


def alternatives(rate: float):
    return [laplace_cdf(rate / 0.9), laplace_cdf(rate / 1.1), biased_cdf(rate)]


def reach(rate: float) -> int:
    return math.ceil(40 / rate)


@pytest.fixture(scope="session")
def sizes(policy):
    """The sample size for every epsilon, derived once."""

    @cache
    def size(epsilon: str) -> int:
        rate = float(Fraction(epsilon))
        return policy.sample_size(laplace_cdf(rate), reach(rate), alternatives(rate))

    return size


def chunks_of_noise(epsilon: Fraction, size: int, sensitivity: int = 1):
    """The noise of `size` cells, in one piece of memory that is used again and again."""
    sampler, stream = TableSampler(DiscreteLaplace(epsilon, sensitivity)), NoiseStream(key=KEY)
    memory = np.empty(min(size, 1 << 19), dtype=np.int64)
    for start in range(0, size, len(memory)):
        yield sampler.draw(stream, table=0, start=start, count=len(memory), out=memory)


def accepted(policy, epsilon: str, size: int, chunks) -> bool:
    rate = float(Fraction(epsilon))
    bins = policy.make_bins(laplace_cdf(rate), reach(rate), size)
    counts = sum(bins.counts(chunk) for chunk in chunks)
    assert counts.sum() == size
    return policy.fits(counts, bins.shares)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_noise_fits_its_law(policy, sizes, epsilon):
    size = sizes(epsilon)
    assert accepted(policy, epsilon, size, chunks_of_noise(Fraction(epsilon), size))


@pytest.mark.parametrize("epsilon", ["0.2", "2"])
def test_noise_of_sensitivity_two_fits_half_the_epsilon(policy, sizes, epsilon):
    half = str(Fraction(epsilon) / 2)
    size = sizes(half)
    assert accepted(policy, half, size, chunks_of_noise(Fraction(epsilon), size, sensitivity=2))


@pytest.mark.parametrize("scale", [Fraction(9, 10), Fraction(11, 10)], ids=["x0.9", "x1.1"])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_another_scale_is_rejected(policy, sizes, epsilon, scale):
    size = sizes(epsilon)
    assert not accepted(policy, epsilon, size, chunks_of_noise(Fraction(epsilon) / scale, size))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_sign_bias_is_rejected(policy, sizes, epsilon):
    size = sizes(epsilon)
    coins = NoiseStream(key=KEY).keystream(lane=9, table=9, index=0)

    def biased():
        for chunk in chunks_of_noise(Fraction(epsilon), size):
            flipped = (chunk < 0) & (coins.words(len(chunk)) < FLIPPED * 2**16)
            yield np.where(flipped, -chunk, chunk)

    assert not accepted(policy, epsilon, size, biased())


@pytest.mark.parametrize("epsilon", ["0.02", "1"])
def test_neighbouring_cells_and_tables_are_independent(policy, epsilon):
    """Signs of two values, as a table of 3 x 3, against the product of their shares."""
    rate, size = float(Fraction(epsilon)), 1 << 21
    sampler, stream = TableSampler(DiscreteLaplace(Fraction(epsilon), 1)), NoiseStream(key=KEY)
    first, second = (sampler.draw(stream, table=t, start=0, count=size) for t in (0, 1))
    cdf = laplace_cdf(rate)
    shares = np.array([cdf(-1), cdf(0) - cdf(-1), 1 - cdf(0)])

    def independent(a, b):
        counts = np.bincount((np.sign(a) * 3 + np.sign(b) + 4), minlength=9)
        return policy.fits(counts, np.outer(shares, shares).ravel())

    for lag in (1, 2, 7, 8, 16, 1 << 16):
        assert independent(first[:-lag], first[lag:])
    assert independent(first, second)
    mixed = np.where(np.arange(size) % 50 == 0, first, second)  # every 50th cell reused
    assert not independent(first, mixed)
