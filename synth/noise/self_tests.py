"""Checks of the noise generator that run in every measuring process before the noise."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np

from synth.noise.discrete_laplace import DiscreteLaplace
from synth.noise.quantile_table import BUCKETS, KEY_BITS, QuantileTable
from synth.noise.stream import NoiseStream, encryptor
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
# fmt: on


def self_test() -> tuple[tuple[str, bool], ...]:
    """The name of every check of the noise generator, and whether it passed.

    A sound generator fails with probability below 10^-30.
    """
    unit = QuantileTable(DiscreteLaplace(Fraction(1), 1))
    return (
        ("AES-256 in counter mode gives the published answer", _cipher_is_right()),
        ("single blocks equal the running stream", _blocks_match_stream()),
        ("masses of the noise table sum to 1", _masses_sum_to_one(unit)),
        ("the noise table agrees with the exact law", _table_matches_law(unit)),
        ("a fixed key gives the recorded noise", _golden_draws_match()),
        ("two streams of the operating system differ", _streams_differ()),
        ("noise is not constant", _noise_varies()),
    )


def _cipher_is_right() -> bool:
    from cryptography.hazmat.primitives.ciphers import modes

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


def _golden_draws_match() -> bool:
    for epsilon, expected in GOLDEN_DRAWS.items():
        sampler = TableSampler(DiscreteLaplace(epsilon, 1))
        noise = sampler.draw(
            NoiseStream(key=GOLDEN_KEY), table=2, start=1_000_003, count=len(expected)
        )
        if not expected or tuple(noise.tolist()) != expected:
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
