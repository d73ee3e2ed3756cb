"""Of releases of all records so far: tables of everything, and of the last period alone."""

from fractions import Fraction

import numpy as np
import pytest

from synth.catalogue.tables import _increment, tables_of
from synth.privacy import TableEvent
from synth.privacy.accounting import GAUSSIAN
from tests.unit.release.conftest import measured_in

SERIES = {
    "release": {"id": "visits-{period}"},
    "source": {"where": {"column": "visited", "within": "period"}},
    "series": {"every": "month", "first": "2026-01", "rows": "all", "horizon": 4},
}


@pytest.fixture(scope="module")
def third(tmp_path_factory):
    return measured_in(tmp_path_factory.mktemp("third"), period="2026-03", **SERIES)


def test_counts_so_far_are_those_of_the_tables_and_new_ones_those_of_the_last_node(third):
    so_far = tables_of(third.measurements, third.config)
    alone = _increment(third.measurements)
    new = tables_of(alone, third.config)
    (table,) = third.measurements.tables
    (last,) = (node for node in third.measurements.continual.nodes if node.index == 3)
    assert so_far["records"]["estimates"] == [table.noisy_counts.sum()]
    assert new["records"]["estimates"] == [last.tables[0].noisy_counts.sum()]
    assert [each["column"] for each in new["tables"]] == ["age", "sex", "town"]
    ages = last.tables[0].noisy_counts.reshape(5, 3, 3).sum(axis=(1, 2))
    assert new["tables"][0]["estimates"] == ages.tolist()


def test_intervals_of_one_period_are_shorter_than_those_of_all(third):
    so_far = tables_of(third.measurements, third.config)["records"]
    new = tables_of(_increment(third.measurements), third.config)["records"]
    length = [each["highs"][0] - each["lows"][0] for each in (so_far, new)]
    assert np.sqrt(3) * length[1] == pytest.approx(length[0], rel=0.05)


def test_where_only_weighted_sums_of_periods_are_measured_there_is_no_last_one(tmp_path):
    event = TableEvent(
        ("age", "sex", "town"),
        45,
        1,
        mechanism=GAUSSIAN,
        coarsening=(0, 0, 0),
        rho=Fraction(1, 8),
        sensitivity_l2_squared=1,
    )
    gaussian = {"privacy": {"delta": "1e-9"}, "ledger": {"delta_cap": "1e-6"}}
    made = measured_in(tmp_path, events=(event,), period="2026-03", **{**SERIES, **gaussian})
    assert made.measurements.continual.plan.factorization.to_plain()["kind"] == "toeplitz"
    assert _increment(made.measurements) is None
    assert "records" in tables_of(made.measurements, made.config)


def test_a_release_by_itself_has_no_last_period(tmp_path):
    assert _increment(measured_in(tmp_path).measurements) is None
