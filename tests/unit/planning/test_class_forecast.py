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
from synth.planning.class_forecast import (
    CHOSEN_OF_FEW,
    FEW_LEVELS,
    LAWS,
    LEFT_OF_ONE_WAY,
    MISFIT,
    OF_RANGES,
    TRIPLES_LEAVE,
    ErrorsOfClasses,
    errors_after_fit,
)
from synth.planning.linear_theory import marginal
from synth.planning.noise_sums import MEAN_ABSOLUTE, noise_variance
from synth.planning.problem import problem_of
from synth.planning.spending import Purse, table_event
from synth.planning.wide import is_wide, wide_ways

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


def law(order, q, ones, *, triples=0.0):
    """The slow definition, letter by letter."""
    it, d = LAWS[order], len(SIZES)
    g = math.exp(sum(map(math.log, SIZES)) / d)
    seen = it.seen[0] * g ** it.seen[1] * d ** it.seen[2] * q ** -it.seen[3]
    seen += (1 - (1 - TRIPLES_LEAVE) * triples) * it.floor[0] * g ** it.floor[1]
    lost = it.lost[0] * g ** it.lost[1] * d ** it.lost[2] + ones
    both = (seen**-it.sharpness + lost**-it.sharpness) ** (-1 / it.sharpness)
    return both, lost


def test_all_pairs_follow_the_law(problem):
    events = events_of(problem, names_of(problem, 2))
    first, second, third = problem.universe.names[:3]
    questions = asked(problem, (first, second), (first, second, third))
    found = ErrorsOfClasses(problem.axes, events, questions).at(10**5)
    assert len({noise_variance(event) for event in events}) == 1
    for order, error in zip((2, 3), found, strict=True):
        precise = [sum(1 / s for s in SIZES) - 1 / s for s in SIZES[:order]]
        sds = [math.sqrt(noise_variance(events[0]) / p) for p in precise]
        one = [
            LEFT_OF_ONE_WAY * MEAN_ABSOLUTE / 2 * s * sd / 10**5
            for s, sd in zip(SIZES[:order], sds, strict=True)
        ]
        expected, _ = law(order, signal(events[0], 10**5), sum(one) / order)
        assert error == pytest.approx(expected, rel=1e-9)


def left_of_one_way(size, event, records):
    noise = MEAN_ABSOLUTE / 2 * size * math.sqrt(noise_variance(event)) / records
    return LEFT_OF_ONE_WAY * noise / (1 + noise * (1 + size / FEW_LEVELS))


def test_one_way_tables_alone_lose_all_dependence(problem):
    events = events_of(problem, names_of(problem, 1))
    a, b = problem.universe.names[:2]
    one, other, pair = ErrorsOfClasses(problem.axes, events, asked(problem, (a,), (b,), (a, b))).at(
        10**4
    )
    assert one == pytest.approx(left_of_one_way(SIZES[0], events[0], 10**4))
    _, lost = law(2, 1.0, (one + other) / 2)
    assert pair == pytest.approx(lost)


def test_one_way_tables_suffer_from_the_fit_of_pairs(problem):
    events = events_of(problem, names_of(problem, 2), epsilon="100")
    (error,) = ErrorsOfClasses(problem.axes, events, asked(problem, ("column-0",))).at(10**5)
    floor, _ = law(2, signal(events[0], 10**5), 0.0)
    assert error == pytest.approx(MISFIT * floor, rel=0.01)


def test_pairs_that_are_not_measured_are_worse(problem):
    every = names_of(problem, 2)
    half = ErrorsOfClasses(problem.axes, events_of(problem, every[::2]), asked(problem, *every))
    errors = np.array(half.at(10**5))
    assert errors[::2].max() < errors[1::2].min()
    more = ErrorsOfClasses(problem.axes, events_of(problem, every), asked(problem, *every))
    assert (np.array(more.at(10**5)) < errors).all()


def test_triples_lower_the_floor(problem):
    pairs, triples = names_of(problem, 2), names_of(problem, 3)
    question = asked(problem, triples[0])
    records = 10**12  # no noise is left
    without = ErrorsOfClasses(problem.axes, events_of(problem, pairs), question).at(records)
    beside = ErrorsOfClasses(problem.axes, events_of(problem, pairs + triples), question)
    assert beside.at(records)[0] == pytest.approx(TRIPLES_LEAVE * without[0], rel=1e-3)


def test_errors_fall_with_records_and_rise_with_columns(problem):
    events = events_of(problem, names_of(problem, 2))
    questions = asked(problem, *(problem.universe.names[:order] for order in (1, 2, 3, 4, 6, 12)))
    model = ErrorsOfClasses(problem.axes, events, questions)
    tables = [model.at(records) for records in (10, 10**3, 10**5, 10**7)]
    for few, many in pairwise(tables):
        assert all(more <= less for more, less in zip(many, few, strict=True))
    for errors in tables:
        assert errors == sorted(errors)
        assert all(
            0 < error <= 1 - 2.0 ** -len(question.attributes)
            for error, question in zip(errors, questions, strict=True)
        )


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
        return ErrorsOfClasses(problem.axes, [event], question).at(10**5)[0]

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
            ErrorsOfClasses(problem.axes, way.events, problem.questions).at(10**5),
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
    """By the forecast; few cells for each record, and many."""
    sizes = (10,) * 10
    config = configure(sizes, strategy="sparse", order=1, total=10**10)
    problem = problem_of(config)
    way = next(iter(wide_ways(problem)))
    model = ErrorsOfClasses(problem.axes, way.events, problem.questions)
    crowded, thin = (dict_of(problem, model.at(records)) for records in (10**10, 10**6))
    assert crowded["cells"] < 0.5
    assert thin["cells"] == 1


def dict_of(problem, errors):
    return {q.kind: error for q, error in zip(problem.questions, errors, strict=True)}


def test_more_noise_is_never_better(problem):
    questions = asked(problem, *names_of(problem, 2)[:3])
    errors = []
    for epsilon in ("1/10", "1", "10"):
        purse = Purse(Fraction(epsilon), "laplace")
        margins = [Margin(each, (0, 0)) for each in names_of(problem, 2)]
        events = purse.events(problem, margins, [1.0] * len(margins))
        errors.append(max(ErrorsOfClasses(problem.axes, events, questions).at(10**5)))
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
        found = ErrorsOfClasses(problem.axes, way.events, problem.questions, way.schedule)
        errors[way.tables, len(way.events)] = found.at(10**12)
    nothing, everything = (errors[each][pair] for each in (("1-way", 7), ("1-way + all pairs", 28)))
    for count in (7, 10):
        left = (1 - count / 21) ** CHOSEN_OF_FEW
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
    alone, both, single = ErrorsOfClasses(
        problem.axes, events, asked(problem, (constant,), (constant, other), (other,))
    ).at(10**5)
    assert alone == 0.0
    assert both == single > 0.0
