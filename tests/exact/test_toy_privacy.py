"""Exact privacy on toy universes: every table, every neighbour, every output, in fractions."""

import itertools
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

from synth.config import PersonUnit, PrivacyConfig
from synth.noise import DiscreteLaplace
from synth.privacy import sensitivity_l1

MOST = 3
OUTPUTS = range(-4, MOST + 5)
"""Beyond the counts by four: there the ratio of two probabilities no longer changes."""


def largest_ratio_allowed(epsilon: Fraction) -> Fraction:
    """exp(epsilon), rounded down by more than the error of 200 correct digits."""
    with localcontext() as context:
        context.prec = 200
        exact = Fraction((Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp())
    return exact * (1 - Fraction(1, 10**180))


def tables(cells: int):
    return list(itertools.product(range(MOST + 1), repeat=cells))


def additions(cells: int, records: int):
    """What one unit with 1 to `records` records may add to a table."""
    every = itertools.product(range(records + 1), repeat=cells)
    return [added for added in every if 1 <= sum(added) <= records]


def neighbours(table, privacy):
    """All tables that differ from `table` by one unit, by the definition of the relation."""
    records = privacy.unit.max_records if isinstance(privacy.unit, PersonUnit) else 1
    one_unit = additions(len(table), records)
    larger = {tuple(map(sum, zip(table, added, strict=True))) for added in one_unit}
    smaller = {tuple(a - b for a, b in zip(table, removed, strict=True)) for removed in one_unit}
    smaller = {t for t in smaller if min(t) >= 0}
    if privacy.neighbours == "add-remove":
        found = larger | smaller
    else:
        found = {tuple(map(sum, zip(t, added, strict=True))) for t in smaller for added in one_unit}
    return {t for t in found if max(t) <= MOST and t != table}


def output_pmf(law, table, output) -> Fraction:
    """P(noisy table = output): independent noise on every cell."""
    mass = Fraction(1)
    for count, noisy in zip(table, output, strict=True):
        mass *= law.pmf(noisy - count)
    return mass


def mechanism(privacy) -> DiscreteLaplace:
    """The noise that the product would add under this privacy claim."""
    return DiscreteLaplace(privacy.epsilon, sensitivity_l1(privacy))


CLAIMS = [
    PrivacyConfig(
        epsilon=Fraction(epsilon),
        delta=Fraction(0),
        neighbours=relation,
        unit=unit,
        justification="a test",
    )
    for epsilon in ("0.1", "1", "10")
    for relation in ("add-remove", "replace-one")
    for unit in ("record", PersonUnit("person", 2))
]


def claim_name(claim) -> str:
    unit = "record" if claim.unit == "record" else "person"
    return f"{claim.epsilon}-{claim.neighbours}-{unit}"


@pytest.mark.parametrize("claim", CLAIMS, ids=claim_name)
def test_every_output_of_every_neighbouring_pair_of_one_or_two_cells(claim):
    law = mechanism(claim)
    allowed = largest_ratio_allowed(claim.epsilon)
    largest = Fraction(0)
    for cells in (1, 2):
        outputs = list(itertools.product(OUTPUTS, repeat=cells))
        pmf = {t: [output_pmf(law, t, output) for output in outputs] for t in tables(cells)}
        for table in tables(cells):
            for other in neighbours(table, claim):
                largest = max(
                    largest, *(p / q for p, q in zip(pmf[table], pmf[other], strict=True))
                )
    assert largest <= allowed, "more is lost than claimed"
    assert largest >= allowed * (1 - Fraction(1, 2**50)), "the claim is met exactly, not by far"


@pytest.mark.parametrize("claim", CLAIMS, ids=claim_name)
@pytest.mark.parametrize("cells", [3, 4])
def test_every_neighbouring_pair_of_three_or_four_cells(claim, cells):
    """Cells are independent: the largest ratio is the product of the cells' largest ratios."""
    law = mechanism(claim)
    allowed = largest_ratio_allowed(claim.epsilon)
    ratio = {
        (a, b): max(law.pmf(o - a) / law.pmf(o - b) for o in OUTPUTS)
        for a in range(MOST + 1)
        for b in range(MOST + 1)
    }
    assert all(ratio[a, a] == 1 for a in range(MOST + 1))
    worst = Fraction(0)
    for table in tables(cells):
        for other in neighbours(table, claim):
            product = Fraction(1)
            for a, b in zip(table, other, strict=True):
                product *= ratio[a, b]
            worst = max(worst, product)
    assert allowed * (1 - Fraction(1, 2**50)) <= worst <= allowed


@pytest.mark.parametrize("claim", CLAIMS, ids=claim_name)
def test_the_ratio_of_any_output_at_all_is_a_power_of_alpha(claim):
    """|o - a| - |o - b| lies between -|a - b| and |a - b| for every o, so no output is worse."""
    law = mechanism(claim)
    for a, b in itertools.product(range(MOST + 1), repeat=2):
        for output in (-100, -5, *OUTPUTS, 9, 100):
            exponent = abs(output - a) - abs(output - b)
            assert law.pmf(output - a) == law.pmf(output - b) * law.alpha**exponent
            assert abs(exponent) <= abs(a - b)


def test_neighbours_are_what_the_words_say():
    record = PrivacyConfig(
        epsilon=Fraction(1),
        delta=Fraction(0),
        neighbours="add-remove",
        unit="record",
        justification="",
    )
    replace = PrivacyConfig(
        epsilon=Fraction(1),
        delta=Fraction(0),
        neighbours="replace-one",
        unit="record",
        justification="",
    )
    assert neighbours((1, 0), record) == {(0, 0), (2, 0), (1, 1)}
    assert neighbours((1, 0), replace) == {(0, 1)}
    assert neighbours((1, 1), replace) == {(0, 2), (2, 0)}
