"""Continual counting on toy streams: what all nodes together tell of one record, or one person.

Streams are counted here by the definition of a node, period by period; the laws of the noise are
those that a run draws from. Ratios of probabilities are exact fractions.
"""

import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from synth.noise import noise_law
from synth.privacy import TableEvent, rho_to_epsilon, total_budget
from synth.privacy.accounting import GAUSSIAN, LAPLACE
from synth.privacy.continual import (
    Factorization,
    Toeplitz,
    Tree,
    choose_factorization,
    factorization_of,
    rounded_scale,
)

HORIZONS = (1, 2, 3, 4)
EPSILON, RHO = Fraction(1, 2), Fraction(1, 8)


def laplace(most=1):
    return TableEvent(("a",), 2, most, EPSILON)


def gaussian(most=1):
    return TableEvent(("a",), 2, most, mechanism=GAUSSIAN, rho=RHO, sensitivity_l2_squared=most**2)


def trees(horizon):
    return [Tree(horizon, arity) for arity in range(2, horizon + 2)]


def factorizations():
    found = []
    for horizon in HORIZONS:
        found += [(each, laplace) for each in trees(horizon)]
        found += [(each, gaussian) for each in trees(horizon)]
        found += [(Toeplitz(horizon, scale), gaussian) for scale in (1, 8)]
    return [pytest.param(*each, id=f"{each[0].to_plain()} {each[1].__name__}") for each in found]


every = pytest.mark.parametrize(("factorization", "charged"), factorizations())


def node_counts(factorization, records, most=None):
    """What every node counts, per cell, of records (period, first node time, cells by time).

    With `most`, the records are one person's: of those that are there, the first so many by period.
    """
    for node in factorization.nodes_until(factorization.horizon):
        there = [each for each in records if each[1] <= node.period >= each[0]]
        there = sorted(there, key=lambda each: each[0])[:most]
        counts = [0, 0]
        for period, _, cells in there:
            counts[cells[node.period - 1]] += dict(node.weights).get(period, 0)
        yield counts


def loss(factorization, event, changed):
    """The epsilon or rho by which outputs differ if node counts differ by that, exactly."""
    node = factorization.node_event(event)
    law = noise_law(node)
    if event.mechanism == LAPLACE:
        ratio = Fraction(1)
        for by in itertools.chain.from_iterable(changed):
            ratio *= max(law.pmf(x) / law.pmf(x - by) for x in (-1, 0, by, by + 1))
        return math.log(ratio.numerator) - math.log(ratio.denominator)
    squared = sum(by**2 for by in itertools.chain.from_iterable(changed))
    return squared / (2 * law.sigma_squared)


@every
def test_no_record_loses_more_than_its_table_is_charged(factorization, charged):
    """Whatever its period, whenever it came, and whatever its values were at each node."""
    event, horizon = charged(), factorization.horizon
    losses = [
        loss(factorization, event, list(node_counts(factorization, [(period, came, cells)])))
        for period in range(1, horizon + 1)
        for came in range(period, horizon + 1)
        for cells in itertools.product((0, 1), repeat=horizon)
    ]
    if event.mechanism == GAUSSIAN:
        assert max(losses) <= RHO
    else:
        assert max(losses) == pytest.approx(float(EPSILON), rel=1e-12) or max(losses) < EPSILON
    if isinstance(factorization, Toeplitz) or factorization.levels == 1:
        assert max(losses) == pytest.approx(float(event.rho or event.epsilon), rel=1e-12)


def people(horizon, records):
    """All sets of so many records that a person may add, one after another, all in one cell."""
    one = [
        (p, came, (0,) * horizon) for p in range(1, horizon + 1) for came in range(p, horizon + 1)
    ]
    return itertools.combinations_with_replacement(one, records)


@every
def test_no_person_who_adds_records_loses_more(factorization, charged):
    if factorization.horizon > 3:
        pytest.skip("three periods show it")
    event = charged(most=2)
    worst = max(
        loss(factorization, event, list(node_counts(factorization, records, most=2)))
        for records in people(factorization.horizon, 3)
    )
    exact = float(event.rho or event.epsilon)
    assert worst <= exact * (1 + 1e-12)


def test_a_deleted_row_makes_room_for_another():
    """Why the requirement for persons says that no row is deleted."""
    tree = Tree(2, 3)
    event = laplace()
    first, second = [[1, 0], [0, 0]], [[0, 0], [1, 0]]  # his only record of each period counts
    both = [[a + b for a, b in zip(*each, strict=True)] for each in zip(first, second, strict=True)]
    assert loss(tree, event, both) == pytest.approx(2 * float(EPSILON))


@every
def test_the_nodes_of_one_record_compose_to_the_charge(factorization, charged):
    """The ordinary accounting says so too, where every node is a table of its own."""
    if isinstance(factorization, Toeplitz):
        return
    event = charged()
    each = [factorization.node_event(event)] * factorization.levels
    delta = Fraction(1, 10**6)
    assert total_budget(each, delta=delta) == total_budget([event], delta=delta)


@pytest.mark.parametrize("factorization", {case.values[0] for case in factorizations()}, ids=str)
def test_the_cumulative_count_is_that_of_all_periods_so_far(factorization):
    rng = np.random.default_rng(1)
    increments = rng.integers(0, 1000, (factorization.horizon, 5))
    nodes = [
        sum(weight * increments[period - 1] for period, weight in node.weights)
        for node in factorization.nodes_until(factorization.horizon)
    ]
    for period in range(1, factorization.horizon + 1):
        so_far = nodes[: len(factorization.nodes_until(period))]
        expected = increments[:period].sum(axis=0)
        assert (factorization.combine(so_far, period) == expected).all()
        again = factorization.combine([*(2 * node for node in nodes), *so_far], period)
        assert (again == 2 * increments.sum(axis=0) + expected).all()
        with pytest.raises(ValueError, match="whole horizons"):
            factorization.combine(so_far[:-1], period)


@cache
def pmf(event):
    law = noise_law(event)
    reach = 12 * math.ceil(math.sqrt(law.variance)) + 3
    values = np.arange(-reach, reach + 1)
    if event.mechanism == LAPLACE:
        chances = np.array([float(law.pmf(int(value))) for value in values])
    else:
        chances = np.exp(-(values**2) / (2 * float(law.sigma_squared)))
    return values, chances / chances.sum()


def law_of_sum(factorization, event, period):
    """Every outcome of all noises, enumerated: the law of the noise of the cumulative count."""
    node = factorization.node_event(event)
    values, chances = pmf(node)
    sums, law = np.zeros(1), np.ones(1)
    for _, weight in factorization.weights_at(period):
        sums = (sums[:, None] + float(weight) * values).ravel()
        law = (law[:, None] * chances).ravel()
        if all(each == 1 for _, each in factorization.weights_at(period)):
            found, places = np.unique(sums, return_inverse=True)
            law, sums = np.bincount(places, weights=law), found
    whole = np.rint(sums).astype(int)
    return np.bincount(whole - whole.min(), weights=law), whole.min()


@pytest.mark.parametrize("scale", [1, 8])
@pytest.mark.parametrize("rho", [Fraction(1, 50), Fraction(1, 2), Fraction(2)])
@pytest.mark.parametrize("period", [1, 2])
def test_the_law_of_a_weighted_sum_is_as_good_as_the_one_that_is_stated(scale, rho, period):
    event = TableEvent(("a",), 2, 1, mechanism=GAUSSIAN, rho=rho, sensitivity_l2_squared=1)
    root = Toeplitz(2, scale)
    chances, lowest = law_of_sum(root, event, period)
    values = np.arange(lowest, lowest + len(chances))
    variance = float(chances @ values**2) - float(chances @ values) ** 2
    stated = root.cumulative_event(event, period)
    width = noise_law(stated).half_width(Fraction(19, 20))
    missed = float(chances[np.abs(values) > width].sum())
    assert variance <= float(stated.sigma_squared) * (1 + 1e-3)
    assert missed <= 0.05 + 0.005
    if scale == 8:
        normal = np.exp(-(values**2) / (2 * float(stated.sigma_squared)))
        apart = np.abs(np.cumsum(chances) - np.cumsum(normal / normal.sum())).max()
        assert apart < (0.005 if stated.sigma_squared > 4 else 0.04)


def test_three_weighted_noises_are_the_stated_law():
    event = TableEvent(("a",), 2, 1, mechanism=GAUSSIAN, rho=RHO, sensitivity_l2_squared=1)
    root = Toeplitz(3, 2)
    chances, lowest = law_of_sum(root, event, 3)
    values = np.arange(lowest, lowest + len(chances))
    stated = root.cumulative_event(event, 3)
    normal = np.exp(-(values**2) / (2 * float(stated.sigma_squared)))
    assert float(chances @ values**2) == pytest.approx(float(stated.sigma_squared), rel=1e-3)
    assert np.abs(np.cumsum(chances) - np.cumsum(normal / normal.sum())).max() < 1e-2


@pytest.mark.parametrize("mechanism", [LAPLACE, GAUSSIAN])
@pytest.mark.parametrize("horizon", [1, 2, 3, 7, 12, 24, 60])
def test_the_chosen_factorization_has_the_least_mean_variance(mechanism, horizon):
    candidates: list[Factorization] = list(trees(horizon))
    if mechanism == GAUSSIAN:
        candidates.append(Toeplitz(horizon, rounded_scale(horizon)))
    best = min(each.mean_variance(mechanism) for each in candidates)
    chosen = choose_factorization(mechanism, horizon)
    assert chosen.mean_variance(mechanism) == best
    assert Factorization.from_plain(chosen.to_plain()) == chosen


@pytest.mark.parametrize(
    ("mechanism", "horizon", "mean", "end"),
    [
        (LAPLACE, 24, 5.0, 6.93),
        (LAPLACE, 365, 12.03, 13.56),
        (GAUSSIAN, 24, 1.93, 2.10),
        (GAUSSIAN, 365, 2.79, 2.97),
    ],
)
def test_errors_of_usual_horizons(mechanism, horizon, mean, end):
    """In standard deviations: noise of scale 1, or sigma 1, were the charge of one table."""
    chosen, one = choose_factorization(mechanism, horizon), 2 if mechanism == LAPLACE else 1
    assert math.sqrt(one * chosen.mean_variance(mechanism)) == pytest.approx(mean, abs=0.005)
    assert math.sqrt(one * chosen.variance(horizon, mechanism)) == pytest.approx(end, abs=0.005)


@pytest.mark.parametrize("horizon", [1, 2, 3, 12, 24, 365, 1000])
def test_rounded_weights_cost_less_than_half_a_percent(horizon):
    root = Toeplitz(horizon, rounded_scale(horizon))
    exact = np.ones(horizon)
    for k in range(1, horizon):
        exact[k] = exact[k - 1] * (2 * k - 1) / (2 * k)
    least = np.cumsum(exact**2) * (exact**2).sum()
    assert float(root.mean_variance(GAUSSIAN)) <= 1.005 * least.mean()
    assert list(root.ages) == sorted(root.ages, reverse=True)


def test_a_tree_of_a_horizon_of_nine():
    tree = Tree(9, 2)
    assert (tree.levels, Tree(8, 2).levels, Tree(9, 3).levels, Tree(9, 10).levels) == (4, 4, 3, 1)
    assert [len(tree.nodes_at(period)) for period in range(1, 10)] == [1, 2, 1, 3, 1, 2, 1, 4, 1]
    assert [tree.summed_nodes(period) for period in range(1, 10)] == [1, 1, 2, 1, 2, 2, 3, 1, 2]
    assert tree.node_event(laplace()).epsilon == EPSILON / 4
    assert tree.cumulative_event(laplace(), 7, finished_cycles=2).summed == 2 * 2 + 3


def test_tables_of_both_mechanisms_are_added_up_by_a_tree():
    chosen = factorization_of([laplace(), gaussian()], 24)
    assert isinstance(chosen, Tree)
    assert isinstance(factorization_of([gaussian()], 24), Toeplitz)


def test_a_sum_of_tables_is_no_charge():
    event = Tree(4, 2).cumulative_event(laplace(), 3)
    assert TableEvent.from_plain(event.to_plain()) == event
    with pytest.raises(ValueError, match="no charge"):
        total_budget([event], delta=Fraction(0))


@pytest.mark.parametrize(
    "plain",
    [
        {"kind": "tree", "horizon": 24, "arity": 26},
        {"kind": "tree", "horizon": 24, "arity": 1},
        {"kind": "tree", "horizon": 0, "arity": 2},
        {"kind": "tree", "horizon": 1001, "arity": 2},
        {"kind": "tree", "horizon": 24, "arity": 2, "scale": 3},
        {"kind": "tree", "horizon": True, "arity": 2},
        {"kind": "toeplitz", "horizon": 24, "scale": 0},
        {"kind": "wavelet", "horizon": 24},
        [],
    ],
)
def test_damaged_factorizations_are_refused(plain):
    with pytest.raises((ValueError, KeyError, TypeError)):
        Factorization.from_plain(plain)


def test_the_whole_is_one_release_of_the_charge():
    """rho of all nodes together converts as that of one release does."""
    assert (
        rho_to_epsilon(RHO, Fraction(1, 10**6))
        == total_budget([gaussian()], delta=Fraction(1, 10**6)).epsilon
    )
