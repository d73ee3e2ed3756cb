"""The limits of epsilon: they follow the sensitivity, and hold for every way to name a budget."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from synth.config.limits import (
    MAX_EPSILON_PER_RECORD,
    MIN_EPSILON_PER_RECORD,
    epsilon_problem,
    records_changed,
)
from synth.config.types import PersonUnit, PrivacyConfig
from synth.noise import DiscreteLaplace
from synth.privacy.sensitivity import UNITS_CHANGED, sensitivity_l1


@pytest.mark.parametrize(("neighbours", "records"), list(product(UNITS_CHANGED, [1, 2, 1000])))
def test_the_records_counted_are_the_sensitivity(neighbours: str, records: int) -> None:
    privacy = PrivacyConfig(Fraction(1), Fraction(0), neighbours, PersonUnit("p", records), "")
    assert records_changed(neighbours, records) == sensitivity_l1(privacy)


def test_one_record_is_the_unit_of_one_record() -> None:
    privacy = PrivacyConfig(Fraction(1), Fraction(0), "add-remove", "record", "")
    assert records_changed("add-remove", 1) == sensitivity_l1(privacy)


@pytest.mark.parametrize("records", [1, 7])
def test_the_limits_themselves_are_allowed_and_nothing_beyond(records: int) -> None:
    def problem(epsilon: Fraction) -> object:
        return epsilon_problem(epsilon, neighbours="add-remove", max_records=records)

    step = Fraction(1, 10**9)
    for limit, beyond in ((MIN_EPSILON_PER_RECORD, -step), (MAX_EPSILON_PER_RECORD, step)):
        assert problem(limit * records) is None
        assert problem(limit * records + beyond) is not None


def test_the_limits_mean_what_they_say() -> None:
    assert 1 / MIN_EPSILON_PER_RECORD == 10_000
    largest = DiscreteLaplace(MAX_EPSILON_PER_RECORD, 1)
    assert 0 < largest.variance < 1e-21
    assert largest.half_width(1 - Fraction(1, 10**21)) == 0
