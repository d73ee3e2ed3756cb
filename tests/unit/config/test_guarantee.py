"""The limits of epsilon: they follow the sensitivity, and hold for every way to name a budget."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from synth.config import PersonUnit, PrivacyConfig
from synth.config.guarantee import (
    MAX_EPSILON_PER_RECORD,
    MIN_EPSILON_PER_RECORD,
    UNITS_CHANGED,
    Neighbours,
    epsilon_problem,
)
from synth.noise import DiscreteLaplace
from synth.privacy.sensitivity import sensitivity_l1


@pytest.mark.parametrize(("neighbours", "records"), list(product(UNITS_CHANGED, [1, 7, 1000])))
def test_the_limits_follow_the_sensitivity_and_nothing_beyond_is_allowed(
    neighbours: Neighbours, records: int
) -> None:
    def problem(epsilon: Fraction) -> object:
        return epsilon_problem(epsilon, neighbours=neighbours, max_records=records)

    privacy = PrivacyConfig(
        epsilon=Fraction(1),
        neighbours=neighbours,
        unit=PersonUnit("p", records),
        justification="",
    )
    step = Fraction(1, 10**9)
    for limit, beyond in ((MIN_EPSILON_PER_RECORD, -step), (MAX_EPSILON_PER_RECORD, step)):
        assert problem(limit * sensitivity_l1(privacy)) is None
        assert problem(limit * sensitivity_l1(privacy) + beyond) is not None


def test_the_limits_mean_what_they_say() -> None:
    assert 1 / MIN_EPSILON_PER_RECORD == 10_000
    largest = DiscreteLaplace(MAX_EPSILON_PER_RECORD, 1)
    assert 0 < largest.variance < 1e-21
    assert largest.half_width(1 - Fraction(1, 10**21)) == 0
