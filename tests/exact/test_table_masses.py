"""All 2^16 entries of every noise table, and the refinement, have exactly the masses of the law.

Everything is counted in whole numbers over one common denominator, so equality is equality.
"""

from bisect import bisect_left, bisect_right
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from synth.noise import DiscreteLaplace
from synth.noise.discrete_laplace import DigitDifference, TwoSidedGeometric
from synth.noise.quantile_table import QuantileTable

TOP = 1 << 64
BUCKET = 1 << 48


class ExactGeometric:
    """cdf(x) * denominator of the two-sided geometric law with b = B / 2^t, |x| <= reach."""

    def __init__(self, b: Fraction, reach: int) -> None:
        t = b.denominator.bit_length() - 1
        power = 1
        self._lower = {}  # P(X <= -n) = b^n / (1 + b)
        for n in range(1, reach + 2):
            power *= b.numerator
            self._lower[n] = power << t * (reach + 1 - n) << t
        self.denominator = ((1 << t) + b.numerator) << t * (reach + 1)

    def cdf(self, x: int) -> int:
        return self._lower[-x] if x < 0 else self.denominator - self._lower[x + 1]


class ExactDigits:
    """cdf(x) * denominator of the difference of two digits, by enumeration of all pairs."""

    def __init__(self, b: Fraction, base: int) -> None:
        t = b.denominator.bit_length() - 1
        weights = [b.numerator**j << t * (2 * base - 2 - j) for j in range(2 * base - 1)]
        mass = dict.fromkeys(range(1 - base, base), 0)
        for r in range(base):
            for s in range(base):
                mass[r - s] += weights[r + s]
        self.denominator = sum(mass.values())
        self._mass = mass

    def cdf(self, x: int) -> int:
        return sum(mass for d, mass in self._mass.items() if d <= x)


def plain(epsilon, sensitivity):
    (part,) = DiscreteLaplace(Fraction(epsilon), sensitivity).parts()
    assert part.step == 1
    return part.law


def parts_of(epsilon):
    return [part.law for part in DiscreteLaplace(Fraction(epsilon), 1).parts()]


LAWS = {
    "epsilon 1/10": plain("0.1", 1),
    "epsilon 1/10, sensitivity 2": plain("0.1", 2),
    "epsilon 1": plain("1", 1),
    "epsilon 1, sensitivity 2": plain("1", 2),
    "epsilon 10": plain("10", 1),
    "epsilon 1/32": plain("1/32", 1),
    "epsilon 1/130, digit": parts_of("1/130")[0],
    "epsilon 1/130, quotient": parts_of("1/130")[1],
    "epsilon 1/1000, digit": parts_of("1/1000")[0],
}
_cases = {}


@pytest.fixture(params=LAWS)
def case(request):
    """A table and its exact law; built once."""
    if request.param not in _cases:
        law = LAWS[request.param]
        table = QuantileTable(law)
        b = law.alpha**law.exponent
        if isinstance(law, TwoSidedGeometric):
            exact = ExactGeometric(b, len(table.lower) + 2)
        else:
            exact = ExactDigits(b, law.base)
        _cases[request.param] = table, exact
    return _cases[request.param]


def no_more_words(cell, number):
    raise AssertionError(f"word {number} of cell {cell} was asked for")


def refine_key(table, key, more_words=no_more_words, low_bits=0):
    """What the table makes of a cell whose first 80 random bits are key * 2^16 + low_bits."""
    bucket = np.array([key >> 48], dtype=np.uint16)
    word = np.array([(key << 16 | low_bits) % TOP], dtype=np.uint64)
    return int(table.refine(bucket, word, more_words)[0])


def test_every_entry_and_every_key_has_the_mass_of_the_law(case):
    table, exact = case
    check_masses(table, exact)


def check_masses(table, exact):
    """Decided entries + keys decided by one word + what later words decide = pmf, for every x."""
    d = exact.denominator
    last = table.first + len(table.lower) - 1
    cdf = {x: exact.cdf(x) * TOP for x in range(table.first - 1, last + 2)}
    values = table.values.astype(np.int64)
    decided = values != table.undecided
    lower = dict(enumerate(table.lower.tolist(), table.first))
    upper = dict(enumerate(table.upper.tolist(), table.first))
    # the thresholds enclose the exact law, so a key between them is decided rightly
    for x in range(table.first, last + 1):
        assert lower[x] * d <= cdf[x] <= upper.get(x, TOP) * d
    # 1. entries of the table: every bucket of x lies within [cdf(x-1), cdf(x))
    entries = dict.fromkeys(range(table.first, last + 2), 0)
    for x in np.unique(values[decided]).tolist():
        buckets = np.flatnonzero(values == x)
        assert cdf[x - 1] <= int(buckets[0]) * BUCKET * d
        assert (int(buckets[-1]) + 1) * BUCKET * d <= cdf[x]
        entries[x] = len(buckets) * BUCKET
    # 2. keys of undecided buckets that the first further word decides
    for x in range(table.first + 1, last + 2):
        start, stop = upper.get(x - 1, TOP), lower.get(x, TOP)
        for key in {start, stop - 1} if start < stop else ():
            if not decided[key >> 48]:
                assert refine_key(table, key) == x
    # 3. keys that need more words: [lower(x), upper(x)), decided by comparison with the law
    open_keys = sorted({key for x in lower for key in range(lower[x], upper.get(x, TOP))})
    assert not any(decided[key >> 48] for key in open_keys)
    total = 0
    for x in range(table.first, last + 2):
        below, upto = cdf[x - 1], cdf[x]
        sure = max(0, lower.get(x, TOP) - upper.get(x - 1, TOP)) if x > table.first else 0
        assert entries[x] <= sure, "the entries of x are among the keys that are surely x"
        first_key = bisect_left(open_keys, below // d)
        last_key = bisect_right(open_keys, upto // d)
        late = sum(
            max(0, min((key + 1) * d, upto) - max(key * d, below))
            for key in open_keys[first_key:last_key]
        )
        assert sure * d + late == upto - below, f"mass of {x}"
        total += sure
    assert total + len(open_keys) == TOP, "no key is forgotten, none is counted twice"


def test_no_bucket_is_undecided_without_need(case):
    """A bucket is undecided exactly when it holds the end of some value's interval."""
    table, exact = case
    ends = {
        exact.cdf(x) * (1 << 16) // exact.denominator
        for x in range(table.first, table.first + len(table.lower))
    }
    undecided = set(np.flatnonzero(table.values == table.undecided).tolist())
    assert undecided <= {end for end in ends if end < 1 << 16}


def test_number_of_undecided_buckets():
    counts = {
        name: int((QuantileTable(LAWS[name]).values == QuantileTable(LAWS[name]).undecided).sum())
        for name in ("epsilon 1/10", "epsilon 1")
    }
    assert counts == {"epsilon 1/10": 182, "epsilon 1": 22}


def test_keys_on_a_threshold_are_decided_by_the_exact_law(case):
    """Just below cdf(x) the value is x, just above it is x+1, at 144 and at 208 bits."""
    table, exact = case
    chosen = range(table.first + 1, table.first + len(table.upper) - 1)
    seen = 0
    for x in list(chosen)[:: max(1, len(chosen) // 12)]:
        for bits in (144, 208):
            end = exact.cdf(x) * (1 << bits) // exact.denominator
            if end * exact.denominator == exact.cdf(x) * (1 << bits):
                continue
            for prefix, expected in ((end - 4, x), (end + 5, x + 1)):
                key, rest = prefix >> (bits - 64), prefix % (1 << bits - 64)
                words = [
                    (rest >> (bits - 80 - 64 * j)) % TOP for j in range(1, (bits - 80) // 64 + 1)
                ]

                def more_words(cell, number, words=words):
                    assert cell == 0
                    return words[number - 1]

                found = refine_key(table, key, more_words, low_bits=rest >> (bits - 80))
                assert found == expected
                seen += 1
    assert seen


@pytest.mark.parametrize("case", ["epsilon 1", "epsilon 1/10"], indirect=True)
def test_the_ends_of_the_law_are_reached_by_more_words(case):
    """An endless tail: 144 equal bits and then another one give a value beyond the thresholds."""
    table, _ = case
    half = 1 << 63
    for key, low_bits, words in ((0, 0, [0, half]), (TOP - 1, 0xFFFF, [TOP - 1, half - 1])):
        value = refine_key(table, key, lambda _, number, w=words: w[number - 1], low_bits)
        prefix = ((key << 16 | low_bits) << 64 | words[0]) << 64 | words[1]
        assert table.law.cdf_bounds(value - 1, 208)[1] <= prefix
        assert prefix + 1 <= table.law.cdf_bounds(value, 208)[0]
        assert not table.first <= value <= table.first + len(table.lower)


def test_thresholds_rise(case):
    table, _ = case
    for bounds in (table.lower.tolist(), table.upper.tolist()):
        assert all(a <= b for a, b in pairwise(bounds))


def test_a_step_multiplies_every_value():
    law = LAWS["epsilon 1/1000, digit"]
    one, many = QuantileTable(law), QuantileTable(law, 1000)
    decided = one.values != one.undecided
    assert (many.values[decided].astype(int) == 1000 * one.values[decided].astype(int)).all()
    assert ((many.values == many.undecided) == ~decided).all()
    bucket = int(np.flatnonzero(~decided)[3])
    for key in (bucket << 48, (bucket << 48) + BUCKET - 1):
        assert refine_key(many, key) == 1000 * refine_key(one, key)


@pytest.mark.parametrize("base", [2, 8])
def test_digits_at_the_ends_are_certain(base):
    law = DigitDifference(DiscreteLaplace(Fraction(1, 40), 1).alpha, 1, base)
    table = QuantileTable(law)
    assert refine_key(table, 0) == 1 - base if table.values[0] == table.undecided else True
    assert min(table.values[table.values != table.undecided]) == 1 - base
    assert max(table.values[table.values != table.undecided]) == base - 1
