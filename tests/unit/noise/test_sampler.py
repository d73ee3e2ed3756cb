"""Draws against the slow definition; the same noise however a table is cut."""

import hashlib
import random
import struct
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from synth.errors import BugError
from synth.noise import DiscreteLaplace, NoiseStream, TableSampler, table_sampler
from synth.noise.law import Part, exponential_bounds
from synth.noise.quantile_table import QuantileTable, quantile

KEY = bytes(range(7, 39))
EPSILONS = ["0.001", "1/200", "0.1", "1", "10"]


def sampler_of(epsilon):
    return TableSampler(DiscreteLaplace(Fraction(epsilon), 1))


def draw(epsilon, *, table=0, start=0, count=100_000, key=KEY):
    return sampler_of(epsilon).draw(NoiseStream(key=key), table=table, start=start, count=count)


def slow_noise(law: DiscreteLaplace, key: bytes, table: int, cell: int) -> int:
    """The definition, bit by bit: blocks from the bare cipher, the law in exact fractions."""
    cipher = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    total = 0
    for number, part in enumerate(law.parts()):

        def block(lane, round_number, index):
            return cipher.update(struct.pack(">HIHQ", lane, table, round_number, index))

        bucket = struct.unpack("<8H", block(2 * number, 0, cell // 8))[cell % 8]
        word = struct.unpack("<2Q", block(2 * number + 1, 0, cell))[0]
        uniform = Fraction(bucket << 64 | word, 1 << 80)
        x = 0
        while uniform >= exact_cdf(part.law, x):
            x += 1
        while uniform < exact_cdf(part.law, x - 1):
            x -= 1
        total += part.step * x
    return total


_cdfs = {}


def exact_cdf(law, x: int) -> Fraction:
    """The cdf from its definition, to 400 bits: far more than a draw of 80 bits can tell."""
    if (law, x) not in _cdfs:
        b = Fraction(round(law.alpha**law.exponent * 2**400), 2**400)
        if hasattr(law, "base"):
            mass = {d: Fraction(0) for d in range(-law.base, law.base + 1)}
            powers = [b**j for j in range(2 * law.base)]
            powers = [Fraction(round(p * 2**400), 2**400) for p in powers]
            for r in range(law.base):
                for s in range(law.base):
                    mass[r - s] += powers[r + s]
            total = sum(mass.values())
            upto = Fraction(0)
            for d in range(-law.base, law.base + 1):
                upto += mass[d]
                _cdfs[law, d] = upto / total
        else:
            tail = b ** (x + 1 if x >= 0 else -x) / (1 + b)
            _cdfs[law, x] = 1 - tail if x >= 0 else tail
    return _cdfs[law, x]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_draws_are_what_the_slow_definition_gives(epsilon):
    check_against_the_slow_definition(epsilon)


def check_against_the_slow_definition(epsilon):
    law = DiscreteLaplace(Fraction(epsilon), 1)
    table, start, count = 3, 65_501, 70_000
    noise = draw(epsilon, table=table, start=start, count=count)
    assert noise.dtype == np.int64
    undecided = undecided_cells(law, table, start, count)
    cells = [start, start + count - 1, *range(65_530, 65_542), *undecided[:40], *undecided[-10:]]
    assert undecided
    for cell in cells:
        assert noise[cell - start] == slow_noise(law, KEY, table, cell)


def undecided_cells(law, table, start, count):
    found = set()
    stream = NoiseStream(key=KEY)
    for number, part in enumerate(law.parts()):
        quantiles = QuantileTable(part.law)
        words = stream.keystream(lane=2 * number, table=table, index=0).words(
            -(-(start + count) // 8) * 8
        )
        open_cells = np.flatnonzero(quantiles.values[words] == quantiles.undecided)
        found |= {int(cell) for cell in open_cells if start <= cell < start + count}
    return sorted(found)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_noise_does_not_depend_on_chunks_or_their_order(epsilon):
    whole = draw(epsilon, count=200_003)
    sampler, stream = sampler_of(epsilon), NoiseStream(key=KEY)
    cuts = [0, 1, 7, 8, 9, 63, 65_535, 65_537, 131_071, 131_072, 131_080, 200_000, 200_003]
    pieces = list(pairwise(cuts))
    random.Random(0).shuffle(pieces)
    cut = np.empty_like(whole)
    for start, stop in pieces:
        cut[start:stop] = sampler.draw(stream, table=0, start=start, count=stop - start)
    assert np.array_equal(cut, whole)


@pytest.mark.parametrize("chunk", [8, 24, 1 << 12, 1 << 18])
def test_noise_does_not_depend_on_the_size_of_the_working_set(monkeypatch, chunk):
    expected = draw("1/200", start=5, count=3_000)
    monkeypatch.setattr(table_sampler, "CHUNK_CELLS", chunk)
    assert np.array_equal(draw("1/200", start=5, count=3_000), expected)


@pytest.mark.parametrize("epsilon", ["0.001", "1"])
def test_noise_does_not_depend_on_threads(epsilon):
    whole = draw(epsilon, count=400_000)
    sampler, stream = sampler_of(epsilon), NoiseStream(key=KEY)
    starts = range(0, 400_000, 25_000)
    with ThreadPoolExecutor(4) as pool:
        parts = pool.map(
            lambda start: sampler.draw(stream, table=0, start=start, count=25_000), starts
        )
        assert np.array_equal(np.concatenate(list(parts)), whole)


def test_tables_and_keys_have_their_own_noise():
    first = draw("0.1", table=0)
    for other in (draw("0.1", table=1), draw("0.1", key=bytes(32)), draw("0.1", start=100_000)):
        # two independent draws agree in about 1 of 40 cells
        assert (first == other).mean() < 0.05


def test_no_counter_block_serves_two_purposes(monkeypatch):
    """Every block that two tables with several lanes asked for, counted."""
    blocks = []
    keystream, single = NoiseStream.keystream, NoiseStream.blocks

    def record_keystream(self, *, lane, table, index):
        running = keystream(self, lane=lane, table=table, index=index)
        position = [index]

        class Recorder:
            def words(self, count, memory):
                blocks.extend((lane, table, 0, position[0] + i) for i in range(count // 8))
                position[0] += count // 8
                return running.words(count, memory)

        return Recorder()

    def record_blocks(self, *, lane, table, round_number, indices):
        blocks.extend((lane, table, round_number, int(i)) for i in indices)
        return single(self, lane=lane, table=table, round_number=round_number, indices=indices)

    monkeypatch.setattr(NoiseStream, "keystream", record_keystream)
    monkeypatch.setattr(NoiseStream, "blocks", record_blocks)
    stream, sampler = NoiseStream(key=KEY), sampler_of("0.001")
    for table in (0, 1):
        for start in range(0, 80_000, 40_000):
            sampler.draw(stream, table=table, start=start, count=40_000)
    counters = {struct.pack(">HIHQ", *block) for block in blocks}
    assert len(counters) == len(blocks) >= 2 * 2 * 10_000
    assert {lane for lane, *_ in blocks} == {0, 1, 2, 3}


def test_every_word_serves_one_cell():
    """Cells of a block share it but not its words: neighbours are not correlated."""
    noise = draw("1", count=400_000).astype(float)
    for lag in range(1, 17):
        product = (noise[:-lag] * noise[lag:]).mean() / DiscreteLaplace(Fraction(1), 1).variance
        assert abs(product) < 7 / 400_000**0.5


def test_an_existing_array_can_take_the_noise():
    memory = np.full(1000, 99)
    noise = sampler_of("1").draw(NoiseStream(key=KEY), table=0, start=0, count=1000, out=memory)
    assert noise is memory
    assert np.array_equal(memory, draw("1", count=1000))


@pytest.mark.parametrize("memory", [np.zeros(9), np.zeros(9, np.int32), np.zeros(8, np.int64)])
def test_an_array_that_does_not_fit_is_refused(memory):
    with pytest.raises(BugError, match="int64"):
        sampler_of("1").draw(NoiseStream(key=KEY), table=0, start=0, count=9, out=memory)


def test_noise_is_drawn_once():
    sampler, stream = sampler_of("1"), NoiseStream(key=KEY)
    sampler.draw(stream, table=0, start=0, count=10)
    with pytest.raises(BugError, match="twice"):
        sampler.draw(stream, table=0, start=9, count=10)


def test_no_cells_no_noise():
    assert draw("1", count=0).shape == (0,)


def test_the_last_cells_of_a_stream():
    last = 2**63 - 10
    noise = draw("0.1", start=last, count=10)
    assert noise.tolist() == [
        slow_noise(DiscreteLaplace(Fraction("0.1"), 1), KEY, 0, last + i) for i in range(10)
    ]


@pytest.mark.parametrize(("epsilon", "values"), [("1e-12", 2e12), ("1e-9", 2e9), ("1e-5", 2e5)])
def test_very_small_epsilons_give_very_large_noise(epsilon, values):
    noise = draw(epsilon, count=20_000)
    assert np.abs(noise).max() > values
    law = DiscreteLaplace(Fraction(epsilon), 1)
    assert np.var(noise.astype(float)) == pytest.approx(law.variance, rel=0.2)
    assert len(np.unique(noise)) > 1000


def test_a_huge_epsilon_gives_no_noise_to_speak_of():
    assert not draw("1000").any()


class Thirds:
    """A law of three values, whose first end 1/3 = 0.010101... no finite word decides."""

    def cdf_bounds(self, value, bits):
        thirds = min(3, max(0, value + 2))
        return (thirds << bits) // 3, -((-thirds << bits) // 3)


def test_more_words_are_taken_until_a_value_is_certain():
    table = QuantileTable(Thirds())
    third = 0x5555555555555555
    assert table.values[0x5555] == table.undecided
    asked = []

    def more_words(cell, number):
        asked.append((cell, number))
        return third if number < 4 else third + (1 if cell else -1)

    bucket = np.array([0x5555, 0x5555], dtype=np.uint16)
    values = table.refine(bucket, np.array([third, third], dtype=np.uint64), more_words)
    assert values.tolist() == [-1, 0]
    assert asked == [(cell, number) for cell in (0, 1) for number in (1, 2, 3, 4)]


def test_refinement_words_of_later_rounds_come_from_later_blocks(monkeypatch):
    asked = []
    blocks = NoiseStream.blocks

    def record(self, *, lane, table, round_number, indices):
        asked.append((lane, table, round_number, indices.tolist()))
        words = blocks(self, lane=lane, table=table, round_number=round_number, indices=indices)
        return np.full_like(words, 0x5555555555555555) if round_number < 2 else words

    class Distribution:
        def parts(self):
            return [Part(1, Thirds())]

    monkeypatch.setattr(NoiseStream, "blocks", record)
    sampler = TableSampler(Distribution())
    words = NoiseStream(key=KEY).keystream(lane=0, table=4, index=0).words(200_000)
    cell = int(np.flatnonzero(words == 0x5555)[0])
    noise = sampler.draw(NoiseStream(key=KEY), table=4, start=cell, count=1)
    rounds = [round_number for lane, table, round_number, cells in asked]
    assert rounds == [0, 0, 1, 1, 2]
    assert all(entry[:2] == (1, 4) and entry[3] == [cell] for entry in asked)
    decided = blocks(
        NoiseStream(key=KEY), lane=1, table=4, round_number=2, indices=np.array([cell])
    )
    assert noise[0] == (-1 if decided[0, 0] < 0x5555555555555555 else 0)


def test_a_quantile_is_given_only_when_it_is_proved():
    assert quantile(Thirds(), 0b01, 2) is None
    assert quantile(Thirds(), 0b0100, 4) == -1
    assert quantile(Thirds(), 0b0101, 4) is None
    assert quantile(Thirds(), 0b0110, 4) == 0
    assert quantile(Thirds(), 0b1111, 4) == 1
    laplace = DiscreteLaplace(Fraction(1), 1)
    assert quantile(laplace, 0, 80) is None
    assert quantile(laplace, (1 << 80) - 1, 80) is None


class DiscreteGaussian:
    """P(k) proportional to exp(-k^2 / (2 sigma^2)), by bounds: its cdf is not rational."""

    def __init__(self, sigma_squared):
        self.sigma_squared = sigma_squared
        self.reach = 60 * sigma_squared
        self._cdf = {}

    def cdf_bounds(self, value, bits):
        value = max(-self.reach - 1, min(self.reach, value))
        if bits not in self._cdf:
            work = bits + 64
            weights = [
                exponential_bounds(Fraction(k * k, 2 * self.sigma_squared), work)
                for k in range(-self.reach, self.reach + 1)
            ]
            beyond = 1 << 20  # more than the weight of everything beyond `reach`
            low, high = [0], [beyond]
            for weight_low, weight_high in weights:
                low.append(low[-1] + weight_low)
                high.append(high[-1] + weight_high)
            total = low[-1], high[-1] + beyond
            self._cdf[bits] = [
                ((a << bits) // total[1], min(1 << bits, -((-b << bits) // total[0])))
                for a, b in zip(low, high, strict=True)
            ]
        return self._cdf[bits][value + self.reach + 1]

    def parts(self):
        return [Part(1, self)]


def test_another_law_fits_the_sampler():
    law = DiscreteGaussian(4)
    noise = TableSampler(law).draw(NoiseStream(key=KEY), table=0, start=0, count=1_000_000)
    weights = {k: 2.718281828459045 ** (-k * k / 8) for k in range(-40, 41)}
    for k in range(-4, 5):
        p = weights[k] / sum(weights.values())
        assert abs((noise == k).mean() - p) < 7 * (p / 1_000_000) ** 0.5


def test_a_law_too_wide_for_a_table_is_refused():
    law = DiscreteLaplace(Fraction(1, 10**6), 1)
    with pytest.raises(BugError, match="too wide"):
        QuantileTable(law)


@pytest.mark.parametrize(
    ("epsilon", "digest"),
    [
        ("0.001", "1df0b73a4a021492"),
        ("0.1", "1718ef66dc0d1e11"),
        ("1", "54080e28cc6be8e1"),
        ("10", "2170e56cf3d69841"),
    ],
)
def test_noise_of_a_key_never_changes(epsilon, digest):
    """A change here is a change of the product's noise: it needs an entry in the changelog."""
    noise = draw(epsilon, table=1, start=3, count=100_000)
    assert hashlib.sha256(noise.astype("<i8").tobytes()).hexdigest()[:16] == digest
