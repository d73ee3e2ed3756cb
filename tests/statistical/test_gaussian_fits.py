"""Gaussian noise fits its law, and the same test rejects noise of another width.

The law is written down anew in floating point, from sigma alone.
"""

import math
from fractions import Fraction
from functools import cache
from itertools import accumulate

import numpy as np
import pytest

from synth.noise import DiscreteGaussian, NoiseStream, TableSampler

KEY = bytes.fromhex("5f" * 32)
SIGMAS = ["0.6", "3", "20", "400"]


@cache
def gaussian_cdf(sigma: float):
    reach = math.ceil(12 * sigma) + 2
    weights = [math.exp(-k * k / (2 * sigma * sigma)) for k in range(-reach, reach + 1)]
    total = math.fsum(weights)
    sums = list(accumulate(weights))

    def cdf(k):
        return 0.0 if k < -reach else 1.0 if k >= reach else sums[k + reach] / total

    return cdf


@cache
def size_for(policy, sigma: str) -> int:
    width = float(sigma)
    others = [gaussian_cdf(0.9 * width), gaussian_cdf(1.1 * width)]
    return policy.sample_size(gaussian_cdf(width), math.ceil(12 * width) + 2, others)


def accepted(policy, sigma: str, scale: Fraction = Fraction(1)) -> bool:
    """Whether noise of `scale` times sigma is taken for noise of sigma."""
    size = size_for(policy, sigma)
    law = DiscreteGaussian(1 / (2 * (Fraction(sigma) * scale) ** 2), 1)
    sampler, stream = TableSampler(law), NoiseStream(key=KEY)
    bins = policy.make_bins(gaussian_cdf(float(sigma)), math.ceil(12 * float(sigma)) + 2, size)
    counts = np.zeros(len(bins.shares), dtype=np.int64)
    for start in range(0, size, 1 << 19):
        count = min(1 << 19, size - start)
        counts += bins.counts(sampler.draw(stream, table=0, start=start, count=count))
    assert counts.sum() == size
    return policy.fits(counts, bins.shares)


@pytest.mark.parametrize("sigma", SIGMAS)
def test_noise_fits_its_law(policy, sigma):
    assert accepted(policy, sigma)


@pytest.mark.parametrize("scale", [Fraction(9, 10), Fraction(11, 10)], ids=["x0.9", "x1.1"])
@pytest.mark.parametrize("sigma", SIGMAS)
def test_another_width_is_rejected(policy, sigma, scale):
    assert not accepted(policy, sigma, scale)
