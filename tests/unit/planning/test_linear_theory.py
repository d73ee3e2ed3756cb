"""Variances by components, against explicit matrices: every table, query and covariance in full."""

from fractions import Fraction
from functools import reduce
from itertools import combinations
from random import Random

import numpy as np
import pytest

from synth.config import RangeQueries, WeightedMarginal, WorkloadConfig
from synth.domain import Attribute, HierarchyLevel, Margin, Universe
from synth.planning.linear_theory import (
    axes_of,
    axis_of,
    cells_of,
    components_of,
    interval_count,
    margin_at,
    point_of,
    questions_of,
    variances_by_part,
)
from synth.planning.problem import problem_of

ONE = Fraction(1)


def ordered(name, bins, levels=(), *, missing=False):
    """An attribute with numbered bins; `levels` list the group of every code, coarsest first."""
    hierarchy = tuple(
        HierarchyLevel(f"level {i}", tuple(groups), tuple(map(str, range(max(groups) + 1))))
        for i, groups in enumerate(levels)
    )
    edges = tuple(map(Fraction, range(bins + 1)))
    known = ("?",) if missing else ()
    return Attribute(name, "number", edges=edges, missing=known, hierarchy=hierarchy)


def runs(bins, parts, *, missing=False):
    """The groups of `parts` runs of bins, of equal length give or take one; missing alone."""
    starts = [part * bins // parts for part in range(parts + 1)]
    groups = [part for part in range(parts) for _ in range(starts[part], starts[part + 1])]
    return [*groups, parts] if missing else groups


def table_matrix(universe, margin):
    """One row per cell of the margin, one column per cell of the universe."""
    steps = dict(zip(margin.names, margin.coarsening, strict=True))

    def part(attribute):
        groups = np.array(attribute.groups(steps.get(attribute.name, attribute.depth)))
        return (groups == np.arange(groups.max() + 1)[:, None]).astype(float)

    return reduce(np.kron, map(part, universe.attributes))


def interval_matrix(attribute, kind):
    """One row per interval of bins."""
    bins = range(attribute.bin_count)
    return np.array(
        [
            [float(low <= code <= high) for code in range(attribute.size)]
            for low in bins
            for high in bins
            if low <= high and (kind == "range" or low == 0)
        ]
    )


def query_matrix(universe, question):
    """One row per query."""

    def part(attribute):
        if attribute.name not in question.attributes:
            return np.ones((1, attribute.size))
        if question.is_table:
            return np.eye(attribute.size)
        return interval_matrix(attribute, question.kind)

    return reduce(np.kron, map(part, universe.attributes))


def least_squares_variance(universe, margins, precisions, question):
    """The mean over the queries of w (sum_B A_B' A_B / v_B)^+ w'."""
    information = sum(
        precision * table_matrix(universe, margin).T @ table_matrix(universe, margin)
        for margin, precision in zip(margins, precisions, strict=True)
    )
    queries = query_matrix(universe, question)
    return np.trace(queries @ np.linalg.pinv(information) @ queries.T) / len(queries)


def ratio(universe, margins, precisions, *, marginals=(), ranges=()):
    """Our standard deviation of every question over that of the matrices."""
    axes = axes_of(universe)
    workload = WorkloadConfig(
        tuple(WeightedMarginal(names, ONE) for names in marginals),
        cells=False,
        ranges=tuple(RangeQueries(names, kind, ONE) for names, kind in ranges),
    )
    questions = questions_of(workload, axes)
    components = components_of(axes, tuple(point_of(axes, margin) for margin in margins))
    assert components.answers(questions).all()
    precision = np.array(precisions) @ components.information
    energy = components.energy(questions)
    ours = (energy / np.where(precision > 0, precision, np.inf)).sum(axis=1)
    exact = [least_squares_variance(universe, margins, precisions, q) for q in questions]
    return np.sqrt(ours / exact)


def precisions_of(count, seed):
    return np.random.default_rng(seed).uniform(0.1, 1, count) ** 2


def every_margin(universe):
    axes = axes_of(universe)
    grids = np.stack(np.meshgrid(*(axis.measured for axis in axes), indexing="ij"), axis=-1)
    points = [tuple(map(int, point)) for point in grids.reshape(-1, len(axes))]
    return [margin_at(universe, axes, point) for point in points if any(point)]


def test_marginals_without_hierarchies_are_exact():
    universe = Universe((ordered("b", 3), ordered("a", 4, missing=True), ordered("c", 2)))
    margins = every_margin(universe)
    assert len(margins) == 7
    found = ratio(
        universe,
        margins,
        precisions_of(7, 1),
        marginals=[("a",), ("b", "c"), ("b", "a", "c")],
        ranges=[(("a",), "prefix"), (("b", "a"), "range")],
    )
    assert found == pytest.approx(1, abs=1e-9)


def test_attributes_of_one_code_and_levels_that_repeat_change_nothing():
    """A level that splits no group holds nothing, but its class holds those before it."""
    repeated = ordered("b", 8, [runs(8, 2), runs(8, 2), runs(8, 8)])
    universe = Universe((ordered("a", 1), repeated, ordered("c", 3)))
    names = universe.names
    margins = [Margin(names, (0, 0, 0)), Margin(("b",), (0,)), Margin(("b", "c"), (2, 0))]
    found = ratio(
        universe,
        margins,
        precisions_of(3, 5),
        marginals=[("b",), ("a", "c"), ("a", "b", "c")],
        ranges=[(("b",), "prefix"), (("a", "b"), "range")],
    )
    assert found == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_balanced_hierarchies_are_exact(seed):
    tree = ordered("b", 8, [runs(8, 2), runs(8, 4)])
    universe = Universe((tree, ordered("a", 6, [runs(6, 3)])))
    margins = every_margin(universe)
    assert len(margins) == 11
    found = ratio(
        universe,
        margins,
        precisions_of(11, seed),
        marginals=[("a",), ("b", "a")],
        ranges=[(("b",), "prefix"), (("b", "a"), "range"), (("b", "a"), "prefix")],
    )
    assert found == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize(
    ("bins", "parts", "missing", "within"),
    [
        (60, (4, 16), False, 0.01),
        (33, (2, 4, 8, 16), False, 0.01),
        (64, (4, 16), True, 0.05),
        (73, (8,), True, 0.09),
        (15, (2, 4, 8), True, 0.11),
    ],
)
@pytest.mark.parametrize("seed", range(2))
def test_unequal_groups_and_a_missing_level_are_nearly_exact(bins, parts, missing, within, seed):
    """What is left out is how the noise of different levels is correlated (docs/planning.md)."""
    levels = [runs(bins, count, missing=missing) for count in parts]
    universe = Universe((ordered("age", bins, levels, missing=missing),))
    margins = every_margin(universe)
    found = ratio(
        universe,
        margins,
        precisions_of(len(margins), seed),
        marginals=[("age",)],
        ranges=[(("age",), "prefix"), (("age",), "range")],
    )
    assert found == pytest.approx(1, abs=within)


def test_a_skewed_hierarchy_in_two_dimensions_is_nearly_exact():
    skewed = ordered("b", 10, [[0] * 7 + [1] * 3, [0] * 5 + [1] * 2 + [2] + [3] * 2])
    universe = Universe((skewed, ordered("a", 3, missing=True)))
    margins = every_margin(universe)
    found = ratio(
        universe,
        margins,
        precisions_of(len(margins), 5),
        marginals=[("a",), ("b",), ("b", "a")],
        ranges=[(("b",), "prefix"), (("b", "a"), "range")],
    )
    assert found == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("kind", ["prefix", "range"])
@pytest.mark.parametrize("missing", [False, True])
def test_energies_are_those_of_every_interval(kind, missing):
    attribute = ordered("age", 12, [] if missing else [runs(12, 5)], missing=missing)
    axis = axis_of(attribute)
    intervals = interval_matrix(attribute, kind)
    assert len(intervals) == interval_count(12, kind)
    for partition, energy in enumerate(axis.interval_energy(kind)):
        groups = axis.group_of[partition]
        within = (groups == groups[:, None]) / np.bincount(groups)[groups]
        projected = intervals @ within
        expected = (projected**2).sum(axis=1).mean() / attribute.size
        assert energy == pytest.approx(expected, rel=1e-12)


def test_noise_factors_are_means_over_a_basis():
    axis = axis_of(ordered("age", 12, [runs(12, 5)]))
    assert axis.groups == (1, 2, 5, 12)  # runs of 2 and of 3 bins are merged by length first
    assert axis.measured == (0, 2, 3)
    projections = []
    for partition in range(4):
        groups = axis.group_of[partition]
        projections.append((groups == groups[:, None]) / np.bincount(groups)[groups])
    for level in range(4):
        part = projections[level] - (projections[level - 1] if level else 0)
        values, vectors = np.linalg.eigh(part)
        basis = vectors[:, values > 0.5].T
        for partition in range(level, 4):
            sizes = np.bincount(axis.group_of[partition])[axis.group_of[partition]]
            noise = 12 * (basis**2 / sizes).sum(axis=1).mean()
            assert axis.noise_factor[level, partition] == pytest.approx(noise)


def test_what_no_table_tells_is_not_answered():
    universe = Universe((ordered("b", 8, [runs(8, 2)]), ordered("a", 3)))
    axes = axes_of(universe)
    workload = WorkloadConfig(
        (WeightedMarginal(("b",), ONE), WeightedMarginal(("a",), ONE)), cells=False
    )
    questions = (*questions_of(workload, axes), cells_of(("b", "a"), axes))
    coarse = Margin(("b", "a"), (1, 0))
    components = components_of(axes, (point_of(axes, coarse),))
    assert components.answers(questions).tolist() == [False, True, False]


def test_classes_do_not_grow_with_the_universe():
    """The universe of thirty columns and all their pairs: 1 + 30 + 435 + 1 classes."""
    universe = Universe(tuple(ordered(f"c{i:02}", 10) for i in range(30)))
    axes = axes_of(universe)
    pairs = [
        tuple(axis.depth if i in (j, k) else 0 for i, axis in enumerate(axes))
        for k in range(30)
        for j in range(k)
    ]
    full = tuple(axis.depth for axis in axes)
    components = components_of(axes, (full, *pairs))
    assert len(components.classes) == 1 + 30 + 435 + 1
    # one cell of the universe, from the universe alone, has the variance of its noise
    precision = np.eye(436)[0] @ components.information
    cell = components.energy((cells_of(universe.names, axes),))
    assert (cell / precision).sum() == pytest.approx(1)


@pytest.mark.parametrize("at_codes", [True, False], ids=["codes", "any resolution"])
def test_margins_one_question_at_a_time_are_the_same_theory(at_codes):
    """Random sets of margins, over hierarchies with groups of equal sizes and of others."""
    universe = Universe(
        (
            Attribute("a", "categorical", tuple("xyz")),
            ordered("b", 7, [runs(7, 2), runs(7, 4)], missing=False),
            ordered("c", 8, [runs(8, 2), runs(8, 4)]),
            ordered("d", 5, [runs(5, 2, missing=True)], missing=True),
        )
    )
    axes = axes_of(universe)
    names = [axis.name for axis in axes]
    asked = tuple(chosen for order in (1, 2, 3) for chosen in combinations(names, order))
    workload = WorkloadConfig(
        tuple(WeightedMarginal(chosen, ONE) for chosen in asked),
        cells=False,
        ranges=tuple(
            RangeQueries((name,), kind, ONE) for name in "bcd" for kind in ("prefix", "range")
        ),
    )
    questions = questions_of(workload, axes)
    random = Random(1)
    for _ in range(100):
        count = random.randint(1, 8)
        points = sorted(
            {
                tuple(
                    random.choice((0, axis.depth) if at_codes else axis.measured) for axis in axes
                )
                for _ in range(count)
            }
        )
        precisions = [random.uniform(0.1, 9) for _ in points]
        components = components_of(axes, tuple(points))
        known = components.answers(questions)
        expected = components.variances(questions, precisions)
        found = variances_by_part(axes, points, questions, precisions)
        assert [each is not None for each in found] == known.tolist()
        ours = [each for each in found if each is not None]
        assert ours == pytest.approx(expected[known].tolist(), rel=1e-9)


def test_questions_are_the_same_ones_for_every_budget(configure):
    """What is worked out for questions is kept: further forecasts of a workload add nothing."""
    problems = [problem_of(configure((3, 4, 2), epsilon=epsilon)) for epsilon in "12"]
    one, other = problems
    assert one.axes is other.axes
    for made in (
        lambda problem: problem.questions,
        lambda problem: questions_of(problem.workload, problem.axes),
        lambda problem: cells_of(problem.universe.names, problem.axes),
    ):
        assert made(one) is made(other)
