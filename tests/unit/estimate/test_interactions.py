"""The basis of interactions against explicit Kronecker products and plain sums."""

from collections.abc import Callable
from functools import reduce
from itertools import combinations, product

import numpy as np
import pytest
from scipy.linalg import helmert

from synth.domain import Margin, Universe
from synth.estimate.interactions import Interactions

Levels = tuple[tuple[int, ...], ...]
Explicit = Callable[..., tuple[np.ndarray, list[int]]]
SHAPES = [(1,), (5,), (2, 3), (3, 1, 4), (2, 2, 2, 2), (4, 3, 2, 2)]


def basis(shape: tuple[int, ...]) -> np.ndarray:
    return reduce(np.kron, [helmert(n, full=True) if n > 1 else np.ones((1, 1)) for n in shape])


@pytest.mark.parametrize("shape", SHAPES)
def test_transforms_are_the_kronecker_product_of_helmert_bases(shape: tuple[int, ...]) -> None:
    interactions = Interactions(shape)
    cells = np.random.default_rng(1).normal(size=interactions.size)
    explicit = basis(shape)
    signs = np.sign((explicit @ cells) * interactions.forward(cells))
    assert np.allclose(np.abs(explicit @ cells), np.abs(interactions.forward(cells)))
    assert set(signs) <= {-1.0, 1.0}
    assert np.allclose(interactions.inverse(interactions.forward(cells)), cells)
    assert np.allclose(interactions.forward(interactions.inverse(cells)), cells)
    assert np.allclose(explicit**2 @ np.abs(cells), interactions.squares(np.abs(cells)))


def test_a_coefficient_belongs_to_the_attributes_that_it_varies_with() -> None:
    shape = (3, 2, 4)
    interactions = Interactions(shape)
    for number in range(interactions.size):
        unit = np.zeros(interactions.size)
        unit[number] = 1.0
        function = interactions.inverse(unit).reshape(shape)
        varies = [bool(np.ptp(function, axis=axis).max() > 1e-12) for axis in range(3)]
        subset = sum(1 << axis for axis in range(3) if varies[axis])
        assert interactions.component[number] == subset
        assert interactions.order[number] == sum(varies)


def test_dimensions_count_the_coefficients_of_each_set() -> None:
    interactions = Interactions((3, 2, 4, 1))
    sets, counts = np.unique(interactions.component, return_counts=True)
    assert [interactions.dimension(int(s)) for s in sets] == counts.tolist()


@pytest.mark.parametrize("shape", [(3, 2, 4), (2, 1, 3, 2), (5,)])
def test_tables_are_all_the_sums_over_few_attributes(shape: tuple[int, ...]) -> None:
    cells = np.random.default_rng(2).normal(size=shape)
    found = dict(Interactions(shape).tables(cells.reshape(-1), 2))
    wide = [axis for axis, size in enumerate(shape) if size > 1]
    wanted = {}
    for order in (1, 2):
        for chosen in combinations(wide, order):
            rest = tuple(axis for axis in range(len(shape)) if axis not in chosen)
            wanted[sum(1 << axis for axis in chosen)] = cells.sum(axis=rest).reshape(-1)
    assert found.keys() == wanted.keys()
    for subset, table in wanted.items():
        assert np.allclose(found[subset], table)


# (size, groups of the codes for each coarser level); the groups of the first are of unequal size
DEEP: list[tuple[int, Levels]] = [
    (6, ((0, 0, 0, 0, 1, 1), (0, 0, 1, 1, 2, 3))),
    (1, ()),
    (3, ()),
    (4, ((0, 0, 1, 1),)),
]


@pytest.fixture(name="deep")
def _deep(make_deep_universe: Callable[..., Universe]) -> Interactions:
    return Interactions.of(make_deep_universe(DEEP))


@pytest.fixture(name="explicit")
def _explicit(explicit_axis: Explicit) -> np.ndarray:
    return reduce(np.kron, [explicit_axis(*axis)[0] for axis in DEEP])


def every_component() -> list[tuple[int, ...]]:
    return list(product(range(4), range(1), range(2), range(3)))


def number_of(deep: Interactions, levels: tuple[int, ...]) -> int:
    return sum(level * stride for level, stride in zip(levels, deep.strides, strict=True))


def test_deep_transforms_are_the_kronecker_product_of_the_axes(
    deep: Interactions, explicit: np.ndarray
) -> None:
    cells = np.random.default_rng(1).normal(size=deep.size)
    assert np.allclose(deep.forward(cells), explicit @ cells)
    assert np.allclose(deep.inverse(cells), explicit.T @ cells)
    assert np.allclose(deep.squares(cells**2), explicit**2 @ cells**2)


def test_a_component_says_at_which_resolution_each_attribute_appears(
    deep: Interactions, explicit_axis: Explicit
) -> None:
    per_axis = [explicit_axis(*axis)[1] for axis in DEEP]
    found = [deep.levels(int(component)) for component in deep.component]
    assert found == list(product(*per_axis))
    assert deep.order.tolist() == [sum(level > 0 for level in levels) for levels in found]
    for levels in every_component():
        component = number_of(deep, levels)
        assert deep.levels(component) == levels
        assert deep.component_order(component) == sum(level > 0 for level in levels)
        assert deep.dimension(component) == found.count(levels)
    assert deep.component.max() < deep.component_count == 4 * 2 * 2 * 3


def grouping(levels: tuple[int, ...]) -> np.ndarray:
    """One row per cell of a margin, one where a cell of the universe lies in it."""
    rows = []
    for (size, groups), level in zip(DEEP, levels, strict=True):
        chain = [(0,) * size, *groups, tuple(range(size))]
        rows.append(np.equal.outer(np.arange(max(chain[level]) + 1), chain[level]).astype(float))
    return reduce(np.kron, rows)


@pytest.mark.parametrize("max_order", [1, 2, 3])
def test_deep_tables_are_the_sums_over_the_groups(deep: Interactions, max_order: int) -> None:
    cells = np.random.default_rng(2).normal(size=deep.size)
    found = dict(deep.tables(cells, max_order))
    few = [c for c in every_component() if 0 < sum(level > 0 for level in c) <= max_order]
    assert sorted(found) == sorted(number_of(deep, levels) for levels in few)
    for levels in few:
        component = number_of(deep, levels)
        wanted = grouping(levels) @ cells
        assert np.allclose(found[component], wanted)
        assert deep.cells(component) == wanted.size
        spread = np.broadcast_to(deep.spread_out(component, wanted), deep.shape)
        assert np.allclose(spread.reshape(-1), grouping(levels).T @ wanted)


@pytest.mark.parametrize("levels", every_component())
def test_a_margin_has_the_functions_that_are_constant_on_its_cells(
    levels: tuple[int, ...], deep: Interactions, explicit: np.ndarray
) -> None:
    margin = grouping(levels)
    places = deep.margin_places(levels)
    size = margin.sum(axis=1, keepdims=True)
    inside = [
        number
        for number, function in enumerate(explicit)
        if np.allclose(margin.T @ (margin @ function / size[:, 0]), function)
    ]
    assert places.tolist() == inside

    cells = np.random.default_rng(3).normal(size=deep.size)
    sums = margin @ cells
    assert np.allclose(deep.margin_sums(levels, cells), sums)
    on_sums = explicit[places] @ (margin / size).T
    assert np.allclose(on_sums @ sums, explicit[places] @ cells)
    assert np.allclose(deep.margin_forward(levels, sums), on_sums @ sums)
    covariance = on_sums @ on_sums.T
    assert np.allclose(deep.margin_noise(levels), np.diag(covariance))
    if np.ptp(size) == 0.0:
        assert np.allclose(covariance, np.diag(np.diag(covariance)))


def test_resolutions_count_from_the_coarsest(make_deep_universe: Callable[..., Universe]) -> None:
    universe = make_deep_universe(DEEP)
    interactions = Interactions.of(universe)
    cells = np.random.default_rng(4).integers(0, 9, size=interactions.size)
    for names, coarsening, wanted in [
        (("a0", "a3"), (0, 1), (3, 0, 0, 1)),
        (("a0",), (2,), (1, 0, 0, 0)),
        (("a0", "a1", "a2"), (1, 0, 0), (2, 0, 1, 0)),
        (("a1",), (0,), (0, 0, 0, 0)),
        ((), (), (0, 0, 0, 0)),
    ]:
        margin = Margin(names, coarsening)
        assert interactions.resolutions(margin, universe) == wanted
        assert np.array_equal(
            interactions.margin_sums(wanted, cells), margin.sums(universe, cells).astype(float)
        )
