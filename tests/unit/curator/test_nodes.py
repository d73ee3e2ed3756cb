"""Sums of periods are counted by their weights, and each has noise of its own."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from synth import curator
from synth.config import load_config
from synth.config.source_files import source_files
from synth.noise import NoiseStream, TableSampler, noise_law
from synth.planning import plan_events
from synth.privacy.accounting import GAUSSIAN
from synth.privacy.continual import Toeplitz, Tree

KEY = bytes(range(32))
RECORDS = {"2026-01": 3, "2026-02": 5, "2026-03": 7, "2026-04": 11, "2026-05": 1000}
"""How many there are in every month; of the person `p` one in each."""


def visits():
    lines = ["visited,id,age,sex,town"]
    for month, records in RECORDS.items():
        persons = ["p", *(f"{month}-{n}" for n in range(1, records))]
        lines += [f"{month}-07,{person},34,Male,Nord" for person in persons]
    return "\n".join(lines) + "\n"


def counted(path, tmp_path, factorization, period, charged):
    """The true counts of every node of a period, all records being in one cell; and its noise."""
    config = load_config(path, period=f"2026-{period:02}")
    nodes = factorization.nodes_at(period)
    events = [factorization.node_event(charged(event)) for event in plan_events(config)]
    measured = curator.measure_nodes(
        config,
        config.source,
        [config.selection(node.weights) for node in nodes],
        events,
        files=source_files(config.source),
        stream=NoiseStream(key=KEY),
        directory=tmp_path,
    )
    found = []
    for number, tables in enumerate(measured):
        for place, table in enumerate(tables):
            assert table.event == events[place]
            noise = TableSampler(noise_law(table.event)).draw(
                NoiseStream(key=KEY),
                table=number * len(events) + place,
                start=0,
                count=table.event.cells,
            )
            found.append(int((table.noisy_counts - noise).sum()))
            assert np.count_nonzero(table.noisy_counts - noise) == 1
    return found


@pytest.fixture
def series(project):
    def write(**changes):
        return project(
            people=visits(),
            release={"id": "visits-{period}"},
            source={"where": {"column": "visited", "within": "period"}},
            series={"every": "month", "first": "2026-01", "rows": "all", "horizon": 4},
            strategy="identity",
            **changes,
        )

    return write


def same(event):
    return event


def as_gaussian(event):
    return replace(
        event,
        epsilon=None,
        mechanism=GAUSSIAN,
        rho=Fraction(1, 2),
        sensitivity_l2_squared=event.sensitivity_l1**2,
    )


def test_every_node_of_a_tree_holds_its_periods(series, tmp_path):
    path = series()
    assert counted(path, tmp_path, Tree(4, 2), 3, same) == [7]
    assert counted(path, tmp_path, Tree(4, 2), 4, same) == [11, 18, 26]


def test_a_weighted_sum_counts_records_by_their_age(series, tmp_path):
    root = Toeplitz(4, 8)
    assert root.ages == (8, 4, 3, 2)
    assert counted(series(), tmp_path, root, 3, as_gaussian) == [8 * 7 + 4 * 5 + 3 * 3]


def test_of_a_person_the_first_records_of_the_horizon_count_in_every_node(series, tmp_path):
    """`p` has a record in every month, of which the first two count."""
    path = series(privacy={"unit": {"column": "id", "max_records": 2}})
    assert counted(path, tmp_path, Tree(4, 2), 4, same) == [10, 16, 24]
