"""What a verifier recounts of noisy tables that are added up over periods."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from synth.config import load_config
from synth.measurements import Continual, ContinualPlan, MeasuredNode, MeasuredTable, Measurements
from synth.noise import noise_variance
from synth.privacy import TableEvent
from synth.privacy.accounting import GAUSSIAN
from synth.privacy.continual import Toeplitz, Tree
from synth.release.verification.measurements_check import continual_findings

HORIZON = 3
"""Of which two periods are in two nodes of a binary tree, and one in one."""
LAPLACE_EVENT = TableEvent(("sex",), 3, 1, Fraction(1))
GAUSSIAN_EVENT = TableEvent(
    ("sex",), 3, 1, mechanism=GAUSSIAN, rho=Fraction(1, 2), sensitivity_l2_squared=1
)


@pytest.fixture
def configured(project):
    def load(period="2026-03", rows="all"):
        path = project(
            release={"id": "visits-{period}"},
            source={"where": {"column": "visited", "within": "period"}},
            series={"every": "month", "first": "2026-01", "rows": rows, "horizon": HORIZON},
        )
        return load_config(path, period=period)

    return load


class CheapTree(Tree):
    """Every node has more than its share of the budget."""

    def node_event(self, event):
        return replace(event, epsilon=event.epsilon * 2 / (self.levels + 1))


class CheapRoot(Toeplitz):
    """The weights are taken for their squares."""

    def node_event(self, event):
        return replace(event, sensitivity_l2_squared=sum(self.ages))


class DoubledTree(Tree):
    """The last node is counted twice."""

    def weights_at(self, period):
        *others, (number, weight) = super().weights_at(period)
        return (*others, (number, 2 * weight))


def measured(config, factorization, event, *, index=3, counted_hash=None):
    plan = ContinualPlan((event,), factorization, counted_hash or config.counted_hash)
    (noisy,) = plan.node_events
    nodes = tuple(
        MeasuredNode(
            at, node, (MeasuredTable(noisy, np.zeros(3, dtype=np.int64), noise_variance(noisy)),)
        )
        for at, node in plan.places(index)
    )
    return Measurements.of_nodes(config.release.id, config.hash, Continual(plan, index, nodes))


@pytest.mark.parametrize(
    ("factorization", "event"),
    [
        (Tree(HORIZON, 2), LAPLACE_EVENT),
        (Tree(HORIZON, 4), LAPLACE_EVENT),
        (Tree(HORIZON, 2), GAUSSIAN_EVENT),
        (Toeplitz(HORIZON, 8), GAUSSIAN_EVENT),
    ],
    ids=str,
)
def test_nodes_as_they_are_planned_pass(configured, factorization, event):
    config = configured()
    assert list(continual_findings(config, measured(config, factorization, event))) == []


@pytest.mark.parametrize(
    ("factorization", "event", "found"),
    [
        (CheapTree(HORIZON, 2), LAPLACE_EVENT, "cost a unit more than the table is charged"),
        (CheapRoot(HORIZON, 8), GAUSSIAN_EVENT, "cost a unit more than the table is charged"),
        (DoubledTree(HORIZON, 2), LAPLACE_EVENT, "do not count every period once"),
        (Tree(HORIZON + 1, 2), LAPLACE_EVENT, "over another horizon"),
    ],
)
def test_nodes_that_cost_more_or_are_summed_wrongly_are_found(
    configured, factorization, event, found
):
    config = configured()
    findings = list(continual_findings(config, measured(config, factorization, event)))
    assert found in "; ".join(findings)


def test_another_period_or_other_counts_are_found(configured):
    config = configured()
    tree = Tree(HORIZON, 2)
    (finding,) = continual_findings(config, measured(config, tree, LAPLACE_EVENT, index=2))
    assert "nodes of 2 periods" in finding
    other = measured(config, tree, LAPLACE_EVENT, counted_hash="0" * 64)
    assert list(continual_findings(config, other)) == [
        "adds up counts that the configuration decided otherwise"
    ]


def test_variances_that_are_not_those_of_the_nodes_are_found(configured):
    config = configured()
    found = measured(config, Tree(HORIZON, 2), LAPLACE_EVENT)
    (table,) = found.tables
    wrong = replace(found, tables=(replace(table, variance=table.variance / 2),))
    assert list(continual_findings(config, wrong)) == [
        "table 0: its noise is not that of its nodes"
    ]


def test_nodes_where_none_are_asked_for_are_found_and_missed_where_they_are(configured):
    config = configured()
    found = measured(config, Tree(HORIZON, 2), LAPLACE_EVENT)
    plain = replace(found, continual=None)
    assert list(continual_findings(config, plain)) == ["adds up no periods"]
    new = configured(rows="new")
    assert list(continual_findings(new, found)) == ["adds up periods, and the series does not"]
    assert list(continual_findings(new, plain)) == []
