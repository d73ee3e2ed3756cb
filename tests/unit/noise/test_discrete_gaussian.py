"""Parameters, widths and draws of the discrete Gaussian."""

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import modes

from synth.errors import BugError
from synth.noise import DiscreteGaussian, DiscreteLaplace, NoiseStream, TableSampler, noise_law
from synth.noise.block_table import BlockTable
from synth.noise.quantile_table import quantile
from synth.noise.stream import counter_block, encryptor
from synth.privacy import TableEvent

KEY = bytes(range(32))


@pytest.mark.parametrize("rho", [0, 1, 0.5, None, "1", True])
def test_a_rho_that_is_no_exact_fraction_is_refused(rho):
    with pytest.raises(TypeError, match="rho"):
        DiscreteGaussian(rho, 1)


@pytest.mark.parametrize("squared", [1.0, True, None, Fraction(1), "1"])
def test_a_squared_sensitivity_that_is_no_whole_number_is_refused(squared):
    with pytest.raises(TypeError, match="sensitivity"):
        DiscreteGaussian(Fraction(1), squared)


@pytest.mark.parametrize(("rho", "squared"), [("0", 1), ("-1", 1), ("1", 0), ("1", -1)])
def test_what_is_not_positive_is_refused(rho, squared):
    with pytest.raises(ValueError, match=r"positive|at least 1"):
        DiscreteGaussian(Fraction(rho), squared)


def test_noise_that_is_too_wide_is_refused():
    assert DiscreteGaussian(Fraction(1, 2**41), 1).sigma_squared == 2**40
    with pytest.raises(ValueError, match="sigma"):
        DiscreteGaussian(Fraction(1, 2**41 + 1), 1)


@pytest.mark.parametrize(("rho", "squared"), [("1/3", 1), ("1/3", 32), ("5", 4)])
def test_sigma_is_exact(rho, squared):
    law = DiscreteGaussian(Fraction(rho), squared)
    assert law.sigma_squared == squared / (2 * Fraction(rho))


def test_a_huge_rho_keeps_noise_on():
    """Sigma is not below that of a rate of 256, which is more noise, so safe."""
    law = DiscreteGaussian(Fraction(10**6), 1)
    assert law.rate == 256
    assert law.sigma_squared > 1 / (2 * Fraction(10**6))
    assert law.variance > 0


@pytest.mark.parametrize("sigma", [1, 7, 50])
@pytest.mark.parametrize("confidence", [Fraction(1, 2), 0.95, 0.999, Fraction(10**12 - 1, 10**12)])
def test_half_width_is_the_smallest_that_is_enough(sigma, confidence):
    law = DiscreteGaussian(Fraction(1, 2 * sigma**2), 1)
    weights = [np.exp(-(k**2) / (2 * sigma**2)) for k in range(40 * sigma)]
    total = 2 * sum(weights) - 1

    def miss(k):
        return 2 * sum(weights[k + 1 :]) / total

    width = law.half_width(confidence)
    assert miss(width) <= (1 - confidence) * (1 + 1e-6)
    assert width == 0 or miss(width - 1) > (1 - confidence) * (1 - 1e-6)


@pytest.mark.parametrize("confidence", [0, 1, -0.1, 1.5])
def test_a_confidence_lies_between_0_and_1(confidence):
    with pytest.raises(ValueError, match="confidence"):
        DiscreteGaussian(Fraction(1), 1).half_width(confidence)


def slow_noise(law, cell):
    """The definition for one cell: 16 bits, then words, until one value is proved."""
    block = encryptor(KEY, modes.ECB())
    first = block.update(counter_block(0, 3, 0, cell // 8))
    prefix, bits = int.from_bytes(first[2 * (cell % 8) :][:2], "little"), 16
    more = block.update(counter_block(1, 3, 0, cell))
    for start in (0, 8):
        prefix = prefix << 64 | int.from_bytes(more[start : start + 8], "little")
        bits += 64
        value = quantile(law, prefix, bits)
        if value is not None:
            return value
    raise AssertionError("144 bits decide but once in 10^15 cells")


@pytest.mark.parametrize(("sigma", "cells"), [("0.5", 300), ("20", 300), ("80", 300)])
def test_draws_are_what_the_slow_definition_gives(sigma, cells):
    law = DiscreteGaussian(1 / (2 * Fraction(sigma) ** 2), 1)
    noise = TableSampler(law).draw(NoiseStream(key=KEY), table=3, start=5, count=cells)
    assert noise.dtype == np.int64
    assert noise.tolist() == [slow_noise(law, 5 + i) for i in range(cells)]


def slow_wide_noise(law, cell):
    """The definition of wide noise for one cell, from the bare cipher and decimals.

    Buckets are dealt out anew: blocks from far below 0 to far above, ceil(height f) for each.
    """
    block = encryptor(KEY, modes.ECB())

    def word(lane, number, index, at, size):
        return int.from_bytes(
            block.update(counter_block(lane, 3, number, index))[at : at + size], "little"
        )

    table = BlockTable(law)
    with localcontext(Context(prec=60)):
        rate = Decimal(law.rate.numerator) / Decimal(law.rate.denominator)

        def height(k):
            return table.height * (-rate * k * k).exp()

        size, reach = table.size, table.reach
        numbers = [math.ceil(height(size * q)) for q in range(reach)]
        blocks = [q for p in reversed(range(reach)) for q in [-1 - p] * numbers[p]]
        places = [i for p in reversed(range(reach)) for i in range(numbers[p])]
        blocks += [p for p in range(reach) for _ in range(numbers[p])]
        places += [i for p in range(reach) for i in range(numbers[p])]
        bucket = word(0, 0, cell // 8, 2 * (cell % 8), 2)
        offset = word(2, 0, cell // 8, 2 * (cell % 8), 2) * size >> 16
        for number in range(99):
            if number:
                bucket = word(1, number, cell, 0, 2)
                offset = word(1, number, cell, 2, 6) % size
            fraction = Decimal(word(1, number, cell, 8, 8)) / 2**64
            assert bucket < len(blocks) or bucket >= len(blocks) + 2, "not a tail, for this key"
            if bucket < len(blocks):
                value = blocks[bucket] * size + offset
                if places[bucket] + fraction < height(abs(value)):
                    return value
    raise AssertionError("99 rounds are enough but once in 10^150 cells")


@pytest.mark.parametrize("sigma", [100, 10**6])
def test_wide_draws_are_what_the_slow_definition_gives(sigma):
    law = DiscreteGaussian(Fraction(1, 2 * sigma**2), 1)
    table = BlockTable(law)
    noise = TableSampler(law).draw(NoiseStream(key=KEY), table=3, start=5, count=60_000)
    assert noise.dtype == np.int64
    words = NoiseStream(key=KEY).keystream(lane=0, table=3, index=0).words(60_008)[5:60_005]
    opened = np.flatnonzero(table.values[words] == table.undecided)
    tails = np.flatnonzero(np.isin(table.block[words], (table.reach, -1 - table.reach)))
    cells = [*range(20), *sorted(set(opened.tolist()) - set(tails.tolist()))[:60]]
    assert [noise[cell] for cell in cells] == [slow_wide_noise(law, 5 + cell) for cell in cells]


@pytest.mark.parametrize("sigma", [3, 900])
def test_the_noise_of_a_cell_does_not_depend_on_how_a_table_is_cut(sigma):
    sampler = TableSampler(DiscreteGaussian(Fraction(1, 2 * sigma**2), 1))
    whole = sampler.draw(NoiseStream(key=KEY), table=1, start=0, count=200_001)
    stream = NoiseStream(key=KEY)
    cuts = [0, 1, 8, 4099, 70_000, 131_077, 200_001]
    pieces = [
        sampler.draw(stream, table=1, start=a, count=b - a)
        for a, b in reversed(list(pairwise(cuts)))
    ]
    assert np.array_equal(np.concatenate(pieces[::-1]), whole)
    with pytest.raises(BugError, match="twice"):
        sampler.draw(stream, table=1, start=4000, count=1)


def test_the_law_of_an_event_has_its_parameters():
    shared = {"table": ("a",), "cells": 3, "sensitivity_l1": 2}
    assert noise_law(TableEvent(**shared, epsilon=Fraction(1, 3))) == DiscreteLaplace(
        Fraction(1, 3), 2
    )
    gaussian = TableEvent(
        **shared, mechanism="discrete-gaussian", rho=Fraction(1, 9), sensitivity_l2_squared=4
    )
    assert noise_law(gaussian) == DiscreteGaussian(Fraction(1, 9), 4)
    assert noise_law(gaussian).sigma_squared == gaussian.sigma_squared == 18
    with pytest.raises(ValueError, match="no noise is known"):
        noise_law(TableEvent(**shared, epsilon=Fraction(1), mechanism="laplace"))
