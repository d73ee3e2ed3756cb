"""Components of few attributes in a few tables, against the transforms of all cells."""

from itertools import combinations

import numpy as np
import pytest

from synth.estimate.axis_basis import AxisBasis
from synth.estimate.component_tables import ComponentTables
from synth.estimate.interactions import Interactions

LARGE = (3, 8, 6, 5, 9, 8)
HALVES = AxisBasis(8, ((0, 0, 0, 0, 1, 1, 1, 1), (0, 0, 1, 1, 2, 2, 3, 3)))
NESTED = Interactions((8, 9, 8, 8, 8), [HALVES, AxisBasis(9), HALVES, AxisBasis(8), HALVES])


def up_to(interactions: Interactions, order: int) -> list[int]:
    return np.unique(interactions.component[interactions.order <= order]).tolist()


def holding(interactions: Interactions, *sets: tuple[int, ...]) -> list[int]:
    """All components of exactly these attributes, and the constant."""
    return [
        each
        for each in np.unique(interactions.component).tolist()
        if tuple(a for a, level in enumerate(interactions.levels(each)) if level) in ((), *sets)
    ]


CASES = {
    "triples of six": (Interactions(LARGE), up_to(Interactions(LARGE), 3)),
    "columns of six": (Interactions(LARGE), up_to(Interactions(LARGE), 1)),
    "two far apart": (Interactions(LARGE), holding(Interactions(LARGE), (0, 5), (1, 2, 4, 5))),
    "triples and one of four": (
        Interactions(LARGE),
        [*up_to(Interactions(LARGE), 3), *holding(Interactions(LARGE), (0, 1, 3, 5))[1:]],
    ),
    "all": (Interactions(LARGE), up_to(Interactions(LARGE), 6)),
    "every four": (Interactions(LARGE), holding(Interactions(LARGE), *combinations(range(6), 4))),
    "constant": (Interactions(LARGE), [0]),
    "hierarchies": (NESTED, up_to(NESTED, 3)),
    "small": (Interactions((2, 3, 1, 4)), up_to(Interactions((2, 3, 1, 4)), 2)),
    "long and few": (Interactions((2, 1, 40_000)), up_to(Interactions((2, 1, 40_000)), 1)),
}


@pytest.mark.parametrize("name", CASES)
def test_tables_give_the_transforms_of_their_components(name: str) -> None:
    interactions, components = CASES[name]
    tables = ComponentTables(interactions, components)
    cells = np.random.default_rng(3).normal(size=interactions.size)
    asked = np.isin(interactions.component, components)
    wanted = np.where(asked, interactions.forward(cells), 0.0)
    assert np.allclose(tables.forward(cells), wanted, atol=1e-12)
    assert np.allclose(tables.inverse(interactions.forward(cells)), interactions.inverse(wanted))
    squares = interactions.squares(np.abs(cells))
    assert np.allclose(tables.squares(np.abs(cells)), np.where(asked, squares, 0.0))
