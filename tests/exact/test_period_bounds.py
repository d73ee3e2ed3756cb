"""Every history of one person: what is added to all measured tables of a series together.

Histories are all sets of one to three records over four periods and two groups, with repetition.
Each is a person of its own, and what it adds stands in cells that nobody else has, so one count
shows what every one of them changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from numpy.typing import NDArray

from synth.config import load_config
from synth.config.series import PeriodSelection
from synth.config.source_files import source_files
from synth.curator.counting.tabulate import every_cell, tabulate
from tests.selected_slowly import selection_of

PERIODS = ("2026-01", "2026-02", "2026-03", "2026-04")
RECORDS = tuple(product(range(len(PERIODS)), "ab"))
HISTORIES = [
    history
    for size in (1, 2, 3)
    for history in combinations_with_replacement(RECORDS, size)
]  # fmt: skip
DOMAIN = [
    {"name": "history", "type": "categorical", "levels": [f"h{n}" for n in range(len(HISTORIES))],
     "missing": [""], "out_of_domain": "missing", "source": "test"},
    {"name": "group", "type": "categorical", "levels": ["a", "b"], "out_of_domain": "a",
     "source": "test"},
]  # fmt: skip

TREE = ((0,), (1,), (0, 1), (2,), (3,), (2, 3), (0, 1, 2, 3))
"""The nodes of a binary tree over four periods; each is measured when its last one is over."""
COLUMN = (5, 3, 2, 1)
"""Weights by age, as of a matrix factorization: node t counts a record of period j so often."""

Added = NDArray[np.int64]
"""For every history and group, what the history adds to the count."""


@pytest.fixture
def added(project, tmp_path) -> Callable[..., Added]:
    """What a selection counts of every history."""
    written: dict[tuple[int, int], object] = {}

    def count(selection: PeriodSelection, max_records: int, *, until: int = 3) -> Added:
        """`until`: the table of that period, in which no record of a later one is yet."""
        if (max_records, until) not in written:
            rows = [
                f"p{number},{PERIODS[period]}-15,h{number},{group}"
                for number, history in enumerate(HISTORIES)
                for period, group in history
                if period <= until
            ]
            unit = {"unit": {"column": "person", "max_records": max_records}}
            people = "\n".join(["person,visited,history,group", *rows, ""])
            path = project(people=people, domain=DOMAIN, privacy=unit, workload={"marginals": 1})
            (path.parent / f"{max_records}-{until}.csv").write_text(people)
            config = load_config(path)
            source = replace(config.source, path=path.parent / f"{max_records}-{until}.csv")
            written[max_records, until] = replace(config, source=source)
        config = written[max_records, until]
        files = source_files(config.source)
        held = tabulate(config, config.source, files, tmp_path, selection=selection).consume()
        found = every_cell(held, config.universe)
        return found.reshape(config.universe.shape)[: len(HISTORIES)]

    return count


def node(weights: Sequence[tuple[int, int]], **bounds) -> PeriodSelection:
    return selection_of({PERIODS[period]: weight for period, weight in weights}, **bounds)


def weighted_nodes(**bounds) -> Iterator[PeriodSelection]:
    for last in range(len(PERIODS)):
        yield node([(period, COLUMN[last - period]) for period in range(last + 1)], **bounds)


def largest_of_a_level(added, max_records, *, nodes=TREE, **bounds) -> int:
    """What a history adds to all nodes of one level of the tree, in L1 norm, at most."""
    levels: dict[int, Added] = {}
    for periods in nodes:
        selection = node([(period, 1) for period in periods], **bounds)
        levels[len(periods)] = levels.get(len(periods), 0) + added(selection, max_records)
    return max(int(level.sum(axis=1).max()) for level in levels.values())


def test_a_person_adds_no_more_records_than_declared_to_a_level_of_a_tree(added):
    assert largest_of_a_level(added, 2, bounded_from=PERIODS[0]) == 2


def test_a_bound_for_every_node_alone_is_no_bound_of_a_level(added):
    """The same test sees a person who is bounded anew for every node."""
    assert largest_of_a_level(added, 1, nodes=TREE[:2], bounded_from=None) == 2


def test_a_person_moves_all_weighted_nodes_by_no_more_than_declared(added):
    """In squared L2 norm over all nodes and groups: max_records squared times that of a record."""
    moved = sum(
        (added(selection, 2) ** 2).sum(axis=1)
        for selection in weighted_nodes(bounded_from=PERIODS[0])
    )
    assert int(moved.max()) == 2**2 * sum(weight**2 for weight in COLUMN)


def test_what_counts_of_a_period_does_not_depend_on_later_ones(added):
    """A node that is measured early counts the same records as if it were measured at the end."""
    for bounds in ({"bounded_from": PERIODS[0]}, {"max_periods": 1}):
        selection = node([(0, 1), (1, 1)], **bounds)
        assert np.array_equal(added(selection, 1, until=1), added(selection, 1)), bounds


def test_a_person_counts_in_the_first_periods_only(added):
    """Each period is measured once, and a person is in so many of them, whatever his history."""
    most = 2
    tables = [added(node([(period, 1)], max_periods=most), 1) for period in range(len(PERIODS))]
    largest = max(int(table.sum(axis=1).max()) for table in tables)
    assert largest == 1
    counted = sum((table.sum(axis=1) > 0).astype(int) for table in tables)
    firsts = [len({period for period, _ in history}) for history in HISTORIES]
    assert counted.tolist() == [min(most, each) for each in firsts]
    for number, history in enumerate(HISTORIES):
        allowed = sorted({period for period, _ in history})[:most]
        assert [p for p in range(4) if tables[p][number].any()] == allowed


ARRIVALS = tuple(product(range(4), repeat=3))
"""When a person's row of each of three periods arrives: before which measurement; 3 is never."""


def test_rows_that_arrive_late_count_in_no_further_period_if_periods_come_in_order(
    project, tmp_path
):
    """Every history of arrivals; measured in another order, some person is in one period more."""
    levels = [f"h{number}" for number in range(len(ARRIVALS))]
    history = DOMAIN[0] | {"levels": levels}

    def most(order: Sequence[int]) -> int:
        """In how many of the measured periods a person is counted at most."""
        times = np.zeros(len(ARRIVALS), dtype=int)
        for place, measured in enumerate(order):
            rows = [
                f"p{number},{PERIODS[period]}-15,h{number}"
                for number, arrivals in enumerate(ARRIVALS)
                for period, arrival in enumerate(arrivals)
                if arrival <= place
            ]
            people = "\n".join(["person,visited,history", *rows, ""])
            unit = {"unit": {"column": "person", "max_records": 1}}
            written = project(
                people=people, domain=[history], privacy=unit, workload={"marginals": 1}
            )
            config = load_config(written)
            selection = node([(measured, 1)], max_periods=1)
            files = source_files(config.source)
            held = tabulate(config, config.source, files, tmp_path, selection=selection)
            found = every_cell(held.consume(), config.universe)
            times += (found[: len(ARRIVALS)] > 0).astype(int)
        return int(times.max())

    assert most((0, 1, 2)) == 1
    assert most((1, 2, 0)) == 2


def test_a_record_is_in_one_node_of_a_level_and_weighs_what_it_should(added):
    """Without a bound that is reached, every record is counted, by its weight."""
    for last, selection in list(enumerate(weighted_nodes(bounded_from=PERIODS[0])))[2:]:
        found = added(selection, 3)
        for number, history in enumerate(HISTORIES):
            for place, group in enumerate("ab"):
                weights = [COLUMN[last - p] for p, g in history if g == group and p <= last]
                assert found[number, place] == sum(weights)
