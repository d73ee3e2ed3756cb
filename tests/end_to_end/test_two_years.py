"""A few quarters, with kills and a host that goes away: `benchmarks/two_years.py`, small.

The harness requires, after every start: nothing published but what is due, an alert for every
failure and for nothing else, no release and no noise ever another one than before, a valid feed;
and in the end every release verified and the ledger right.
"""

import sys
from datetime import timedelta
from pathlib import Path

import pytest

from tests.command_line import words_of_synth
from tests.engines.conftest import running_server

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from schedule_harness import outcomes
from schedule_harness.growing_table import GrowingTable
from schedule_harness.schedule import Asked, Schedule
from schedule_harness.timer import Timer


@pytest.fixture(scope="module")
def server():
    with running_server() as running:
        if running is None:
            pytest.skip("no PostgreSQL server is installed (no initdb)")
        yield running


# By their seeds both find the host away once and are killed once, early; of four quarters the
# machine is off in one.
@pytest.mark.parametrize(("rows", "quarters", "seed"), [("all", 4, 878), ("new", 3, 304)])
def test_every_quarter_is_published_once_whatever_happens(
    tmp_path, server, monkeypatch, rows, quarters, seed
):
    monkeypatch.setenv("PGUSER", "synth")
    timer = Timer(words_of_synth(), tmp_path, {"PGUSER": "synth", "MPLCONFIGDIR": str(tmp_path)})
    asked = Asked("quarter", quarters, rows, GrowingTable(500, 0.05, seed=3, answers=0))
    schedule = Schedule(asked, tmp_path, server, timer, seed=seed, struck_share=0.8)
    schedule.pass_years()
    found = schedule.require_whole()
    assert found["starts"]["killed"] + found["starts"]["failed, told"] >= 2
    assert found["warnings of the end"] >= 1
    end = asked.due_on(quarters) + timedelta(1)
    assert schedule.status(end).exit_code in (0, 4)
    outcomes.require_covering(outcomes.coverage(schedule))
