"""The forecast above the dense limit: what it adds up, and how errors follow from it."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest

from synth.config import RangeQueries
from synth.domain import Margin, Universe
from synth.domain.attribute import balanced_levels
from synth.planning.after_nonnegativity import ErrorsAfterFit
from synth.planning.class_forecast import (
    CHANCE,
    CHOSEN,
    FEW_LEVELS,
    LAWS,
    LEAST_APART,
    LEFT_OF_ONE_WAY,
    MISFIT,
    MOST_LEVELS,
    OF_RANGES,
    TRIPLES_LEAVE,
    ErrorsOfClasses,
    errors_after_fit,
)
from synth.planning.linear_theory import marginal
from synth.planning.noise_sums import MEAN_ABSOLUTE, noise_variance
from synth.planning.problem import (
    ASSUMED_DEPENDENCE,
    DEPENDENCES,
    MEAN_DEPENDENCE,
    Seen,
    problem_of,
)
from synth.planning.spending import Purse, table_event
from synth.planning.wide import is_wide, wide_ways

LEAST = DEPENDENCES[0]
SIZES = (5, 6, 7, 8, 9, 10, 11, 12, 5, 6, 7, 8)


@pytest.fixture
def problem(configure):
    return problem_of(configure(SIZES, strategy="auto", cells=False, total=10**5, order=1))


def events_of(problem, names, epsilon="1"):
    margins = [Margin(each, (0,) * len(each)) for each in names]
    return [table_event(problem, each, Fraction(epsilon), noise="laplace") for each in margins]


def asked(problem, *columns):
    return tuple(marginal(each, problem.axes) for each in columns)


def names_of(problem, order):
    return list(combinations(problem.universe.names, order))


def signal(event, records):
    return records / math.sqrt(noise_variance(event) * sum(SIZES))


def model_of(problem, events, questions, schedule=None, *, dependence=ASSUMED_DEPENDENCE):
    return ErrorsOfClasses(problem.axes, events, questions, schedule, dependence=dependence)


def by_chance(sizes, records):
    return 1 - 1 / (1 + CHANCE * math.prod(sizes) / records)


def law(order, q, ones, *, records, dependence=ASSUMED_DEPENDENCE, triples=0.0):
    """The slow definition, letter by letter; of the first columns."""
    (big_a, a), (big_f, f), (t, c) = LAWS[order].seen, LAWS[order].floor, LAWS[order].lost
    d = len(SIZES)
    g = min(math.exp(sum(map(math.log, SIZES)) / d), MOST_LEVELS)
    of_pairs = np.mean([by_chance(two, records) for two in combinations(SIZES, 2)])
    dependence = max(dependence * LEAST_APART, 1 - (1 - dependence) / (1 - of_pairs))
    seen = big_a * g**a * d ** (-3 / 2) / (q * dependence ** (1 / 2))
    seen += (1 - (1 - TRIPLES_LEAVE) * triples) * big_f * g**f
    lost = 1 - (1 - dependence) ** t + c * ones
    chance = by_chance(SIZES[:order], records)
    both = (min(each, 1 - 2.0**-order) for each in (1 / (1 / seen + 1 / lost), lost))
    return [1 - (1 - each) * (1 - chance) for each in both]


def left_of_one_way(size, variance, records):
    noise = MEAN_ABSOLUTE / 2 * size * math.sqrt(variance) / records
    return LEFT_OF_ONE_WAY * noise / (1 + noise * (1 + size / FEW_LEVELS))


@pytest.mark.parametrize("dependence", [LEAST, ASSUMED_DEPENDENCE, 1.0])
def test_all_pairs_follow_the_law(problem, dependence):
    events = events_of(problem, names_of(problem, 2))
    first, second, third = problem.universe.names[:3]
    questions = asked(problem, (first, second), (first, second, third))
    found = model_of(problem, events, questions, dependence=dependence).at(10**5)
    (variance,) = {noise_variance(event) for event in events}
    for order, error in zip((2, 3), found, strict=True):
        ones = [
            left_of_one_way(size, variance / (sum(1 / s for s in SIZES) - 1 / size), 10**5)
            for size in SIZES[:order]
        ]
        q = signal(events[0], 10**5)
        expected, _ = law(order, q, sum(ones) / order, records=10**5, dependence=dependence)
        assert error == pytest.approx(expected, rel=1e-9)


def test_one_way_tables_alone_lose_all_dependence(problem):
    events = events_of(problem, names_of(problem, 1))
    a, b = problem.universe.names[:2]
    one, other, pair = model_of(problem, events, asked(problem, (a,), (b,), (a, b))).at(10**4)
    assert one == pytest.approx(left_of_one_way(SIZES[0], noise_variance(events[0]), 10**4))
    _, lost = law(2, 1.0, (one + other) / 2, records=10**4)
    assert pair == pytest.approx(lost)


def test_one_way_tables_suffer_from_the_fit_of_pairs(problem):
    events = events_of(problem, names_of(problem, 2), epsilon="100")
    (error,) = model_of(problem, events, asked(problem, ("column-0",))).at(10**5)
    floor, _ = law(2, signal(events[0], 10**5), 0.0, records=10**12)  # all of them the same
    assert error == pytest.approx(MISFIT * floor, rel=0.01)


def test_pairs_that_are_not_measured_are_worse(problem):
    every = names_of(problem, 2)
    half = model_of(problem, events_of(problem, every[::2]), asked(problem, *every))
    errors = np.array(half.at(10**5))
    assert errors[::2].max() < errors[1::2].min()
    more = model_of(problem, events_of(problem, every), asked(problem, *every))
    assert (np.array(more.at(10**5)) < errors).all()


def test_triples_lower_the_floor(problem):
    pairs, triples = names_of(problem, 2), names_of(problem, 3)
    question = asked(problem, triples[0])
    records = 10**12  # no noise is left
    (without,) = model_of(problem, events_of(problem, pairs), question).at(records)
    (beside,) = model_of(problem, events_of(problem, pairs + triples), question).at(records)
    for error, measured in ((without, 0.0), (beside, 1.0)):
        floor, _ = law(3, 1e9, 0.0, records=records, triples=measured)
        assert error == pytest.approx(floor, rel=1e-3)
    assert beside < 0.6 * without


@pytest.mark.parametrize("dependence", [LEAST, ASSUMED_DEPENDENCE, 1.0])
def test_errors_fall_with_records_and_rise_with_columns(problem, dependence):
    events = events_of(problem, names_of(problem, 2))
    questions = asked(problem, *(problem.universe.names[:order] for order in (1, 2, 3, 4, 6, 12)))
    model = model_of(problem, events, questions, dependence=dependence)
    tables = [model.at(records) for records in (10, 10**3, 10**5, 10**7)]
    for few, many in pairwise(tables):
        assert all(more <= less for more, less in zip(many, few, strict=True))
    for errors in tables:
        assert errors == sorted(errors)
        assert all(0 < error <= 1 for error in errors)


def each_dependence(problem, events, questions, records):
    """The errors at every dependence from the least to the greatest that there can be."""
    every = (LEAST, 0.01, 0.03, ASSUMED_DEPENDENCE, 0.3, 1.0)
    return [model_of(problem, events, questions, dependence=T).at(records) for T in every]


@pytest.mark.parametrize("records", [100, 10**4, 10**6])
def test_where_no_pair_is_measured_errors_never_fall_with_dependence(problem, records):
    orders = (1, 2, 3, 4, 12)
    questions = asked(problem, *(problem.universe.names[:order] for order in orders))
    ones = events_of(problem, names_of(problem, 1))
    found = each_dependence(problem, ones, questions, records)
    for less, more in pairwise(found):
        assert all(error <= other for error, other in zip(less, more, strict=True))
    if records == 10**6:
        alone, *several = zip(*found, strict=True)
        assert len({*alone}) == 1, "a column depends on nothing"
        assert all(len({*errors}) > 3 for errors in several), "what is lost is what there is"


def test_independent_columns_have_smaller_errors_of_pairs(problem):
    """Without pairs hardly more is off than noise makes it; with pairs less is there to be seen."""
    question = asked(problem, problem.universe.names[:2])
    for order in (1, 2):
        events = events_of(problem, names_of(problem, order))
        for records in (10**3, 10**4, 10**5):
            found = [errors[0] for errors in each_dependence(problem, events, question, records)]
            assert found[0] == min(found[:4])
            assert found[0] < found[3]
    ones = events_of(problem, names_of(problem, 1))
    (lost,) = model_of(problem, ones, question, dependence=LEAST).at(10**8)
    assert lost == pytest.approx(LEAST, rel=0.01), "all that there is"


def test_of_the_same_budget_pairs_pay_where_columns_depend_on_each_other(problem):
    """And the more records there are, the less they need to depend."""
    ones, pairs = names_of(problem, 1), names_of(problem, 2)
    question = asked(problem, problem.universe.names[:2])

    def pay(records):
        of_ones, of_both = (
            each_dependence(
                problem, events_of(problem, names, f"1/{len(names)}"), question, records
            )
            for names in (ones, ones + pairs)
        )
        return [both < one for one, both in zip(of_ones, of_both, strict=True)]

    for records in (10**4, 10**5):
        assert pay(records) == sorted(pay(records))
        assert {pay(records)[0], pay(records)[-1]} == {False, True}
    assert sum(pay(10**4)) < sum(pay(10**5))


@pytest.mark.parametrize("sizes", [SIZES, SIZES[:4]], ids=["wide", "held"])
def test_the_forecast_reckons_with_what_a_look_saw_of_pairs(configure, sizes):
    problem = problem_of(configure(sizes, strategy="auto", cells=False, order=2))
    ones = events_of(problem, names_of(problem, 1))

    def errors(apart):
        seen = replace(problem, seen=Seen(10**5, 0.9, 2 * 10**5, apart=apart))
        return errors_after_fit(seen, ones, problem.questions).at(10**5), seen.dependence

    def model(dependence):
        if is_wide(problem):
            return model_of(problem, ones, problem.questions, dependence=dependence)
        told = {"visible": 0.9, "dependence": dependence}
        return ErrorsAfterFit(problem.axes, ones, problem.questions, **told)

    unseen, assumed = errors(None)
    assert assumed == MEAN_DEPENDENCE
    for apart in (0.0, 0.05, 0.4):
        found, dependence = errors((apart, 0.001))
        assert found == model(dependence).at(10**5)
        assert (sum(found) > sum(unseen)) == (apart > assumed)


def test_many_bins_of_few_records_each_are_off_by_chance(configure):
    """Of 4,000 records in pairs of 64 x 64 cells no model foresees which cells are filled."""
    errors = {}
    for size in (8, 64):
        problem = problem_of(configure((size,) * 6, strategy="auto", cells=False, order=3))
        pairs = events_of(problem, names_of(problem, 2))
        questions = asked(problem, *(problem.universe.names[:order] for order in (2, 3, 4)))
        found = model_of(problem, pairs, questions, dependence=0.13)
        errors[size] = found.at(4000)
        many = found.at(10**9)
        assert max(many) < 0.2, "nothing is left to chance"
    assert errors[8][0] < 0.05
    assert errors[8][1] < 0.12
    assert 0.05 < errors[64][0] < 0.13
    assert 0.7 < errors[64][1] < errors[64][2] < 1


def test_a_coarse_table_tells_less(configure):
    config = configure(SIZES, strategy="auto", cells=False, order=1)
    first, *rest = config.universe.attributes
    edges = tuple(map(Fraction, range(17)))
    age = replace(first, kind="integer", levels=(), edges=edges)
    age = replace(age, hierarchy=balanced_levels(age, 2))
    problem = problem_of(replace(config, universe=Universe((age, *rest)), public_totals=()))
    name, other = problem.universe.names[:2]
    question = asked(problem, (name, other))

    def error(steps):
        event = table_event(
            problem, Margin((name, other), (steps, 0)), Fraction(1), noise="laplace"
        )
        return model_of(problem, [event], question).at(10**5)[0]

    assert error(0) < error(1) < error(2)


def test_intervals_are_off_by_a_part_of_their_table(configure):
    config = configure(SIZES, strategy="auto", cells=False, order=2, total=10**5)
    names = config.universe.names[:2]
    ranges = (RangeQueries(names, "range"),)
    problem = problem_of(replace(config, workload=replace(config.workload, ranges=ranges)))
    way = next(iter(wide_ways(problem)))
    found = dict(
        zip(
            ((q.kind, q.attributes) for q in problem.questions),
            model_of(problem, way.events, problem.questions).at(10**5),
            strict=True,
        )
    )
    assert found["range", names] == pytest.approx(OF_RANGES * found["marginal", names])


def test_the_size_decides_which_model_speaks(configure):
    wide = problem_of(configure(SIZES, order=1))
    small = problem_of(configure(SIZES[:4], order=1))
    assert isinstance(errors_after_fit(wide, [], wide.questions), ErrorsOfClasses)
    assert not isinstance(errors_after_fit(small, [], small.questions), ErrorsOfClasses)


def test_a_list_tells_of_cells_only_where_records_share_them(configure):
    """By the forecast: as few cells as records, and 10,000 for each."""
    sizes = (10,) * 10
    config = configure(sizes, strategy="sparse", order=1, total=10**10)
    problem = problem_of(config)
    way = next(iter(wide_ways(problem)))
    model = model_of(problem, way.events, problem.questions)
    crowded, thin = (dict_of(problem, model.at(records)) for records in (10**10, 10**6))
    assert crowded["cells"] < 0.5
    assert 0.95 < thin["cells"] < 1


def dict_of(problem, errors):
    return {q.kind: error for q, error in zip(problem.questions, errors, strict=True)}


def test_more_noise_is_never_better(problem):
    questions = asked(problem, *names_of(problem, 2)[:3])
    errors = []
    for epsilon in ("1/10", "1", "10"):
        purse = Purse(Fraction(epsilon), "laplace")
        margins = [Margin(each, (0, 0)) for each in names_of(problem, 2)]
        events = purse.events(problem, margins, [1.0] * len(margins))
        errors.append(max(model_of(problem, events, questions).at(10**5)))
    assert errors == sorted(errors, reverse=True)


def test_chosen_pairs_stand_for_more_than_as_many_others(configure):
    sizes = (6,) * 14
    problem = problem_of(configure(sizes, strategy="auto", order=2, cells=False))
    assert is_wide(problem)
    ways = [way for way in wide_ways(problem) if way.tables == "1-way + chosen pairs"]
    for way in ways:
        chosen = errors_after_fit(problem, way.events, problem.questions, way.schedule)
        others = errors_after_fit(problem, way.events, problem.questions)
        pairs = [number for number, each in enumerate(problem.questions) if len(each.energy) == 2]
        for records in (10**4, 10**6):
            better, worse = (np.array(each.at(records))[pairs].mean() for each in (chosen, others))
            assert better < worse


def test_of_few_columns_most_of_what_pairs_tell_is_in_those_chosen(configure):
    """Without noise all that is left is the part (1 - p)^5 that no chosen pair implies."""
    problem = problem_of(configure((6,) * 7, strategy="auto", order=3, cells=False))
    pair = [len(each.energy) for each in problem.questions].index(2)
    triple = [len(each.energy) for each in problem.questions].index(3)
    errors = {}
    for way in wide_ways(problem):
        found = model_of(problem, way.events, problem.questions, way.schedule)
        errors[way.tables, len(way.events)] = found.at(10**12)
    nothing, everything = (errors[each][pair] for each in (("1-way", 7), ("1-way + all pairs", 28)))
    for count in (7, 10):
        left = (1 - count / 21) ** CHOSEN
        found = errors["1-way + chosen pairs", 7 + count][pair]
        assert found == pytest.approx(left * nothing + (1 - left) * everything, rel=0.02)
    one, two = (errors["1-way + all pairs + chosen triples", 28 + n][triple] for n in (1, 2))
    assert two < one < errors["1-way + all pairs", 28][triple]


def test_columns_of_one_code_change_neither_pairs_nor_errors(configure):
    """They stand in no pair, so that the others keep their noise, and count nowhere."""

    def weighed(sizes):
        problem = problem_of(configure(sizes, strategy="auto", cells=False, total=10**5, order=3))
        ways = [way for way in wide_ways(problem) if way.tables == "1-way + all pairs"]
        several = [attribute.name for attribute in problem.attributes if attribute.size > 1]
        questions = asked(problem, several[:1], several[:2], several[:3])
        found = [errors_after_fit(problem, way.events, questions).at(10**5) for way in ways]
        return [sum(len(event.table) == 2 for event in way.events) for way in ways], found

    pairs, errors = weighed(SIZES)
    more_pairs, more_errors = weighed((1, *SIZES, 1, 1))
    assert more_pairs == pairs == [math.comb(len(SIZES), 2)] * len(pairs)
    assert np.array(more_errors) == pytest.approx(np.array(errors), rel=0.05)


def test_a_table_of_columns_of_one_code_is_never_off(configure):
    problem = problem_of(configure((1, *SIZES), strategy="auto", cells=False, total=10**5, order=1))
    constant, other = problem.universe.names[:2]
    events = events_of(problem, [(name,) for name in problem.universe.names])
    alone, both, single = model_of(
        problem, events, asked(problem, (constant,), (constant, other), (other,))
    ).at(10**5)
    assert alone == 0.0
    assert both == single > 0.0
