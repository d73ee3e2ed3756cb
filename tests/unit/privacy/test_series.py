"""What the parts of a series come to, against every set of parts that one unit can be in."""

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.config import Composition, SeriesPart
from synth.privacy import Budget, Charge, Promise, population_total
from synth.privacy.population import series_accounts, series_total

SIXTHS = st.integers(0, 12).map(lambda number: Fraction(number, 6))
BUDGETS = st.builds(Budget, SIXTHS, SIXTHS)
PARTS = st.dictionaries(st.integers(0, 9), BUDGETS, max_size=5)
RULES = st.one_of(
    st.just(Composition("sum", None)),
    st.builds(Composition, st.just("largest"), st.integers(1, 7)),
    st.builds(Composition, st.just("window"), st.integers(1, 12)),
)
NOTHING = Budget(Fraction(0), Fraction(0))
RECORDS = Promise("add-remove", None, None)


def is_allowed(numbers: tuple[int, ...], composition: Composition) -> bool:
    """Whether the promise is about a unit that is in just these parts."""
    if composition.rule == "sum":
        return True
    if composition.rule == "largest":
        return len(numbers) <= composition.most
    return not numbers or max(numbers) - min(numbers) < composition.most


@given(PARTS, RULES)
def test_it_is_what_the_unit_loses_that_is_in_the_dearest_parts(parts, composition):
    units = [
        sum((parts[number] for number in numbers), NOTHING)
        for size in range(len(parts) + 1)
        for numbers in combinations(sorted(parts), size)
        if is_allowed(numbers, composition)
    ]
    total = series_total(parts, composition)
    assert total.epsilon == max(unit.epsilon for unit in units)
    assert total.delta == max(unit.delta for unit in units)


def part(number, name="s-{period}", rule="largest", most=1, definition="d"):
    return SeriesPart(name, "2026-01", 1, number, rule, most, definition)


def charge(epsilon, series, promise=RECORDS, of=None):
    return Charge(Budget(Fraction(epsilon), Fraction(0)), promise, of, series)


def test_equal_charges_of_one_part_count_once_and_are_added_to_all_others():
    charges = [charge(1, part(0)), charge(1, part(0)), charge(2, part(1)), charge("1/2", None)]
    assert population_total(charges).epsilon == Fraction(5, 2)
    others = charge(1, part(0, name="t-{period}"))
    assert population_total([*charges, others]).epsilon == Fraction(7, 2)
    assert population_total([*charges, charge(4, None, of="north")]).epsilon == Fraction(13, 2)
    adding = [charge(1, part(number, rule="sum", most=None)) for number in (0, 0, 1, 2)]
    assert population_total(adding).epsilon == 3


@pytest.mark.parametrize(
    "wrong",
    [
        [charge(1, part(0)), charge(2, part(0))],
        [charge(1, part(0)), charge(1, part(1, most=2))],
        [charge(1, part(0)), charge(1, part(1, rule="sum", most=None))],
        [charge(1, part(0)), charge(1, part(1, definition="other"))],
        [charge(1, part(0), of="north")],
        [charge(1, part(0), promise=Promise("replace-one", None, None))],
    ],
)
def test_what_does_not_come_together_is_never_added_up(wrong):
    with pytest.raises(ValueError, match=r"series|part"):
        population_total(wrong)


def test_a_window_says_what_all_periods_come_to_as_well():
    parts = [charge(1, part(number, rule="window", most=2)) for number in range(5)]
    (account,) = series_accounts(parts)
    assert (account.spent.epsilon, account.for_ever.epsilon) == (2, 5)
    apart = [charge(1, part(number, rule="window", most=2)) for number in (0, 2, 4)]
    assert series_accounts(apart)[0].spent.epsilon == 1


@pytest.mark.parametrize(
    "change",
    [
        {"rule": "any"},
        {"most": None},
        {"most": 0},
        {"rule": "sum"},
        {"part": -1},
        {"part": "0"},
        {"part": True},
        {"name": 1},
        {"more": 1},
    ],
)
def test_a_damaged_part_is_not_read(change):
    assert SeriesPart.from_plain(part(0).to_plain()) == part(0)
    with pytest.raises((ValueError, TypeError)):
        SeriesPart.from_plain(part(0).to_plain() | change)
