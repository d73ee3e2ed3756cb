"""Exact privacy of whole plans: every toy table, every neighbour, all measured tables together.

Real configurations are planned, counted and measured by the code of a run, and charged to a real
ledger (see `toy_runs`). What the joint law of all noisy counts gives away (see `joint_law`) is at
most that charge, and hardly less.
"""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import pytest

from synth.noise import DiscreteGaussian, DiscreteLaplace
from tests.exact.joint_law import Changes, changes, hockey_stick, largest_ratio, renyi
from tests.exact.test_toy_privacy import largest_ratio_allowed
from tests.exact.toy_runs import (
    COLUMNS,
    ONES,
    RECORDS,
    ZEROS,
    Data,
    Plan,
    Runs,
    are_neighbours,
    run,
    run_with_choices,
)
from tests.forgotten_plans import forget_plans

pytestmark = pytest.mark.xdist_group("toy runs")  # they share what was counted

SINGLES = [[name] for name in COLUMNS]
FOREIGN = {"tables": [["a"], ["b", "c"], [*COLUMNS]]}
PURE = {
    "tables": Plan(FOREIGN, "2"),
    "tables, replace-one": Plan(FOREIGN, "2", neighbours="replace-one"),
    "tables, people": Plan({"tables": [["a"], ["b", "c"], ["d"]]}, "0.3", most=2),
    "auto": Plan("auto", "2"),
    "auto, people": Plan("auto", "0.5", most=2),
}
GAUSSIAN = {
    "tables": Plan({"tables": [*SINGLES[:4], ["e", "f"]]}, "1", "0.001"),
    "tables, replace-one": Plan({"tables": SINGLES}, "1", "0.001", "replace-one"),
    "auto": Plan("auto", "1", "0.001", levels=5, expected=10_000),
    "auto, people": Plan("auto", "1", "0.001", most=2, levels=5, expected=10_000),
}
MIXED = Plan({"tables": [*SINGLES, [*COLUMNS]]}, "1", "0.001")
LISTED = ((), ((ZEROS,),), ((ZEROS,), (ONES,)))
ADAPTIVE = Plan("adaptive", "1", order=2)
ORDERS = (2, 8)


def pairs(plan: Plan, runs: Runs) -> set[Changes]:
    """How the measured tables of neighbours differ, in both directions."""
    found = {
        changes(runs.tables[one], runs.tables[other])
        for one, other in itertools.permutations(runs.tables, 2)
        if are_neighbours(one, other, plan.neighbours)
    }
    assert found, "there are no neighbours"
    return found


def measured(directory, plan: Plan, data: Sequence[Data] | None, **how) -> Runs:
    runs = run(directory, plan, data or plan.data, **how)
    assert all(len(tables) > 1 for tables in runs.tables.values()), "a plan of several tables"
    return runs


def check_pure(directory, plan: Plan, data: Sequence[Data] | None = None, **how) -> None:
    """The largest ratio of any output of any neighbours is exp(epsilon) of the charge."""
    runs = measured(directory, plan, data, **how)
    assert runs.charge.delta == 0
    largest = max(map(largest_ratio, pairs(plan, runs)))
    allowed = largest_ratio_allowed(runs.charge.epsilon)
    assert largest <= allowed, "more is lost than charged"
    assert largest >= allowed * (1 - Fraction(1, 2**50)), "the charge is met exactly, not by far"


def check_gaussian(directory, plan: Plan, data: Sequence[Data] | None = None) -> None:
    """Renyi divergences are those of the charged rhos; delta at epsilon is within the charge."""
    runs = measured(directory, plan, data)
    assert runs.charge.delta > 0
    found = pairs(plan, runs)
    rho = float(sum(event.rho for event in runs.events))
    for order in ORDERS:
        loss = max(renyi(each, order) for each in found)
        assert loss <= order * rho * (1 + 1e-9), "more is lost than charged"
        assert loss >= order * rho * (1 - 1e-9), "the charge is met, not by far"
    check_delta(runs, found)


def check_delta(runs: Runs, found: set[Changes]) -> None:
    """sum of max(0, P - exp(epsilon) Q) over all outputs is at most the delta of the charge."""
    lost = max(hockey_stick(each, runs.charge.epsilon) for each in found)
    assert lost <= runs.charge.delta, "more is lost than charged"
    assert lost >= runs.charge.delta / 6, "the conversion from rho is not far from the truth"


def check_choices(directory) -> None:
    """An adaptive run is charged for every table and every choice, and for nothing else."""
    charge, noted = run_with_choices(directory, ADAPTIVE, RECORDS[-1])
    assert noted.choices, "nothing was chosen"
    drawn = sum(law.epsilon for law, _ in noted.in_order())
    assert charge.epsilon == drawn + sum(noted.choices) == Fraction(ADAPTIVE.epsilon)


@pytest.mark.parametrize("name", PURE)
def test_no_output_of_all_tables_together_tells_more_than_epsilon(tmp_path, name):
    check_pure(tmp_path, PURE[name])


@pytest.mark.parametrize(
    "plan",
    [Plan("identity", "2"), Plan("identity", "2", most=2)],
    ids=["records", "people"],
)
def test_the_table_of_the_total_is_within_the_same_epsilon(tmp_path, monkeypatch, plan):
    """In a universe this small the total is known; a larger share makes it a table of its own."""
    monkeypatch.setattr("synth.planning.spending.TOTAL_SHARE", Fraction(1, 2))
    forget_plans()
    try:
        runs = run(tmp_path, plan, plan.data)
    finally:
        forget_plans()
    universe, total = runs.events
    assert (universe.table, total.table, total.cells) == (tuple(COLUMNS), (), 1)
    largest = max(map(largest_ratio, pairs(plan, runs)))
    allowed = largest_ratio_allowed(runs.charge.epsilon)
    assert allowed * (1 - Fraction(1, 2**50)) <= largest <= allowed


@pytest.mark.parametrize("name", GAUSSIAN)
def test_all_tables_together_are_within_rho_and_within_epsilon_and_delta(tmp_path, name):
    check_gaussian(tmp_path, GAUSSIAN[name])


def test_laplace_and_gaussian_tables_together_are_within_epsilon_and_delta(tmp_path):
    runs = measured(tmp_path, MIXED, None)
    assert {event.mechanism for event in runs.events} == {"discrete-laplace", "discrete-gaussian"}
    found = pairs(MIXED, runs)
    as_rho = float(sum(event.rho or event.epsilon**2 / 2 for event in runs.events))
    assert all(renyi(each, o) <= o * as_rho * (1 + 1e-9) for each in found for o in ORDERS)
    check_delta(runs, found)


def test_a_list_of_heavy_cells_beside_small_tables(tmp_path):
    """The list is a function of noise on every cell: no output of that tells more than epsilon."""
    check_pure(tmp_path, Plan("sparse", "2"), LISTED)


def test_choices_are_charged_with_the_tables(tmp_path):
    check_choices(tmp_path)


def test_every_output_one_by_one(tmp_path):
    """The four noisy counts of two tables, at all values up to one beyond every count."""
    plan = Plan({"tables": [["a"], ["b"]]}, "1")
    runs = measured(tmp_path, plan, RECORDS)
    outputs = list(itertools.product(range(-1, 4), repeat=4))

    def pmf(data: Data) -> list[Fraction]:
        cells = [(law, count) for law, counts in runs.tables[data] for count in counts]
        assert len(cells) == 4
        mass = [{o: law.pmf(o - count) for o in range(-1, 4)} for law, count in cells]
        return [math.prod(m[o] for m, o in zip(mass, out, strict=True)) for out in outputs]

    found = {data: pmf(data) for data in RECORDS}
    ratios = {
        changes(runs.tables[one], runs.tables[other]): max(
            p / q for p, q in zip(found[one], found[other], strict=True)
        )
        for one, other in itertools.permutations(RECORDS, 2)
        if are_neighbours(one, other, plan.neighbours)
    }
    assert ratios == {each: largest_ratio(each) for each in ratios}, "the classes lose nothing"
    allowed = largest_ratio_allowed(runs.charge.epsilon)
    assert allowed * (1 - Fraction(1, 2**50)) <= max(ratios.values()) <= allowed


@pytest.mark.parametrize("epsilon", ["0", "0.5", "2"])
def test_classes_give_the_delta_of_the_slow_definition(epsilon):
    """Two cells with one Gaussian law and one with Laplace noise, output by output."""
    gaussian, laplace = DiscreteGaussian(Fraction(1, 4), 2), DiscreteLaplace(Fraction(1), 2)
    every = ((gaussian, -1), (gaussian, 2), (laplace, 1))
    reach = range(-40, 41)

    def mass(law, x: int) -> float:
        low, before = law.cdf_bounds(x, 320)[0], law.cdf_bounds(x - 1, 320)[0]
        return float(Fraction(low - before, 1 << 320))

    p, q = ([[mass(law, x - shift * d) for x in reach] for law, d in every] for shift in (0, 1))
    growth = math.exp(float(epsilon))
    slow = 0.0
    for (p0, q0), (p1, q1) in itertools.product(
        zip(p[0], q[0], strict=True), zip(p[1], q[1], strict=True)
    ):
        if p0 * p1 + q0 * q1 > 1e-18:
            slow += sum(
                max(0.0, p0 * p1 * p2 - growth * q0 * q1 * q2)
                for p2, q2 in zip(p[2], q[2], strict=True)
            )
    all_changes = ((gaussian, (-1, 2)), (laplace, (1,)))
    assert hockey_stick(all_changes, Fraction(epsilon)) == pytest.approx(slow, abs=1e-8)
