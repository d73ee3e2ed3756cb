"""The sensitivity of a table of counts: one decision, every combination."""

import itertools
from fractions import Fraction
from types import SimpleNamespace

import pytest

from synth.config import PersonUnit, PrivacyConfig
from synth.privacy import sensitivity_l1, sensitivity_l2_squared


def privacy(neighbours, unit):
    return PrivacyConfig(
        epsilon=Fraction(1),
        delta=Fraction(0),
        neighbours=neighbours,
        unit=unit,
        justification="a test",
    )


@pytest.mark.parametrize(
    ("neighbours", "unit", "expected", "squared"),
    [
        ("add-remove", "record", 1, 1),
        ("replace-one", "record", 2, 2),
        ("add-remove", PersonUnit("person", 4), 4, 16),
        ("replace-one", PersonUnit("person", 4), 8, 32),
    ],
)
def test_sensitivity_of_every_combination(neighbours, unit, expected, squared):
    assert sensitivity_l1(privacy(neighbours, unit)) == expected
    assert sensitivity_l2_squared(privacy(neighbours, unit)) == squared


def tables_of_one_unit(max_records, cells):
    """Every table that one unit with at most `max_records` records can make."""
    counts = itertools.product(range(max_records + 1), repeat=cells)
    return [table for table in counts if sum(table) <= max_records]


@pytest.mark.parametrize("max_records", [1, 2, 3])
def test_sensitivity_is_the_largest_distance_of_neighbours(max_records):
    """By enumeration: what a unit adds to a table of 3 cells, against nothing or another unit."""
    unit = "record" if max_records == 1 else PersonUnit("person", max_records)
    of_one = tables_of_one_unit(max_records, 3)
    added = max(sum(table) for table in of_one)
    replaced = max(
        sum(abs(a - b) for a, b in zip(before, after, strict=True))
        for before in of_one
        for after in of_one
    )
    assert sensitivity_l1(privacy("add-remove", unit)) == added
    assert sensitivity_l1(privacy("replace-one", unit)) == replaced
    added = max(sum(a * a for a in table) for table in of_one)
    replaced = max(
        sum((a - b) ** 2 for a, b in zip(before, after, strict=True))
        for before in of_one
        for after in of_one
    )
    assert sensitivity_l2_squared(privacy("add-remove", unit)) == added
    assert sensitivity_l2_squared(privacy("replace-one", unit)) == replaced


@pytest.mark.parametrize(
    ("neighbours", "unit"),
    [
        ("swap", "record"),
        ("", "record"),
        (None, "record"),
        ("add-remove", "household"),
        ("add-remove", None),
        ("add-remove", PersonUnit("person", 0)),
        ("add-remove", PersonUnit("person", -1)),
        ("add-remove", PersonUnit("person", True)),
    ],
)
def test_what_is_unknown_is_refused(neighbours, unit):
    for sensitivity in (sensitivity_l1, sensitivity_l2_squared):
        with pytest.raises(ValueError, match="no sensitivity is known"):
            sensitivity(SimpleNamespace(neighbours=neighbours, unit=unit))
