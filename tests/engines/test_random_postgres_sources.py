"""Some random tables and their neighbours; `benchmarks/random_sources/run.py` tries more."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from random_sources.postgres import prepared, tried

SEEDS = {
    9: "refused",  # a foreign partition
    12: "refused",  # a policy that is a query
    24: "refused",  # a foreign partition with a cast
    2: "counted",  # a policy that does not apply to a superuser
    5: "counted",  # a foreign child, with a reason
}


@pytest.fixture
def loop(server):
    with prepared(server):
        yield server


@pytest.mark.parametrize("seed", SEEDS)
def test_a_unit_more_moves_the_counts_by_no_more_than_stated(loop, tmp_path, seed):
    outcome = tried(loop, seed, tmp_path)
    assert outcome.problem is None, outcome
    assert outcome.end == SEEDS[seed]
    assert outcome.change_l1 <= outcome.sensitivity_l1
