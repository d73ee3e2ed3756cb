"""Candidate margins: the closure of marginals, grids of ranges, and limits."""

from fractions import Fraction
from itertools import combinations

from synth.config import RangeQueries, WeightedMarginal, WorkloadConfig
from synth.domain import Attribute, Universe
from synth.domain.attribute import balanced_levels
from synth.planning.linear_theory import axes_of, margin_at, point_of, questions_of
from synth.planning.margins import MOST_CANDIDATES, cells_at, points_of


def binned(name, bins, branching):
    bare = Attribute(name, "integer", edges=tuple(map(Fraction, range(bins + 1))))
    return Attribute(name, "integer", edges=bare.edges, hierarchy=balanced_levels(bare, branching))


def points(universe, marginals=(), ranges=()):
    axes = axes_of(universe)
    workload = WorkloadConfig(
        tuple(WeightedMarginal(names, Fraction(1)) for names in marginals),
        cells=False,
        ranges=tuple(RangeQueries(names, "range", Fraction(1)) for names in ranges),
    )
    return axes, points_of(axes, questions_of(workload, axes))


def test_marginals_bring_their_own_marginals():
    universe = Universe(tuple(binned(name, 3, 4) for name in "dabc"))
    axes, found = points(universe, marginals=[("d", "a"), ("c",)])
    names = {margin_at(universe, axes, point).names for point in found}
    assert names == {("d",), ("a",), ("d", "a"), ("c",)}
    assert {cells_at(axes, point) for point in found} == {3, 9}


def test_a_margin_is_its_point():
    universe = Universe((binned("b", 16, 2), binned("a", 9, 3)))
    axes, found = points(universe, ranges=[("b", "a")])
    assert len(found) == len(set(found)) == 5 * 3 - 1
    for point in found:
        assert point_of(axes, margin_at(universe, axes, point)) == point


def test_many_resolutions_are_taken_together_as_in_a_quadtree():
    universe = Universe((binned("a", 256, 2), binned("b", 256, 2), binned("c", 4, 2)))
    axes, found = points(universe, ranges=[("a", "b", "c")])
    assert len(found) == 9 * 9 * 3 - 1  # 242 products are few enough
    wide = Universe((binned("a", 256, 2), binned("b", 256, 2), binned("c", 256, 2)))
    axes, found = points(wide, ranges=[("a", "b", "c")])
    assert [cells_at(axes, point) for point in found] == [8**step for step in range(1, 9)]


def test_wide_workloads_are_cut_by_order():
    universe = Universe(tuple(binned(f"c{i:02}", 2, 4) for i in range(40)))
    names = universe.names
    asked = [chosen for order in (1, 2, 3) for chosen in combinations(names, order)]
    _, found = points(universe, marginals=asked)
    assert len(found) == 40 + 780 <= MOST_CANDIDATES
