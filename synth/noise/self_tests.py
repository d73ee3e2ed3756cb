"""Checks of the noise generator that run in every measuring process before the noise."""

from __future__ import annotations

import hashlib
import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
from cryptography.hazmat.primitives.ciphers import modes

from synth.noise.block_table import BlockTable
from synth.noise.discrete_gaussian import DiscreteGaussian
from synth.noise.discrete_laplace import DiscreteLaplace
from synth.noise.law import Distribution
from synth.noise.quantile_table import BUCKETS, KEY_BITS, QuantileTable
from synth.noise.selection import permute_and_flip
from synth.noise.stream import NoiseStream, encryptor
from synth.noise.survivors import surviving_ranks, surviving_values
from synth.noise.table_sampler import TableSampler

# NIST SP 800-38A (2001), F.5.5 CTR-AES256.Encrypt, four blocks
NIST_KEY = bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")
NIST_COUNTER = bytes.fromhex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
NIST_PLAIN = bytes.fromhex(
    "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
    "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710"
)
NIST_CIPHER = bytes.fromhex(
    "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5"
    "2b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6"
)

GOLDEN_KEY = bytes(range(32))
# fmt: off
GOLDEN_DRAWS = {
    Fraction(1): (
        0, 0, -1, 2, -1, 3, -1, -1, 0, 0, -1, 1, 0, 2, 0, -2, 1, 1, 0, 1, -4, 2, -1, 0, -5, 0, 0,
        -4, 1, -1, 2, -1, 0, -2, 1, 0, -2, 0, 0, -1,
    ),
    Fraction(1, 1000): (
        1171, -3728, -47, 1238, -829, -1698, -50, 83, 2161, -264, -1970, 429, 1894, 3158, 418, 426,
        -1223, 1317, -1399, 425, -622, 463, 1117, 122,
    ),
}
GOLDEN_GAUSSIAN_DRAWS = {
    Fraction(20): (
        7, -6, -17, 32, -22, 36, -18, -16, -6, -3, -18, 16, -9, 32, 12, -32, 20, 13, 4, 15, -46, 29,
        -13, -2,
    ),
    Fraction(1000): (
        365, -304, -840, 1661, -1117, 1873, -905, -807, -289, -170, -911, 826, -466, 1679, 634,
        -1621, 1026, 685, 178, 746, -2412, 1482, -643, -119,
    ),
}
"""By sigma."""
GOLDEN_CHOICES = (
    11, 6, 6, 5, 9, 7, 10, 10, 10, 10, 6, 10, 11, 7, 10, 9, 10, 11, 10, 10, 9, 3, 4, 4,
)
GOLDEN_LISTS = {
    (3, 150): (
        (13, 4), (17, 3), (79, 3), (117, 5), (118, 3),
    ),
    (37, 10**17): (
        (46578748280082277, 38), (46843471140534660, 37), (67126577627356010, 37),
        (92962482061947178, 39),
    ),
}
"""By threshold and number of empty cells: the rank and the noisy count of every survivor."""
# fmt: on
WIDE_SIGMA = 1000
WIDE_CELLS = 4096
"""So many that all ways to accept and to reject are taken."""
WIDE_DIGEST = "6fb1579de177cbaddfa6274dc2ddd8339198bcd6d80ec7e2d2cc73f25be71247"
"""SHA-256 of wide Gaussian noise as little-endian numbers of 64 bits."""
_LOG_SLACK = 1e-9
"""What 64 bits and floating point leave open in a logarithm of probabilities above 10^-9."""


def self_test() -> tuple[tuple[str, bool], ...]:
    """The name of every check of the noise generator, and whether it passed.

    A sound generator fails with probability below 10^-30.
    """
    unit = QuantileTable(DiscreteLaplace(Fraction(1), 1))
    gaussian = QuantileTable(DiscreteGaussian(Fraction(1, 18), 1))
    return (
        ("AES-256 in counter mode gives the published answer", _cipher_is_right()),
        ("single blocks equal the running stream", _blocks_match_stream()),
        ("masses of the noise table sum to 1", _masses_sum_to_one(unit)),
        ("the noise table agrees with the exact law", _table_matches_law(unit)),
        ("masses of the Gaussian table sum to 1", _masses_sum_to_one(gaussian)),
        ("the Gaussian table agrees with its law", _gaussian_matches_law(gaussian)),
        ("a fixed key gives the recorded noise", _golden_draws_match()),
        ("a fixed key gives the recorded choices", _golden_choices_match()),
        ("a fixed key gives the recorded wide noise", _golden_wide_noise_matches()),
        ("blocks of wide noise have room for its law", _blocks_have_room()),
        ("a fixed key gives the recorded list", _golden_lists_match()),
        ("two streams of the operating system differ", _streams_differ()),
        ("noise is not constant", _noise_varies()),
    )


def _cipher_is_right() -> bool:
    return encryptor(NIST_KEY, modes.CTR(NIST_COUNTER)).update(NIST_PLAIN) == NIST_CIPHER


def _blocks_match_stream() -> bool:
    stream = NoiseStream(key=GOLDEN_KEY)
    running = stream.keystream(lane=3, table=5, index=7).words(16)
    single = stream.blocks(lane=3, table=5, round_number=0, indices=np.array([7, 8]))
    return running.tobytes() == single.astype("<u8").tobytes()


def _masses_sum_to_one(table: QuantileTable) -> bool:
    """Decided buckets, and the gaps between the thresholds, make up all 2^64 keys."""
    _, decided = np.unique(table.values[table.values != table.undecided], return_counts=True)
    undecided = np.count_nonzero(table.values == table.undecided)
    ends = [0, *table.lower.tolist(), 1 << KEY_BITS]
    gaps = [stop - start for start, stop in pairwise(ends)]
    return (
        int(decided.sum()) + undecided == BUCKETS
        and min(gaps) >= 0
        and sum(gaps) == 1 << KEY_BITS
        and all(low <= high for low, high in zip(table.lower, table.upper, strict=False))
    )


def _table_matches_law(table: QuantileTable) -> bool:
    """The run of every value around 0 is exactly the buckets within its interval."""
    law = DiscreteLaplace(Fraction(1), 1)
    for value in range(-6, 7):
        below, upto = BUCKETS * law.cdf(value - 1), BUCKETS * law.cdf(value)
        run = np.flatnonzero(table.values == value)
        inside = range(-(-below.numerator // below.denominator), upto.numerator // upto.denominator)
        if upto - below != BUCKETS * law.pmf(value) or run.tolist() != list(inside):
            return False
    return True


def _gaussian_matches_law(table: QuantileTable) -> bool:
    """Runs of values are symmetric, and keys give P(k) / P(0) = exp(-k^2 / 18), sigma being 3."""
    lower = dict(enumerate(table.lower.tolist(), table.first))
    masses = {k: lower[k] - lower[k - 1] for k in range(-18, 19)}
    shares = [math.log(masses[k] / masses[0]) + k * k / 18 for k in masses]
    runs = [np.count_nonzero(table.values == k) for k in range(-9, 10)]
    return max(map(abs, shares)) < _LOG_SLACK and all(
        abs(left - right) <= 1 and abs(left - masses[k] / (1 << KEY_BITS) * BUCKETS) < 2
        for k, left, right in zip(range(-9, 10), runs, reversed(runs), strict=True)
    )


def _golden_choices_match() -> bool:
    stream = NoiseStream(key=GOLDEN_KEY)
    found = [
        permute_and_flip(
            range(12), epsilon=Fraction(1, 2), sensitivity=1, stream=stream, number=number
        )
        for number in range(len(GOLDEN_CHOICES))
    ]
    return bool(found) and tuple(found) == GOLDEN_CHOICES


def _golden_draws_match() -> bool:
    laws: list[tuple[Distribution, tuple[int, ...]]] = [
        *((DiscreteLaplace(epsilon, 1), noise) for epsilon, noise in GOLDEN_DRAWS.items()),
        *(
            (DiscreteGaussian(1 / (2 * sigma**2), 1), noise)
            for sigma, noise in GOLDEN_GAUSSIAN_DRAWS.items()
        ),
    ]
    for law, expected in laws:
        sampler = TableSampler(law)
        noise = sampler.draw(
            NoiseStream(key=GOLDEN_KEY), table=2, start=1_000_003, count=len(expected)
        )
        if not expected or tuple(noise.tolist()) != expected:
            return False
    return True


def _golden_wide_noise_matches() -> bool:
    noise = TableSampler(_wide_law()).draw(
        NoiseStream(key=GOLDEN_KEY), table=2, start=5, count=WIDE_CELLS
    )
    return hashlib.sha256(noise.astype("<i8").tobytes()).hexdigest() == WIDE_DIGEST


def _blocks_have_room() -> bool:
    """Every block has the buckets that its likeliest value needs, and its sure ones are sure."""
    table = BlockTable(_wide_law())
    for block in range(-table.reach, table.reach):
        ends = sorted(abs(value) for value in (block * table.size, (block + 1) * table.size - 1))
        _, likeliest = table.law.weight_bounds(0 if block in (-1, 0) else ends[0], KEY_BITS)
        least, _ = table.law.weight_bounds(ends[1], KEY_BITS)
        own = table.block == block
        sure = int(np.count_nonzero(own & (table.values == block * table.size)))
        if int(np.count_nonzero(own)) << KEY_BITS < table.height * likeliest - 1:
            return False
        if sure << KEY_BITS > table.height * least:
            return False
    return bool((table.values[table.block == 0] >= 0).any())


def _wide_law() -> DiscreteGaussian:
    return DiscreteGaussian(Fraction(1, 2 * WIDE_SIGMA**2), 1)


def _golden_lists_match() -> bool:
    """The gaps between survivors, of one digit and of many, and their noisy counts."""
    law = DiscreteLaplace(Fraction(1), 1)
    for (threshold, empty), expected in GOLDEN_LISTS.items():
        stream = NoiseStream(key=GOLDEN_KEY)
        ranks = surviving_ranks(
            law, threshold=threshold, empty_cells=empty, stream=stream, number=3
        ).tolist()
        values = surviving_values(
            law, threshold=threshold, count=len(ranks), stream=stream, number=3
        )
        if not expected or tuple(zip(ranks, values.tolist(), strict=True)) != expected:
            return False
    return True


def _streams_differ() -> bool:
    words = [
        NoiseStream.from_operating_system().keystream(lane=0, table=0, index=0).words(64).tobytes()
        for _ in range(2)
    ]
    return words[0] != words[1]


def _noise_varies() -> bool:
    sampler = TableSampler(DiscreteLaplace(Fraction(1), 1))
    noise = sampler.draw(NoiseStream.from_operating_system(), table=0, start=0, count=1024)
    return bool((noise != noise[0]).any())
