"""The list of heavy cells: its law is that of noise on every cell, then a threshold, exactly.

No randomness: probabilities are fractions, and every outcome of a toy universe is enumerated.
"""

from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

from synth.noise import DiscreteLaplace, NoiseStream, mechanism, survivors
from synth.noise.survivors import BASE, BelowThreshold, Beyond, Digits, Geometric

CELLS = 4
BITS = 400
"""Bounds of the laws are this close to the exact probabilities."""
LAWS = [("1", 1, 2), ("1/2", 1, 3), ("2", 1, 1), ("1", 2, 4)]
"""Epsilon, sensitivity and threshold."""


def law_of(epsilon, sensitivity):
    return DiscreteLaplace(Fraction(epsilon), sensitivity)


def at_least(law, value):
    """P(X >= value), exactly."""
    return 1 - law.cdf(value - 1)


# -- the dense way ----------------------------------------------------------------------------


def dense(law, threshold, counts, top):
    """The law of the list, by cell: {cell: value or None}; values from `top` on are one value."""
    found = {}
    options = [None, *range(threshold, top + 1)]
    for values in product(options, repeat=len(counts)):
        probability = Fraction(1)
        for count, value in zip(counts, values, strict=True):
            if value is None:
                probability *= law.cdf(threshold - 1 - count)
            elif value == top:
                probability *= at_least(law, top - count)
            else:
                probability *= law.pmf(value - count)
        found[values] = probability
    return found


# -- the sparse way: the laws that are drawn, and the code that places survivors -----------------


def part_probability(part, value):
    """P(X = value) of one drawn part; exact up to 2^-BITS on either side, by its own bounds."""
    low, high = part.law.cdf_bounds(value, BITS)
    below_low, below_high = part.law.cdf_bounds(value - 1, BITS)
    return Fraction(low - below_high, 1 << BITS), Fraction(high - below_low, 1 << BITS)


def gap_probability(law, threshold, gap):
    """Bounds of the probability that a gap is `gap` < BASE, as `surviving_ranks` draws it."""
    ratio = BelowThreshold(law.alpha, threshold)
    digits, beyond = Digits(ratio, 1, 1), Beyond(ratio, BASE)
    digit = part_probability(digits.parts()[0], gap)
    inside = part_probability(beyond.parts()[0], 0)
    return digit[0] * inside[0], digit[1] * inside[1]


def ranks_probability(law, threshold, ranks, empty):
    """Bounds of the probability that exactly these ranks survive: gaps, and one that ends it."""
    low = high = Fraction(1)
    position = -1
    for rank in ranks:
        gap = gap_probability(law, threshold, rank - position - 1)
        low, high, position = low * gap[0], high * gap[1], rank
    # what is left: the next gap leads to `empty` or beyond
    inside = [gap_probability(law, threshold, gap) for gap in range(empty - position - 1)]
    return (
        low * (1 - sum(one[1] for one in inside)),
        high * (1 - sum(one[0] for one in inside)),
    )


def excess_probability(law, excess, *, or_more):
    """Bounds of P(E = excess), or P(E >= excess), as `surviving_values` draws it."""
    parts = Geometric(law.alpha).parts()
    assert [part.step for part in parts] == [1]
    if not or_more:
        return part_probability(parts[0], excess)
    below = [part_probability(parts[0], value) for value in range(excess)]
    return 1 - sum(one[1] for one in below), 1 - sum(one[0] for one in below)


def sparse(law, threshold, counts, top):
    """Bounds of the law of the list, put together as the boundary does."""
    filled = [cell for cell, count in enumerate(counts) if count]
    empty = len(counts) - len(filled)
    found = {}
    for pattern in product([False, True], repeat=empty):
        ranks = [rank for rank in range(empty) if pattern[rank]]
        cells = survivors.cells_of_ranks(
            np.array(ranks, dtype=object), np.array(filled, dtype=object)
        ).tolist()
        walk = ranks_probability(law, threshold, ranks, empty)
        options = [
            range(threshold, top + 1) if cell in cells else [None]
            for cell in range(len(counts))
            if cell not in filled
        ]
        heavy = [[None, *range(threshold, top + 1)] for _ in filled]
        for values in product(*options, *heavy):
            low, high = walk
            empties = [cell for cell in range(len(counts)) if cell not in filled]
            outcome = dict(zip([*empties, *filled], values, strict=True))
            for cell, value in outcome.items():
                one = cell_probability(law, threshold, counts[cell], value, top)
                low, high = low * one[0], high * one[1]
            key = tuple(outcome[cell] for cell in range(len(counts)))
            assert key not in found
            found[key] = (low, high)
    return found


@cache
def cell_probability(law, threshold, count, value, top):
    """Bounds of what one cell contributes, given which empty cells survive."""
    if not count:
        if value is None:
            return Fraction(1), Fraction(1)
        return excess_probability(law, value - threshold, or_more=value == top)
    if value is None:
        exact = law.cdf(threshold - 1 - count)
    else:
        exact = at_least(law, top - count) if value == top else law.pmf(value - count)
    return exact, exact


@pytest.mark.parametrize(("epsilon", "sensitivity", "threshold"), LAWS)
@pytest.mark.parametrize("counts", [(0, 0, 0), (0, 2, 0), (1, 0, 3), (2, 1, 5), (3, 0, 0)])
def test_the_list_has_the_law_of_noise_and_threshold(epsilon, sensitivity, threshold, counts):
    """Every outcome of every cell together: the same probability, to 2^-380."""
    law, top = law_of(epsilon, sensitivity), threshold + 2
    slow, fast = dense(law, threshold, counts, top), sparse(law, threshold, counts, top)
    assert slow.keys() == fast.keys()
    assert sum(slow.values()) == 1
    for outcome, probability in slow.items():
        low, high = fast[outcome]
        assert low <= probability <= high
        assert high - low < Fraction(1, 1 << (BITS - 20))


@pytest.mark.parametrize(("epsilon", "threshold", "empty"), [("5", 3, 4), ("20", 1, 200)])
def test_the_walk_ends_where_a_gap_goes_beyond_all_digits(epsilon, threshold, empty):
    """Digits alone would place a survivor; with the flag each gap has its exact probability.

    Here a gap is beyond nearly always, and its digits are any of 256: all but few of these walks
    would list cells that no noise reached.
    """
    law = law_of(epsilon, 1)
    survives = law.alpha**threshold / (1 + law.alpha)
    for gap in (0, empty - 1):
        low, high = gap_probability(law, threshold, gap)
        assert low <= (1 - survives) ** gap * survives <= high
    walks = [
        survivors.surviving_ranks(
            law,
            threshold=threshold,
            empty_cells=empty,
            stream=NoiseStream(key=bytes(31) + bytes([key])),
            number=0,
        )
        for key in range(32)
    ]
    assert 32 * empty * survives < Fraction(1, 10_000), "a survivor of these walks is a rarity"
    assert sum(map(len, walks)) == 0


# -- privacy ----------------------------------------------------------------------------------


def outcomes_of_cell(law, threshold, count, top, *, selects):
    """The law of what is told of one cell."""
    if selects and not count:
        return {None: Fraction(1)} | dict.fromkeys(range(threshold, top + 1), Fraction(0))
    return {
        value: law.cdf(threshold - 1 - count)
        if value is None
        else (at_least(law, top - count) if value == top else law.pmf(value - count))
        for value in [None, *range(threshold, top + 1)]
    }


def tables(cells, largest):
    return list(product(range(largest + 1), repeat=cells))


def list_law(law, threshold, counts, top, *, selects):
    """The law of the whole list of a toy universe."""
    alone = [outcomes_of_cell(law, threshold, c, top, selects=selects) for c in counts]
    found = {}
    for values in product(*alone):
        probability = Fraction(1)
        for one, value in zip(alone, values, strict=True):
            probability *= one[value]
        found[values] = probability
    return found


@pytest.mark.parametrize(("epsilon", "sensitivity", "threshold"), LAWS)
def test_a_list_is_as_private_as_its_noise(epsilon, sensitivity, threshold):
    """Every pair of tables of two cells, every outcome: at most alpha^-distance."""
    law, top = law_of(epsilon, sensitivity), threshold + 4
    laws = {counts: list_law(law, threshold, counts, top, selects=False) for counts in tables(2, 3)}
    for one, other in product(laws, repeat=2):
        distance = sum(abs(a - b) for a, b in zip(one, other, strict=True))
        bound = law.alpha**-distance
        assert all(laws[one][key] <= bound * laws[other][key] for key in laws[one])


def needed_delta(law, threshold, one, other, loss):
    """The smallest delta for which these two tables are (ln loss, delta)-close, one way.

    Values from `top` on are one outcome: there all ratios are equal, so nothing is hidden.
    """
    top = max(threshold + 1, *one, *other) + 1
    mine = list_law(law, threshold, one, top, selects=True)
    theirs = list_law(law, threshold, other, top, selects=True)
    return sum(max(Fraction(0), mine[key] - loss * theirs[key]) for key in mine)


def neighbours(cells, records, relation):
    """Pairs of tables: a unit with up to `records` records more, or in place of another one."""
    units = [v for v in tables(cells, records) if sum(v) <= records]
    for base in tables(cells, 1):
        if relation == "add-remove":
            for unit in units:
                more = tuple(b + v for b, v in zip(base, unit, strict=True))
                yield base, more
                yield more, base
        else:
            for unit, another in product(units, repeat=2):
                yield (
                    tuple(b + v for b, v in zip(base, unit, strict=True)),
                    tuple(b + v for b, v in zip(base, another, strict=True)),
                )


SELECTIONS = [
    ("1", 1, "add-remove", "1/100"),
    ("1", 1, "replace-one", "1/100"),
    ("1", 2, "add-remove", "1/100"),
    ("1", 2, "replace-one", "1/20"),
    ("1/10", 1, "add-remove", "1/3"),
    ("5", 3, "add-remove", "1/1000000"),
    # delta above 1 - alpha, the chance that a count of noise stays what it is or falls
    ("1/100", 1, "add-remove", "1/4"),
    ("1/10", 1, "replace-one", "1/4"),
    ("1/10", 2, "add-remove", "1/3"),
    ("1/4", 2, "replace-one", "1/5"),
]


@pytest.mark.parametrize(("epsilon", "records", "relation", "delta"), SELECTIONS)
def test_partition_selection_keeps_its_delta(epsilon, records, relation, delta):
    """Every neighbour of every toy table: at most delta beyond exp(epsilon)."""
    sensitivity = records * (2 if relation == "replace-one" else 1)
    law, delta = law_of(epsilon, sensitivity), Fraction(delta)
    threshold = mechanism.threshold_of_delta(law, delta=delta)
    loss = law.alpha**-sensitivity
    pairs = list(neighbours(2, records, relation))
    assert pairs
    assert max(needed_delta(law, threshold, one, other, loss) for one, other in pairs) <= delta


def test_a_threshold_one_lower_is_too_low():
    """For records, where the bound is met: the delta of one more record is exactly its chance."""
    law, delta = law_of("1", 1), Fraction(1, 100)
    threshold = mechanism.threshold_of_delta(law, delta=delta)
    loss = law.alpha**-1
    assert needed_delta(law, threshold, (1, 0), (0, 0), loss) == at_least(law, threshold - 1)
    assert needed_delta(law, threshold - 1, (1, 0), (0, 0), loss) > delta


def test_a_threshold_within_the_reach_of_one_unit_is_never_enough():
    """Whatever delta: at a threshold of one, a record is listed unless its noise is negative."""
    law = law_of("1/100", 1)
    assert at_least(law, 0) < Fraction(9, 10)
    assert not mechanism.is_private(law, threshold=1, delta=Fraction(9, 10))


def test_many_cells_of_one_unit_are_paid_for():
    """Three records in three empty cells: more than one record's chance is needed."""
    law, delta = law_of("3", 3), Fraction(1, 1000)
    threshold = mechanism.threshold_of_delta(law, delta=delta)
    loss = law.alpha**-3
    spread = needed_delta(law, threshold, (1, 1, 1), (0, 0, 0), loss)
    one_cell = needed_delta(law, threshold, (3, 0, 0), (0, 0, 0), loss)
    assert at_least(law, threshold - 1) < max(spread, one_cell) <= delta
    assert not mechanism.is_private(law, threshold=threshold - 1, delta=delta)
