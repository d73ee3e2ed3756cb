"""What is measured: exact budgets, every strategy, and no dependence on the order of columns."""

from dataclasses import replace
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
import yaml

from synth.config import RangeQueries, WeightedMarginal, load_config
from synth.domain import Margin, Universe
from synth.errors import ConfigError
from synth.job import pipeline
from synth.noise.discrete_gaussian import LARGEST_SIGMA_SQUARED
from synth.noise.discrete_laplace import SMALLEST_RATE
from synth.planning import forecast, plan_events, plan_schedule, weighing
from synth.planning.problem import ASSUMED_RECORDS, CONSIDERED_RECORDS, Seen, problem_of
from synth.planning.spending import columns_are_known
from synth.planning.strategies import ADAPTIVE, LOW_ORDER_SHARES
from synth.planning.weighing import (
    INDIFFERENT,
    INDIFFERENT_UNTOLD,
    TOLERATED,
    Choice,
    alternatives,
    choose,
    require_drawable,
)
from synth.planning.wide import ONE_WAY_PARTS
from synth.privacy import OpenTableEvent, TableEvent, largest_rho, total_budget

DELTA = Fraction(1, 10**6)
SIZES = (3, 7, 4)


def spent(config, events):
    budget = total_budget(events, delta=config.privacy.delta)
    return budget.epsilon, budget.delta


def as_a_set(events):
    return {
        (frozenset(zip(e.table, e.coarsening, strict=True)), e.cells, e.epsilon, e.rho)
        for e in events
    }


@pytest.mark.parametrize("delta", ["0", "1/1000000"])
@pytest.mark.parametrize("epsilon", ["1/10", "1", "7/3"])
def test_no_alternative_spends_more_than_the_budget_or_leaves_any(configure, epsilon, delta):
    config = configure(SIZES, epsilon=epsilon, delta=delta, strategy="auto", total=5000)
    weighed = choose(problem_of(config)).weighed
    assert len(weighed) > len(LOW_ORDER_SHARES) * (1 if delta == "0" else 2)
    fixed = [each for each in weighed if each.spending.tables != ADAPTIVE]
    assert len(fixed) == len(weighed) - 1
    for each in fixed:
        used, used_delta = spent(config, each.spending.events)
        assert used <= config.privacy.epsilon
        assert used_delta <= config.privacy.delta
        pure = sum(event.epsilon or 0 for event in each.spending.events)
        rho = sum(event.rho or 0 for event in each.spending.events)
        if not rho:
            assert pure == config.privacy.epsilon
        else:
            assert rho == largest_rho(config.privacy.epsilon - pure, DELTA)


def test_the_universe_alone_gets_everything(configure):
    (event,) = plan_events(configure(SIZES, epsilon="1/3", strategy="identity"))
    assert event.cells == 84
    assert event.epsilon == Fraction(1, 3)


def test_of_splits_that_hardly_differ_the_one_with_most_for_the_universe_is_taken(configure):
    gave_way = 0
    for epsilon in ("3/10", "2/5", "1/2", "3/5", "4/5", "1", "3/2"):
        config = configure((5, 6, 7, 8, 9), epsilon=epsilon, strategy="auto", total=50_000)
        choice = choose(problem_of(config))
        way = choice.chosen.spending
        best = min(each.score for each in choice.weighed)
        alike = [each for each in choice.weighed if each.spending.tables == way.tables]
        shares = [e.spending.low_order_share for e in alike if e.score <= best * (1 + INDIFFERENT)]
        assert choice.weighed[0] is choice.chosen
        assert way.low_order_share == min(shares)
        gave_way += choice.chosen.score > best
    assert gave_way


@pytest.mark.parametrize(
    ("noise", "delta", "spent_on", "power"),
    [("laplace", "0", "epsilon", -1.0), ("gaussian", "1/1000000", "rho", -0.5)],
)
def test_one_way_tables_share_for_the_least_sum_of_their_errors(
    configure, noise, delta, spent_on, power
):
    """No other split of the same sum, a little away from the chosen one, has a smaller error."""
    problem = problem_of(configure((2, 9, 30), delta=delta, strategy="auto", total=5000))
    spending = next(
        each.spending
        for each in choose(problem).weighed
        if (each.spending.tables, each.spending.noise) == ("universe + 1-way", noise)
    )
    events = [event for event in spending.events if len(event.table) == 1]
    cells = [event.cells for event in events]
    chosen = [float(getattr(event, spent_on)) for event in events]

    def error(budgets):
        return sum(n * budget**power for n, budget in zip(cells, budgets, strict=True))

    assert sorted(cells) == [2, 9, 30]
    for giver, taker in permutations(range(3), 2):
        other = list(chosen)
        moved = 0.05 * other[giver]
        other[giver] -= moved
        other[taker] += moved
        assert error(other) > error(chosen)


@pytest.mark.parametrize("delta", ["0", "1/1000000"])
def test_the_plan_does_not_depend_on_the_order_of_the_columns(configure, delta):
    config = configure(SIZES, strategy="auto", delta=delta, total=5000, order=2)
    choice = choose(problem_of(config))
    for order in permutations(config.universe.attributes):
        names = [attribute.name for attribute in order]
        marginals = tuple(
            replace(m, attributes=tuple(sorted(m.attributes, key=names.index)))
            for m in reversed(config.workload.marginals)
        )
        other = replace(
            config,
            universe=Universe(order),
            workload=replace(config.workload, marginals=marginals),
        )
        moved = choose(problem_of(other))
        assert as_a_set(moved.chosen.spending.events) == as_a_set(choice.chosen.spending.events)
        for ours, theirs in zip(choice.weighed, moved.weighed, strict=True):
            assert theirs.score == ours.score
            assert as_a_set(theirs.spending.events) == as_a_set(ours.spending.events)
            assert all(
                e.table == tuple(sorted(e.table, key=names.index)) for e in theirs.spending.events
            )


def test_tables_that_are_named_are_all_measured(configure):
    names = ("column-0", "column-1", "column-2")
    tables = (
        Margin(names[:1], (0,)),
        Margin(names[1:], (0, 0)),
        Margin(names[2:], (0,)),  # nothing of it is asked that the table above does not tell
    )
    config = configure(SIZES, strategy=tables, order=2)
    events = plan_events(config)
    assert {event.table for event in events} == {table.names for table in tables}
    assert sum(event.epsilon for event in events) == 1
    with_universe = configure(SIZES, strategy=(*tables, Margin(names, (0, 0, 0))))
    events = plan_events(with_universe)
    assert len(events) == 4
    assert events[0].table == names
    assert sum(event.epsilon for event in events) == 1


def test_adaptive_starts_with_every_column_and_says_what_is_left(configure):
    for delta in ("0", "1/1000000"):
        config = configure(SIZES, strategy="adaptive", delta=delta)
        events = plan_events(config)
        assert [event.table for event in events] == [(f"column-{i}",) for i in range(3)]
        rounds = plan_schedule(config).rounds
        left = sum(
            (e.table.epsilon + e.selection.epsilon)
            if e.table.epsilon
            else e.table.rho + e.selection.epsilon**2 / 2
            for e in rounds
        )
        first = sum((e.epsilon or 0) + (e.rho or 0) for e in events)
        whole = largest_rho(Fraction(1), DELTA) if config.privacy.delta else Fraction(1)
        assert first + left == whole
        assert float(first / whole) == pytest.approx(0.1, rel=1e-4)


def test_what_a_universe_cannot_hold_is_not_proposed(configure):
    config = configure((100,) * 8, strategy="sparse", cells=False, order=2)
    for each in choose(problem_of(config)).weighed:
        assert not each.spending.tables.startswith("universe")
        listed, *others = each.spending.events
        assert listed.threshold is not None
        assert all(event.cells <= 10_000 for event in others)


def test_ranges_are_measured_at_several_resolutions(configure):
    from synth.domain.attribute import balanced_levels

    config = configure((2, 3), strategy="auto", cells=False, order=0)
    age = replace(
        config.universe.attributes[0],
        kind="integer",
        levels=(),
        edges=tuple(map(Fraction, range(257))),
    )
    age = replace(age, hierarchy=balanced_levels(age, 4))
    config = replace(
        config,
        universe=Universe((age,)),
        public_totals=(),
        workload=replace(
            config.workload,
            marginals=(),
            ranges=(RangeQueries((age.name,), "range", Fraction(1)),),
            expected_records=10**6,
        ),
    )
    chosen = choose(problem_of(config)).chosen
    assert chosen.spending.tables.endswith("best marginals")
    assert len({event.coarsening for event in chosen.spending.events}) >= 2
    assert chosen.spending.events[0].coarsening == (0,)  # the universe first
    alone = alternatives(problem_of(replace(config, strategy="identity")))[0]
    assert chosen.errors[0][1] < 0.7 * alone.errors[0][1]


def test_alternatives_name_every_kind_once(configure):
    config = configure(SIZES, strategy="identity", order=2, total=5000)
    named = [each.spending.tables for each in alternatives(problem_of(config))]
    assert named[0] == "universe (identity)"
    assert sorted(named) == sorted(set(named))
    assert {"best marginals", "all 1-way alike", "all 2-way alike", "universe + 1-way"} < set(named)


def test_what_is_known_of_the_number_of_records(configure):
    def records(**known):
        problem = problem_of(configure(SIZES, **known))
        return problem.records, problem.records_are_assumed

    assert records() == (ASSUMED_RECORDS, True)
    assert records(expected=700) == (700, False)
    assert records(total=800) == (800, False)
    assert records(total=800, expected=800) == (800, False)


def test_a_marginal_without_weight_gets_no_budget(configure):
    config = configure((4, 5, 6), strategy="auto", cells=False, order=1)
    heavy = tuple(
        WeightedMarginal(
            m.attributes, Fraction(1, 10**9) if "column-2" in m.attributes else m.weight
        )
        for m in config.workload.marginals
    )
    config = replace(config, workload=replace(config.workload, marginals=heavy))
    best = next(
        each
        for each in choose(problem_of(config)).weighed
        if each.spending.tables == "best marginals"
    )
    by_table = {event.table: event.epsilon for event in best.spending.events}
    assert (
        by_table.get(("column-2",), 0) < min(by_table[("column-0",)], by_table[("column-1",)]) / 10
    )


def test_adaptive_is_weighed_and_what_it_spends_is_its_schedule(configure, monkeypatch):
    config = configure(SIZES, strategy="auto", total=5000)
    (weighed,) = [
        each for each in choose(problem_of(config)).weighed if each.spending.tables == ADAPTIVE
    ]
    assert plan_schedule(config) is None  # auto has found something better
    adaptive = configure(SIZES, strategy="adaptive", total=5000)
    schedule = plan_schedule(adaptive)
    assert len(weighed.spending.events) == len(schedule.first) + len(schedule.rounds)
    monkeypatch.setattr(weighing, "choose", lambda _: Choice(weighed, (weighed,)))
    assert plan_schedule(config) == schedule
    assert plan_events(config) == schedule.first


PASSENGERS = (2, 3, 2, 9, 7, 9, 6, 9)
"""367,416 cells."""
LARGE = (12, 9, 8, 7, 8, 6, 10)
"""2.9 million cells."""


@pytest.mark.parametrize(
    ("expected", "epsilon"),
    [(None, "1/10"), (900, "1"), (226_051, "1/10"), (10**6, "1")],
)
@pytest.mark.parametrize("sizes", [PASSENGERS, LARGE])
def test_every_column_has_its_table_whatever_is_told_of_the_records(
    configure, sizes, expected, epsilon
):
    events = plan_events(configure(sizes, strategy="auto", epsilon=epsilon, expected=expected))
    alone = {event.table for event in events if len(event.table) == 1}
    assert len(alone) == len(sizes)


@pytest.mark.parametrize("sizes", [(10, 10), SIZES, PASSENGERS, LARGE])
@pytest.mark.parametrize("epsilon", ["1/100", "1"])
def test_the_chosen_plan_tells_every_column(configure, sizes, epsilon):
    for expected in (None, 500, 10**5):
        config = configure(sizes, strategy="auto", epsilon=epsilon, expected=expected, order=2)
        events = plan_events(config)
        assert columns_are_known(problem_of(config), events)
    large = configure(LARGE, strategy="identity", order=2)
    assert not columns_are_known(problem_of(large), plan_events(large))
    small = configure((10, 10), strategy="identity")
    assert columns_are_known(problem_of(small), plan_events(small))


@pytest.mark.parametrize(
    ("sizes", "epsilon"), [(PASSENGERS, "1"), (LARGE[:-1], "1/10")]
)  # of what is not held a look decides
def test_no_guess_of_the_records_chooses_what_is_bad_for_another_number(configure, sizes, epsilon):
    """Told or not, right or wrong: at every number the score stays near the best one there."""
    weighed_at = [
        choose(
            problem_of(
                configure(sizes, strategy="auto", epsilon=epsilon, expected=records, cells=True)
            )
        ).weighed
        for records in CONSIDERED_RECORDS
    ]
    for expected in (None, 300, 10_000, 10**6):
        problem = problem_of(configure(sizes, strategy="auto", epsilon=epsilon, expected=expected))
        chosen = choose(problem).chosen
        assert chosen.regret <= TOLERATED
        for weighed in weighed_at:
            ours = next(each for each in weighed if each.spending.events == chosen.spending.events)
            assert ours.score <= TOLERATED * min(each.score for each in weighed)


def test_without_a_guess_the_worst_ratio_to_the_best_is_smallest(configure):
    choice = choose(problem_of(configure(PASSENGERS, strategy="auto")))
    problem = problem_of(configure(PASSENGERS, strategy="auto"))
    fit = [e for e in choice.weighed if columns_are_known(problem, e.spending.events)]
    assert choice.chosen.regret <= min(each.regret for each in fit) * (1 + INDIFFERENT_UNTOLD)
    assert any(each.score < choice.chosen.score for each in fit)  # 10,000 alone would decide so
    declared = choose(problem_of(configure(PASSENGERS, strategy="auto", total=900)))
    assert declared.chosen.score == min(
        each.score for each in declared.weighed if columns_are_known(problem, each.spending.events)
    )


LESS = Fraction(999_999, 1_000_000)
RHO = 1 / (2 * LARGEST_SIGMA_SQUARED)


def gaussian(rho):
    return OpenTableEvent(1, mechanism="discrete-gaussian", rho=rho, sensitivity_l2_squared=1)


@pytest.fixture
def too_wide(pytestconfig, tmp_path, monkeypatch):
    """The adaptive configuration with a budget that no noise fits, and a source beside it.

    Hardly any plan reaches the limit of the product, so it is lowered.
    """
    monkeypatch.setattr("synth.noise.discrete_gaussian.LARGEST_SIGMA_SQUARED", Fraction(2**34))
    made = yaml.safe_load((pytestconfig.rootpath / "tests/configs/good/adaptive.yaml").read_text())
    made["privacy"] |= {"epsilon": "0.0001", "delta": "1e-9"}
    (tmp_path / "people.csv").write_text("sex,age,height\nFemale,30,1.6\n")
    path = tmp_path / "adaptive.yaml"
    path.write_text(yaml.safe_dump(made))
    return path


@pytest.mark.parametrize(
    ("widest", "wider"),
    [
        (gaussian(RHO), gaussian(RHO * LESS)),
        (OpenTableEvent(1, SMALLEST_RATE), OpenTableEvent(1, SMALLEST_RATE * LESS)),
        (OpenTableEvent(4, 4 * SMALLEST_RATE), OpenTableEvent(4, 3 * SMALLEST_RATE)),
    ],
    ids=["gaussian", "laplace", "laplace, several records"],
)
@pytest.mark.parametrize("named", [False, True])
def test_the_limit_is_that_of_the_noise(configure, widest, wider, named):
    config = configure((2, 3))
    events = [each.over(("a", "b"), 6) if named else each for each in (widest, wider)]
    require_drawable(config, events[:1])
    with pytest.raises(ConfigError) as caught:
        require_drawable(config, events)
    (problem,) = caught.value.problems
    assert problem.path == "privacy.epsilon"
    assert ("the table of a, b" if named else "a table to be chosen") in problem.found
    assert all((problem.expected, problem.why, problem.fix))


@pytest.mark.parametrize("planned", [plan_events, plan_schedule, forecast])
def test_every_plan_is_refused(too_wide, planned):
    config = load_config(too_wide)
    with pytest.raises(ConfigError, match="too wide to be drawn"):
        planned(config)
    enough = replace(config, privacy=replace(config.privacy, epsilon=Fraction(1)))
    planned(enough)


@pytest.mark.parametrize(
    "job", [pipeline.run, lambda path, log: pipeline.measure(load_config(path), log=log)]
)
def test_nothing_is_charged(too_wide, log, job):
    with pytest.raises(ConfigError) as caught:
        job(too_wide, log=log)
    assert caught.value.exit_code == 2
    assert not any("reserved" in line for line in log.lines)
    assert not (too_wide.parent / "state").exists()
    assert (too_wide.parent / "people.csv").exists()


def test_a_table_of_laplace_noise_names_all_records(configure):
    event = TableEvent((), 1, 1, SMALLEST_RATE * LESS)
    with pytest.raises(ConfigError, match="the table of all records"):
        require_drawable(configure((2, 3)), [event])


@pytest.mark.parametrize(
    ("shape", "total", "weights"),
    [
        ((10,) * 10, 2_000, {1: 1.0, 2: 2.0, 3: 2.0, "cells": 1.0}),
        ((10,) * 5, 2_000, {1: 1.0, 2: 1.0, 3: 1.0, "cells": 1.0}),  # 50 cells for every record
        ((10,) * 5, 1_000_000, {1: 1.0, 2: 1 / 2, 3: 1 / 3, "cells": 1 / 2}),
    ],
    ids=["one model of all columns", "thin", "well filled"],
)
def test_pairs_and_triples_count_most_where_one_model_is_fitted(configure, shape, total, weights):
    """A tenth of an error less makes the figure smaller by its weight."""
    problem = problem_of(configure(shape, strategy="auto", order=3, total=total))
    assert weighing.is_thin(problem) is (total == 2_000)
    means = weighing.by_group(problem.questions, [0.0] * len(problem.questions))
    groups = [group for group, _ in means]
    harmless = weighing._harmless(problem.questions, total)
    even = [(group, 1 - least) for group, least in zip(groups, harmless, strict=True)]
    assert weighing.figure_of(problem, even, total) == pytest.approx(1.0)
    for changed, (group, least) in enumerate(zip(groups, harmless, strict=True)):
        errors = [(g, e - (0.1 if n == changed else 0.0)) for n, (g, e) in enumerate(even)]
        weight = weights["cells" if group[0] == "cells" else group[1]]
        figure = 0.9 ** (weight / sum(weights.values()))
        assert weighing.figure_of(problem, errors, total) == pytest.approx(figure)
        free = weighing.resampling_total_variation
        alike = [q for q in problem.questions if (q.kind, len(q.attributes)) == group]
        assert least == pytest.approx(np.mean([free(q, total) for q in alike]) / 2)


@pytest.mark.parametrize(
    ("visible", "records", "together"),
    [
        (0.0, 100_000, 2.0),
        (0.05, 100_000, 2.0),
        (0.1, 100_000, None),
        (None, 100_000, None),
        (0.0, 5_000, 1.0),  # 43 cells for every record
    ],
)
def test_where_noise_hides_the_records_pairs_count_most_however_few_the_columns(
    configure, visible, records, together
):
    """So three columns are not taken for independent because that tells each of them best."""
    problem = problem_of(configure((60, 60, 60), strategy="auto", order=2, epsilon="1/2"))
    seen = replace(problem, seen=Seen(records, visible, 110_000))
    assert weighing.is_thin(seen) is (together is not None)
    weights = weighing._weights(seen, [("marginal", 1), ("marginal", 2), ("cells", 3)])
    assert weights == ([1.0, together, 1.0] if together else [1.0, 1 / 2, 1 / 2])


def test_of_splits_without_the_universe_the_one_with_least_for_columns_is_taken(configure):
    """Of those that differ by at most 3 %: pairs are what noise hides first."""
    problem = problem_of(configure((10,) * 12, strategy="auto", order=2, total=10**6, cells=False))
    choice = choose(problem)
    kind = choice.chosen.spending.tables, choice.chosen.spending.noise
    alike = [e for e in choice.weighed if (e.spending.tables, e.spending.noise) == kind]
    best = min(alike, key=lambda each: each.score)
    near = [each for each in alike if each.score <= best.score * 1.03]
    assert len(alike) > 2
    assert choice.chosen is min(near, key=lambda each: weighing._for_columns(each.spending))
    parts = sorted(weighing._for_columns(each.spending) for each in alike)
    assert parts == pytest.approx(sorted(part for part in ONE_WAY_PARTS), abs=0.02)
