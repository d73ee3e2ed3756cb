"""Exact privacy of a look and of every plan that it can lead to, together.

Real configurations are looked at, planned, counted, measured and charged by the code of a run (see
`toy_runs`), once for every plan that some outcome of the look leads to. Whatever the look says,
look and tables together tell no more than was charged before the source was opened.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from synth import curator
from synth.config.source_files import source_files
from synth.curator import boundary, measuring
from synth.curator.counting import look, tabulate
from synth.curator.counting.tabulate import FilledCells
from synth.domain import Attribute, Universe
from synth.errors import BugError
from synth.estimate.maximum_entropy import quick_guess
from synth.noise import DiscreteLaplace, NoiseStream
from synth.planning import plan_events, plan_look, plan_schedule, wide
from synth.planning.look import Look
from synth.planning.spending import Purse
from synth.privacy import AfterLookEvent, Budget, LookEvent, sensitivity_l1
from tests.exact import toy_runs
from tests.exact.broken_runs import charged_for
from tests.exact.joint_law import changes, hockey_stick, largest_ratio
from tests.exact.test_toy_privacy import largest_ratio_allowed
from tests.exact.toy_runs import (
    MIXED,
    ONES,
    PEOPLE,
    RECORDS,
    ZEROS,
    Noted,
    Plan,
    are_neighbours,
    configuration,
    noted_noise,
    run,
    write_source,
)
from tests.forgotten_plans import forget_plans

pytestmark = pytest.mark.xdist_group("toy runs")

PURE = {
    "records": Plan("auto", "6"),
    "records, and pairs": Plan("auto", "6", order=2),
    "people": Plan("auto", "6", most=2, order=2),
    "replaced": Plan("auto", "6", neighbours="replace-one", order=2),
    "people replaced": Plan("auto", "6", neighbours="replace-one", most=2, order=2),
}
"""Where pairs are asked for, the look counts how far they depend on each other, too."""
GAUSSIAN = Plan("auto", "1", "0.001")
ABSURD = 2**62
OUTCOMES = list(itertools.product((-ABSURD, 60, ABSURD), (-ABSURD, 90, 7_000, ABSURD)))
APART = (-ABSURD, 20, ABSURD)
"""Noisy counts of a look, absurd ones too: they lead to every plan of the cases below."""
RARE = (((ZEROS,), (ZEROS,), (ONES,)), ((ZEROS,), (ZEROS,), (ONES,), (ONES,)))
"""A record more of a kind that is rare in every column changes how far all pairs depend."""
SAME_CELL = (*RECORDS, ((ZEROS,),) * 3, *RARE, ((ZEROS,),) * 4)
"""Tables with records in further places of one cell."""
MANY_PEOPLE = ((ZEROS, ZEROS),) * 3 + ((ONES,),)
CROWDED = (*PEOPLE, MANY_PEOPLE, (*MANY_PEOPLE, (ONES, ONES)))


@pytest.fixture(autouse=True)
def every_universe_may_be_thin(monkeypatch):
    """And whatever the look says of how records gather decides, in 64 cells with little noise."""
    for name, value in {"THIN": 0, "ROOM": -40.0, "BY_VISIBLE": 80.0, "BY_NOISE": 0.0}.items():
        monkeypatch.setattr(f"synth.planning.look.{name}", value)


def plans_of(config) -> dict[tuple, tuple[int, ...]]:
    """Every plan that some outcome leads to, with one such outcome."""
    seen = OUTCOMES
    if plan_look(config).event.pairs:
        seen = [(*counts, apart) for counts in OUTCOMES for apart in APART]
    return {plan_events(config, outcome): outcome for outcome in seen}


def between_neighbours(plan: Plan, tables) -> set:
    """How tables and look, last, differ: once each of what is the same for many neighbours."""
    return {
        (
            changes(tables[one][:-1], tables[other][:-1]),
            changes(tables[one][-1:], tables[other][-1:]),
        )
        for one, other in itertools.permutations(tables, 2)
        if are_neighbours(one, other, plan.neighbours)
    }


def check_pure(directory, plan: Plan, data=None) -> None:
    """The largest ratio of any look and any noisy counts after it is exp(epsilon).

    Of records that are replaced it is less: toy data have none that noise cannot hide, and one for
    another among those that it hides leaves the profile as it is.
    """
    plans = plans_of(configuration(directory, plan))
    assert len(plans) > 1, "the look decides nothing"
    data = data or (SAME_CELL if plan.most is None else CROWDED)
    counts = plan_look(configuration(directory, plan)).event.counts
    largest = Fraction(0)
    for number, (events, outcome) in enumerate(plans.items()):
        place = directory / str(number)
        place.mkdir()
        runs = run(place, plan, data, look=outcome)
        assert runs.charge == Budget(Fraction(plan.epsilon), Fraction(0))
        for tables in runs.tables.values():
            laws = [law for law, _ in tables[:-1]]
            assert laws == [DiscreteLaplace(e.epsilon, e.sensitivity_l1) for e in events], (
                "the plan follows from the noisy look alone"
            )
            assert [len(counts) for _, counts in tables] == [*(e.cells for e in events), counts]
        found = [
            largest_ratio(after + look) for after, look in between_neighbours(plan, runs.tables)
        ]
        largest = max(largest, *found)
    allowed = largest_ratio_allowed(Fraction(plan.epsilon))
    assert largest <= allowed, "more is lost than charged"
    if plan.neighbours == "add-remove":
        assert largest >= allowed * (1 - Fraction(1, 2**50)), "the charge is met exactly"
    else:
        after = Fraction(plan.epsilon) - plan_look(configuration(directory, plan)).event.epsilon
        assert largest >= largest_ratio_allowed(after) * (1 - Fraction(1, 2**50))


@pytest.mark.parametrize("name", PURE)
def test_no_look_and_no_tables_after_it_tell_more_than_epsilon(tmp_path, name):
    check_pure(tmp_path, PURE[name])


def test_look_and_gaussian_tables_are_within_epsilon_and_delta(tmp_path):
    """The look's ratio is at most exp of its epsilon, and what follows keeps to the rest."""
    config = configuration(tmp_path, GAUSSIAN)
    asked, plans = plan_look(config), plans_of(config)
    assert any(event.rho for events in plans for event in events)
    for number, outcome in enumerate(plans.values()):
        place = tmp_path / str(number)
        place.mkdir()
        runs = run(place, GAUSSIAN, SAME_CELL, look=outcome)
        assert runs.charge == Budget(Fraction(1), Fraction("0.001"))
        for of_tables, of_look in between_neighbours(GAUSSIAN, runs.tables):
            assert largest_ratio(of_look) <= largest_ratio_allowed(asked.event.epsilon)
            lost = hockey_stick(of_tables, asked.after.epsilon)
            assert lost <= asked.after.delta, "more is lost than reserved"


def test_every_outcome_of_look_and_tables_one_by_one():
    """P(look, table) summed over the looks, each with its own plan: the definition itself.

    The plan is one of two tables by the sign of the look; both data, all outputs in a window.
    """
    look = DiscreteLaplace(Fraction(1, 2), 1)
    after = {False: DiscreteLaplace(Fraction(1, 2), 1), True: DiscreteLaplace(Fraction(1, 4), 1)}
    window = range(-12, 14)
    p, q = (
        {
            (seen, out): look.pmf(seen - records) * after[seen > 0].pmf(out - records)
            for seen in window
            for out in window
        }
        for records in (0, 1)
    )
    ratios = [max(p[each] / q[each], q[each] / p[each]) for each in p]
    assert max(ratios) <= largest_ratio_allowed(Fraction(1))
    assert max(ratios) >= largest_ratio_allowed(Fraction(1)) * (1 - Fraction(1, 2**50))


def exact_counts_planned(patch: pytest.MonkeyPatch) -> None:
    """The planner is given what was counted, not what noise makes of it."""
    looked_at, after_look = measuring.looked_at, measuring.measure_after_look
    seen: list[list[int]] = []

    def noted(counts, event, universe):
        counted, held = looked_at(counts, event, universe)
        exact = counted.consume()
        seen.append(exact.tolist())
        return type(counted)(exact), held

    def measure(*others, **named):
        *others, plan_after = others

        def plan(look):
            return plan_after(replace(look, noisy_counts=tuple(seen[-1])))

        return after_look(*others, plan, **named)

    patch.setattr(measuring, "looked_at", noted)
    patch.setattr(measuring, "measure_after_look", measure)


def cells_of_many(patch: pytest.MonkeyPatch) -> None:
    """A class holds all records of the cells that reach it, so one record moves many."""

    def gathered(counts, firsts):
        reached = [int(counts[counts >= first].sum()) for first in firsts]
        return np.array(reached) - np.array([*reached[1:], 0])

    patch.setattr(look, "gathered", gathered)


def whole_distances(patch: pytest.MonkeyPatch) -> None:
    """How far pairs depend is not divided by the 4 that a record can change it by."""
    exact = look._apart
    patch.setattr(look, "_apart", lambda table: 4 * exact(table))


def half_of_both(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        "synth.planning.look.look_sensitivity", lambda privacy, _: sensitivity_l1(privacy)
    )


def half_the_sensitivity(patch: pytest.MonkeyPatch) -> None:
    exact = boundary.measure_look

    def measure(profile, event, **named):
        found = exact(profile, replace(event, sensitivity_l1=1), **named)
        return replace(found, event=event)

    patch.setattr(measuring, "measure_look", measure)


def planned_with_everything(patch: pytest.MonkeyPatch, *, unchecked: bool) -> None:
    """The plan after the look spends the whole epsilon, not what the look left."""
    patch.setattr(
        "synth.planning.look.AfterLookEvent",
        lambda epsilon, delta: AfterLookEvent(epsilon / (1 - Fraction(1, 50)), delta),
    )
    if unchecked:
        patch.setattr(Look, "allows", lambda *_: True)
    else:  # the charge is right, the planner is not
        exact = Look.events.fget
        patch.setattr(
            Look,
            "events",
            property(
                lambda self: (
                    exact(self)[0],
                    AfterLookEvent(self.after.epsilon * Fraction(49, 50), self.after.delta),
                )
            ),
        )
        patch.setattr(
            Look,
            "allows",
            lambda self, events: sum(e.epsilon for e in events) <= self.events[1].epsilon,
        )


def of_kind(kind: type) -> Callable[[list], list]:
    return lambda events: [event for event in events if not isinstance(event, kind)]


MUTANTS = {
    "a look that is not charged": (charged_for(of_kind(LookEvent)), "records", ValueError),
    "a look charged alone": (charged_for(of_kind(AfterLookEvent)), "records", ValueError),
    "a look charged half": (
        charged_for(lambda events: [replace(events[0], epsilon=events[0].epsilon / 2), events[1]]),
        "records",
        AssertionError,
    ),
    "exact counts given to the planner": (exact_counts_planned, "records", AssertionError),
    "a profile of cells instead of places": (cells_of_many, "records", AssertionError),
    "a distance that a record changes by four": (
        whole_distances,
        "records, and pairs",
        AssertionError,
    ),
    "noise for one of two changes": (half_of_both, "records, and pairs", AssertionError),
    "a look without the records of a person": (half_the_sensitivity, "people", AssertionError),
    "a plan over what is left, charged": (
        partial(planned_with_everything, unchecked=True),
        "records",
        AssertionError,
    ),
    "a plan over what is left": (
        partial(planned_with_everything, unchecked=False),
        "records",
        BugError,
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_caught(tmp_path, name):
    break_it, case, failing = MUTANTS[name]
    with pytest.MonkeyPatch.context() as patch:
        break_it(patch)
        forget_plans()
        with pytest.raises(failing):
            check_pure(tmp_path, PURE[case])
    forget_plans()


def test_a_plan_that_costs_more_than_is_left_gets_no_noise(tmp_path):
    """Whatever hands it over: the measuring code holds every plan against what the look left."""
    config = configuration(tmp_path, PURE["records"])
    write_source(tmp_path, RECORDS[-1])
    dear = tuple(replace(each, epsilon=each.epsilon * 2) for each in plan_events(config))
    with noted_noise(look=(5, 5)) as noted, pytest.raises(BugError, match="than was left"):
        curator.measure(
            config,
            config.source,
            plan_look(config),
            files=source_files(config.source),
            stream=NoiseStream(key=bytes(32)),
            directory=tmp_path,
            plan_after=lambda _: dear,
        )
    assert list(noted.tables) == [boundary.LOOK_NUMBER]


@pytest.mark.parametrize("seed", range(20))
def test_a_unit_moves_the_profile_by_no_more_than_stated(seed):
    """Any counts, any classes, any k records: L1 at most k added, 2 k replaced; the slow count."""
    random = np.random.default_rng(seed)
    firsts = (1, *(1 + np.cumsum(random.integers(1, 5, random.integers(0, 4)))).tolist())
    counts = random.poisson(random.choice([0.2, 1, 6]), 30)
    most = int(random.integers(1, 5))

    def profile(table):
        found = look.gathered(table.astype(np.int64), firsts)
        places = [place for count in table for place in range(1, count + 1)]
        ends = [*firsts[1:], math.inf]
        slow = [sum(f <= p < e for p in places) for f, e in zip(firsts, ends, strict=True)]
        assert found.tolist() == slow
        assert found.sum() == table.sum()
        return found

    def with_unit():
        cells = random.integers(0, 30, most) if random.random() < 0.5 else [3] * most
        more = counts.copy()
        np.add.at(more, cells, 1)
        return more

    one, other = with_unit(), with_unit()
    added = profile(one) - profile(counts)
    assert (added >= 0).all()
    assert added.sum() == most
    replaced = profile(one) - profile(other)
    assert np.abs(replaced).sum() <= 2 * most


def test_a_record_in_another_place_of_a_cell_is_another_class():
    """The bound is met: with places 1, 2, 3, ... as classes, a second record is in the second."""
    table = np.array([1, 4], dtype=np.int64)
    found = look.gathered(table, (1, 2, 4))
    assert found.tolist() == [2, 2, 1]
    assert MIXED != ZEROS


THREE = Universe(
    tuple(
        Attribute(name, "categorical", tuple("abcd"[:size]))
        for name, size in zip("xyz", (2, 3, 4), strict=True)
    )
)
EVERY_PAIR = (("x", "y"), ("x", "z"), ("y", "z"))


def distance(table, pairs) -> Fraction:
    """The mean over pairs of the sum of |n_ab - n_a n_b / n|, by its definition, exactly."""
    records, total = int(table.sum()), Fraction(0)
    for pair in pairs:
        axes = tuple(place for place, name in enumerate("xyz") if name not in pair)
        joint = table.sum(axis=axes)
        for place, count in np.ndenumerate(joint):
            product = int(joint[place[0]].sum()) * int(joint[:, place[1]].sum())
            total += abs(int(count) - Fraction(product, max(records, 1)))
    return total / len(pairs)


def counted_distance(table, pairs) -> int:
    found = look.dependence(table.ravel(), pairs, THREE)
    cells = np.nonzero(table)
    listed = FilledCells(tuple(each.astype(np.int32) for each in cells), table[cells])
    assert look.dependence(listed, pairs, THREE) == found
    return found


@pytest.mark.parametrize("seed", range(20))
def test_a_record_changes_how_far_pairs_depend_by_less_than_stated(seed, monkeypatch):
    """Any counts, any pairs, any record: the slow sum moves by less than 4, its quarter by 1."""
    monkeypatch.setattr(tabulate, "CELLS_AT_ONCE", 7)
    random = np.random.default_rng(seed)
    pairs = EVERY_PAIR[: int(random.integers(1, 4))]
    table = random.poisson(random.choice([0.05, 0.3, 2]), THREE.shape).astype(np.int64)
    if seed % 4 == 0:  # the tightest: many records of one kind, few of another
        table[:] = 0
        table[0, 0, 0], table[1, 2, 3] = 50, 1
    for _ in range(12):
        more = table.copy()
        more[(1, 2, 3) if seed % 4 == 0 else tuple(random.integers(0, THREE.shape))] += 1
        one, other = distance(table, pairs), distance(more, pairs)
        assert abs(one - other) < 4
        assert counted_distance(table, pairs) == one // 4
        assert abs(counted_distance(more, pairs) - counted_distance(table, pairs)) <= 1
        table = more


def test_the_bound_is_met_in_the_limit():
    """A record of a kind that is rare in both columns moves the sum by nearly 4."""
    table = np.zeros(THREE.shape, dtype=np.int64)
    table[0, 0, 0], table[1, 2, 3] = 10_000, 1
    more = table.copy()
    more[1, 2, 3] += 1
    assert distance(more, EVERY_PAIR) - distance(table, EVERY_PAIR) > Fraction(399, 100)


def test_no_number_of_records_overflows():
    table = np.zeros(THREE.shape, dtype=np.int64)
    table[0, 0, 0], table[1, 2, 3], table[1, 0, 3] = 2**40, 2**40 - 7, 12_345
    assert counted_distance(table, EVERY_PAIR) == distance(table, EVERY_PAIR) // 4
    assert counted_distance(0 * table, EVERY_PAIR) == 0


WIDE = Plan("auto", "30", order=2)
FIVE = ("a", "b", "c", "d", "e")
SCRIPT = 7
"""The seed of the noisy tables that a run is made to see, whatever the records are."""


class Replayed(Noted):
    """A run whose noisy tables and choices are fixed: what it would have noised and scored."""

    def __init__(self, look, last):
        super().__init__(look=look)
        self.last, self.scores = last, []

    def sampler(self, law):
        noted = self

        class Sampler:
            def add_to(self, counts, stream, *, table, **_):
                stream.claim(table, 0, len(counts))
                noted.tables[table] = law, tuple(map(int, counts))
                generator = np.random.default_rng([SCRIPT, table])
                counts[:] = generator.integers(-3, 9, len(counts))
                if table == boundary.LOOK_NUMBER:
                    counts[:] = noted.look

        return Sampler()

    def choose(self, scores, *, epsilon, sensitivity, **_):
        self.choices.append(epsilon)
        self.scores.append((tuple(scores), sensitivity))
        return len(scores) - 1 if self.last else 0


def replayed(directory, data, look, *, last):
    """What a run over `data` would noise and score, if it saw the look and noise of the script."""
    config = configuration(directory, WIDE)
    write_source(directory, data)
    noted = Replayed(look, last)
    with noted_noise(noted=noted):
        measured = curator.measure(
            config,
            config.source,
            plan_look(config),
            files=source_files(config.source),
            stream=NoiseStream(key=bytes(32)),
            directory=directory,
            fit=lambda noisy: quick_guess(noisy, config.universe),
            plan_after=lambda seen: plan_schedule(config, seen.noisy_counts),
        )
    return config, noted, measured


def check_choices_after_look(directory, last=False) -> None:
    """For every neighbour: look, tables and choices together lose exactly what was charged.

    A choice loses at most its epsilon if no score moves by more than the sensitivity that the
    mechanism is given (`test_selection` proves it); the largest loss of the tables is exact.
    """
    data = [(), ((ONE,),), ((ONE,), (ONE,)), ((ONE,), (OTHER,)), ((ONE,), (OTHER,), (OTHER,))]
    data += [((ONE,), (ONE,), (RARER,)), ((ONE,), (ONE,), (RARER,), (RARER,))]
    found = {}
    for each in data:
        config, noted, measured = replayed(directory, each, (900, 0, 200), last=last)
        found[each] = noted
    schedule, asked = plan_schedule(config, (900, 0, 200)), plan_look(config)
    assert schedule is not None
    assert len(schedule.rounds) == 5
    assert [*schedule.guesses_after] == [0, 2, 4], "a choice goes by those before"
    spent = sum(noted.choices, Fraction(0))
    assert spent == sum((each.selection.epsilon for each in schedule.rounds), Fraction(0))
    largest = Fraction(0)
    for one, other in itertools.permutations(data, 2):
        if not are_neighbours(one, other, "add-remove"):
            continue
        tables = [noted.in_order() for noted in (found[one], found[other])]
        ratio = largest_ratio(changes(*tables))
        assert ratio <= largest_ratio_allowed(Fraction(WIDE.epsilon) - spent)
        largest = max(largest, ratio)
        for (left, moved), (right, same) in zip(
            found[one].scores, found[other].scores, strict=True
        ):
            assert moved == same
            assert max(abs(a - b) for a, b in zip(left, right, strict=True)) <= moved
    assert largest >= largest_ratio_allowed(Fraction(WIDE.epsilon) - spent) * (
        1 - Fraction(1, 2**50)
    ), "the charge is met exactly"
    assert asked.allows(schedule.events)
    assert len(measured.selections) == len(schedule.rounds)


ONE, OTHER, RARER = ("0",) * 5, ("0", "1", "0", "1", "1"), ("1",) * 5


@pytest.fixture
def wide_toys(monkeypatch):
    """Universes of five columns of two levels, above the dense limit."""
    for module in ("planning.wide", "planning.costs", "curator.measuring"):
        monkeypatch.setattr(f"synth.{module}.DENSE_LIMIT_CELLS", 1)
    monkeypatch.setattr(toy_runs, "COLUMNS", FIVE)
    monkeypatch.setattr(wide, "CHOSEN_PER_COLUMN", (1,))
    monkeypatch.setattr(
        wide,
        "_every_way",
        lambda problem, *_: wide._with_choices(problem, Purse(problem.privacy.epsilon, "laplace")),
    )
    forget_plans()
    yield
    forget_plans()


@pytest.mark.usefixtures("wide_toys")
@pytest.mark.parametrize("last", [False, True])
def test_no_look_and_no_choices_after_it_tell_more_than_epsilon(tmp_path, last):
    check_choices_after_look(tmp_path, last)


def guesses_of_exact_tables(patch) -> None:
    """Pairs are chosen by what the records say of columns, not their noisy tables."""
    exact = measuring.measure_in_rounds

    def measure(config, schedule, counted, stream, _, **named):
        held = counted.consume()
        records = int(held.counts.sum())

        def knowing(_):
            return lambda margin: np.full(margin.cells(config.universe), 10.0 * records)

        return exact(config, schedule, measuring.Sensitive(held), stream, knowing, **named)

    patch.setattr(measuring, "measure_in_rounds", measure)


def halved_sensitivity(patch) -> None:
    patch.setattr(boundary, "Fraction", lambda value: Fraction(value) / 2)


@pytest.mark.parametrize("break_it", [guesses_of_exact_tables, halved_sensitivity])
@pytest.mark.usefixtures("wide_toys")
def test_a_mutant_of_the_choices_is_caught(tmp_path, break_it):
    with pytest.MonkeyPatch.context() as patch:
        break_it(patch)
        with pytest.raises(AssertionError):
            check_choices_after_look(tmp_path)
