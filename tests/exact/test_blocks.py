"""Wide Gaussian noise by rejection: a round gives x with probability proportional to the law.

The oracle is exp(-k^2 / (2 sigma^2)) in decimals of 60 digits; `Decimal.exp` is correctly rounded.
"""

import itertools
import math
import random
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from synth.errors import BugError
from synth.noise import DiscreteGaussian, block_table
from synth.noise.block_table import (
    TAIL_BITS,
    TAIL_WIDTH_BITS,
    BlockTable,
    _decide,
    finish,
    reject_until_accepted,
    trailing_zeros,
)

SIGMAS = [Fraction(90), Fraction(127), Fraction(500), Fraction(22361), Fraction(1 << 20)]
TINY = Fraction(1, 10**50)
_tables = {}
_buckets = {}


def gaussian(sigma):
    return DiscreteGaussian(1 / (2 * Fraction(sigma) ** 2), 1)


@pytest.fixture(params=SIGMAS, ids=lambda sigma: f"sigma {sigma}")
def table(request):
    if request.param not in _tables:
        _tables[request.param] = BlockTable(gaussian(request.param))
    return _tables[request.param]


def weight(table, magnitude: int) -> Fraction:
    """exp(-rate k^2) to within 10^-55 of it."""
    with localcontext(Context(prec=60, Emin=-(10**7))):
        rate = Decimal(table.law.rate.numerator) / Decimal(table.law.rate.denominator)
        return Fraction((-rate * magnitude * magnitude).exp())


def buckets_of(table):
    """For every block its buckets, in order; the tails are the blocks that are farthest out."""
    if table.law in _buckets:
        return _buckets[table.law]
    found = _buckets[table.law] = {}
    for bucket in np.flatnonzero(table.place <= table.height).tolist():
        found.setdefault(int(table.block[bucket]), []).append(bucket)
    return found


def magnitudes(table, block: int) -> tuple[int, int]:
    """The least and the largest magnitude of a block."""
    first, last = block * table.size, (block + 1) * table.size - 1
    return min(abs(first), abs(last)), max(abs(first), abs(last))


def test_every_value_has_room_for_its_probability(table):
    """No x is proposed less often than it must be accepted: nothing of the law is cut off."""
    found = buckets_of(table)
    assert sorted(found) == list(range(-1 - table.reach, table.reach + 1))
    for block, buckets in found.items():
        assert table.place[buckets].tolist() == list(range(len(buckets)))
        if block in (table.reach, -1 - table.reach):
            assert len(buckets) == 1
            continue
        least, _ = magnitudes(table, block)
        assert table.height * weight(table, least) <= len(buckets) * (1 + TINY)


def test_what_is_accepted_at_once_is_accepted_for_every_value_and_fraction(table):
    found = buckets_of(table)
    sure = table.values != table.undecided
    assert (table.values[sure] == table.block[sure] * table.size).all()
    assert not sure[table.place > table.height].any(), "a bucket that proposes nothing"
    assert sure.mean() > 0.96, "and that is nearly everything"
    for block, buckets in found.items():
        known = int(sure[buckets].sum())
        assert sure[buckets[:known]].all()
        _, largest = magnitudes(table, block)
        if block not in (table.reach, -1 - table.reach):
            assert known * (1 - TINY) <= table.height * weight(table, largest)
        else:
            assert not known


def test_tails_are_proposed_often_enough_and_accepted_rarely(table):
    """height * f * 16 * 2^(j+1) <= 2^-7 for every block j of a tail."""
    start, wide = table.reach * table.size, table.size << TAIL_WIDTH_BITS
    for far in range(40):
        share = table.height * weight(table, start + far * wide) * 2 ** (TAIL_WIDTH_BITS + far + 1)
        assert share <= Fraction(1, 2**TAIL_BITS) * (1 + TINY)


def test_heights_are_as_close_as_they_say(table):
    generator = random.Random(1)
    blocks = list(range(table.reach)) + [generator.randrange(table.reach) for _ in range(500)]
    for beyond_of in (
        lambda: 0,
        lambda: 1,
        lambda: table.size,
        lambda: generator.randrange(table.size + 1),
    ):
        beyond = [beyond_of() for _ in blocks]
        heights, slack = table.heights(np.array(blocks), np.array(beyond))
        for block, more, height, off in zip(blocks, beyond, heights, slack, strict=True):
            exact = 2**21 * table.height * weight(table, block * table.size + more)
            assert abs(int(height) - exact) < int(off) == 8
    heights, slack = table.heights(np.array([table.reach]), np.array([0]))
    assert (heights[0], slack[0]) == (0, 2 ** (21 - TAIL_BITS))


def cases_near_the_limit(table, number):
    """Proposals whose fraction is hardly below or above height * f - place, and the answer."""
    generator = random.Random(number)
    found = buckets_of(table)
    while number:
        block = generator.randrange(-table.reach, table.reach)
        offset = generator.randrange(table.size)
        exact = table.height * weight(table, abs(block * table.size + offset)) * 2**64
        place = int(exact) >> 64
        if place >= len(found[block]) or not block * table.size + offset:
            continue
        number -= 1
        off = generator.choice([1, 2, 2**20, 2**44, 2**47, 2**50])
        fraction = int(exact) % 2**64 + generator.choice([-off, off])
        if 0 <= fraction < 2**64:
            answer = (place << 64 | fraction) < int(exact)
            yield found[block][place], offset, fraction, block * table.size + offset, answer


def test_quick_decisions_are_right_or_left_open(table):
    cases = list(cases_near_the_limit(table, 400))
    buckets, offsets, fractions, _, answers = (
        np.array(column) for column in zip(*cases, strict=True)
    )
    accepted, rejected = _decide(table, buckets, offsets, fractions.astype(np.uint64))
    assert not (accepted & ~answers).any()
    assert not (rejected & answers).any()
    assert accepted.any()
    assert rejected.any()
    assert not (accepted | rejected).all()


def test_exact_decisions_are_right(table):
    """`finish` returns the value when it is accepted, and else what the next round proposes."""
    sure = int(np.flatnonzero(table.values == 5 * table.size)[0])
    for bucket, offset, fraction, value, answer in list(cases_near_the_limit(table, 60)):
        words = iter([sure | 3 << 16, 7])
        offset_of_next = 3 % table.size
        found = finish(table, bucket, offset, fraction, words)
        assert found == (value if answer else 5 * table.size + offset_of_next)


def test_more_digits_decide_what_64_leave_open(table):
    """64 digits equal to those of the limit: the next 64 tell."""
    generator = random.Random(3)
    found = buckets_of(table)
    sure = int(np.flatnonzero(table.values == 0)[0])
    for _ in range(10):
        block = generator.randrange(1, table.reach // 2)
        value = block * table.size
        exact = int(table.height * weight(table, value) * 2**128)
        place, fraction, more = exact >> 128, exact >> 64 & 2**64 - 1, exact & 2**64 - 1
        for word, expected in ((more - 2**20, value), (more + 2**20, 0)):
            words = iter([word, sure, 0])
            assert finish(table, found[block][place], 0, fraction, words) == expected


def test_a_cell_that_is_left_open_goes_on_with_words_of_its_own(table, monkeypatch):
    """Nobody's words are asked for twice, also where no fraction of 64 bits decides."""
    asked = []
    random_words = np.random.default_rng(5)

    def words(number, cells):
        asked.extend((number, cell) for cell in cells.tolist())
        return random_words.integers(0, 1 << 64, (len(cells), 2), dtype=np.uint64)

    def undecided(_table, bucket, *_):
        return np.zeros(len(bucket), dtype=bool), np.zeros(len(bucket), dtype=bool)

    monkeypatch.setattr(block_table, "_decide", undecided)
    buckets = np.full(50, buckets_of(table)[table.reach - 2][-1], dtype=np.uint16)
    reject_until_accepted(table, buckets, np.zeros(50, dtype=np.uint16), words)
    assert len(set(asked)) == len(asked) > 50


def test_the_middle_is_always_accepted(table):
    """For 0 the limit is the height itself, a whole number."""
    for bucket in buckets_of(table)[0]:
        assert finish(table, bucket, 0, 2**64 - 1, iter(())) == 0


def test_tails_have_no_end(table):
    """With a fraction of 0 any block of a tail is accepted, on either side of 0."""
    wide = table.size << TAIL_WIDTH_BITS
    for block, sign in ((table.reach, 1), (-1 - table.reach, -1)):
        (bucket,) = buckets_of(table)[block]
        for far in (0, 1, 5, 70):
            first = [0] * (far // 64) + [1 << far % 64, 5 + 7 * wide]
            words = itertools.chain(first, itertools.repeat(0))
            magnitude = table.reach * table.size + far * wide + 5
            found = finish(table, bucket, 0, 0, words)
            assert found == (magnitude if sign > 0 else -1 - magnitude)
        sure = int(np.flatnonzero(table.values == 0)[0])
        words = iter([1, 0, sure, 0])
        assert finish(table, bucket, 0, 2**62, words) == 0, "above 2^-7 nothing is accepted"


@pytest.mark.parametrize("far", [0, 1, 5, 70])
def test_a_value_far_out_is_accepted_as_often_as_it_is_proposed_too_rarely(table, far, monkeypatch):
    """It shares its one bucket with 2^(far + 1) times as many as a block has, and more."""
    seen = []

    def accepted(_table, place, _fraction, factor, *_):
        seen.append((place, factor))
        return True

    monkeypatch.setattr(block_table, "_is_below", accepted)
    for block in (table.reach, -1 - table.reach):
        (bucket,) = buckets_of(table)[block]
        finish(table, bucket, 0, 0, iter([0] * (far // 64) + [1 << far % 64, 5]))
    proposed = Fraction(1, 2 ** (far + 1)) * Fraction(1, table.size << TAIL_WIDTH_BITS)
    in_a_block = Fraction(1, table.size)
    assert seen == 2 * [(0, table.height * in_a_block / proposed)]


def test_inside_the_bounds_more_digits_decide():
    """A weight of 1/2 whose bounds are far apart at first: neither side is taken for sure."""

    def bounds(_magnitude, bits):
        slack = 1 << 40 if bits <= 80 else 0
        return (1 << bits - 1) - slack, (1 << bits - 1) + slack

    table = SimpleNamespace(law=SimpleNamespace(weight_bounds=bounds))
    for fraction, below in ((2**63 + 2**10, False), (2**63 - 2**10, True), (2**63, False)):
        words = itertools.repeat(0)
        assert block_table._is_below(table, 0, fraction, 1, 7, words) is below


def test_positive_and_negative_values_meet_without_gap_or_overlap():
    table = BlockTable(gaussian(100))
    blocks = sorted(buckets_of(table))
    values = [block * table.size + offset for block in blocks[1:-1] for offset in range(table.size)]
    end = table.reach * table.size
    assert values == list(range(-end, end)), "the tails begin at `end` and at -1 - `end`"


def test_trailing_zeros():
    assert trailing_zeros(iter([1])) == 0
    assert trailing_zeros(iter([0b1000])) == 3
    assert trailing_zeros(iter([0, 0, 2])) == 129


def accepted_fractions(table, bucket, offset, sure) -> int:
    """How many fractions of 64 bits a value is accepted for: all below the first that is not."""
    value = int(table.block[bucket]) * table.size + offset

    def accepts(fraction):
        return finish(table, bucket, offset, fraction, iter([sure, 0, 0, 0])) == value

    if not accepts(0):
        return 0
    if accepts(2**64 - 1):
        return 2**64
    low, high = 0, 2**64 - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if accepts(middle) else (low, middle)
    return high


def test_a_round_gives_values_in_proportion_to_the_law():
    """Every bucket, offset and fraction of 21 bits of one table: exact frequencies by counting.

    A value is accepted for all fractions below height * f - place, and the count of those among
    2^21 is known to within the slack; so its share is that of the law to within 2^-17 of a bucket.
    """
    table = BlockTable(gaussian(90))
    found = buckets_of(table)
    sure = int(np.flatnonzero(table.values == 99 * table.size)[0])
    for block in range(-table.reach, table.reach, 37):
        for offset in range(table.size):
            total = 0
            for bucket in found[block]:
                total += accepted_fractions(table, bucket, offset, sure)
            exact = 2**64 * table.height * weight(table, abs(block * table.size + offset))
            assert abs(total - exact) <= 2


@pytest.mark.parametrize("sigma", [30, 89])
def test_narrow_noise_has_no_blocks(sigma):
    assert gaussian(sigma).block_bits == 0


def test_blocks_are_small_beside_sigma():
    for sigma in (90, 91, 179, 180, 1000, 10**6, 2**20):
        size = 1 << gaussian(sigma).block_bits
        assert 45 * size <= sigma < 90 * size


def test_a_law_that_does_not_suit_blocks_is_refused():
    class Steep(DiscreteGaussian):
        block_bits = 9

    with pytest.raises(BugError):
        BlockTable(Steep(Fraction(1, 2 * 100**2), 1))


@pytest.mark.parametrize("bits", [8, 64, 200])
def test_bounds_of_a_weight_enclose_it(table, bits):
    for magnitude in (0, 1, table.size, 10 * table.size, 100 * table.size, 10**9):
        low, high = table.law.weight_bounds(magnitude, bits)
        exact = weight(table, magnitude) * 2**bits
        assert low <= exact * (1 + TINY)
        assert exact * (1 - TINY) <= high
        assert high - low <= 2
    assert table.law.weight_bounds(0, bits) == (1 << bits, 1 << bits)


@pytest.mark.parametrize("sigma", [4097, 131072, 2**20])
@pytest.mark.parametrize("confidence", [0.3, 0.95, Fraction(10**12 - 1, 10**12)])
def test_half_widths_of_wide_noise_are_close_and_not_too_small(sigma, confidence):
    """P(|X| > k) is erfc((k + 1/2) / (sigma sqrt 2)) to within 30 / sigma^2 of it."""
    width = gaussian(sigma).half_width(confidence)
    miss = 1 - float(confidence) if isinstance(confidence, float) else float(1 - confidence)

    def beyond(k):
        return math.erfc((k + 0.5) / (sigma * math.sqrt(2)))

    slack = 1 + 30 / sigma**2 + 1e-9
    assert beyond(width) <= miss * slack
    assert beyond(width - 3 - 1e-8 * width) > miss / slack


def test_half_widths_at_any_confidence():
    law = gaussian(10**6)
    widths = [law.half_width(1 - Fraction(1, 10**digits)) for digits in (10, 200, 299, 301, 1000)]
    assert widths == sorted(widths)
    assert widths[3] < 1.01 * widths[2]
    assert widths[4] / 10**6 == pytest.approx(math.sqrt(2 * 1000 * math.log(10)), rel=1e-3)
