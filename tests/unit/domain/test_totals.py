"""Public totals: atoms, the nearest whole solution, and what is refused."""

from itertools import product

import numpy as np
import pytest

from synth.domain import Attribute, Conjunction, PublicTotal, Universe
from synth.domain.totals import atoms_of, check_public_totals, whole_atom_totals


def make_universe(*impossible: dict[str, tuple[int, ...]]) -> Universe:
    sex = Attribute("sex", "categorical", ("Female", "Male"))
    age = Attribute("age", "categorical", ("young", "middle", "old"))
    return Universe((sex, age), tuple(Conjunction(rule) for rule in impossible))


def total(number: int, **where: tuple[int, ...]) -> PublicTotal:
    return PublicTotal(Conjunction(where), number, "a register")


def test_atoms_are_the_cells_that_the_same_totals_hold() -> None:
    universe = make_universe({"sex": (1,), "age": (2,)})
    atoms = atoms_of(universe, [total(9), total(4, sex=(0,)), total(3, age=(0, 1))])
    assert atoms.atom_of.tolist() == [0, 0, 1, 2, 2, -1]
    assert atoms.membership.tolist() == [
        [True, True, True],
        [True, True, False],
        [True, False, True],
    ]
    assert [cells.tolist() for cells in atoms.cells()] == [[0, 1], [2], [3, 4]]


def test_whole_totals_are_the_nearest_by_enumeration() -> None:
    universe = make_universe()
    atoms = atoms_of(universe, [total(5), total(3, sex=(0,)), total(2, age=(0,))])
    assert atoms.count == 4
    for seed in range(20):
        wanted = np.random.default_rng(seed).gamma(1.0, 1.5, size=4)
        found = whole_atom_totals(atoms, wanted)
        assert found is not None
        possible = [
            np.array(whole)
            for whole in product(range(6), repeat=4)
            if np.array_equal((atoms.membership * np.array(whole)).sum(axis=1), atoms.totals)
        ]
        best = min(float(np.abs(whole - wanted).sum()) for whole in possible)
        assert any(np.array_equal(found, whole) for whole in possible)
        assert float(np.abs(found - wanted).sum()) == pytest.approx(best, abs=1e-6)


def test_totals_that_hold_together_are_accepted() -> None:
    universe = make_universe({"sex": (1,), "age": (2,)})
    family = [total(10**9), total(10**8, sex=(0,)), total(7, age=(0, 1)), total(0, age=(0,))]
    assert check_public_totals(universe, []) is None
    assert check_public_totals(universe, family[:2]) is None
    assert (
        check_public_totals(universe, [total(10), total(4, sex=(0,)), total(3, age=(2,))]) is None
    )


@pytest.mark.parametrize(
    ("family", "sentence"),
    [
        ([total(-1)], "the total of all records is negative (-1)"),
        (
            [total(3, sex=(1,), age=(2,))],
            "the total of sex=Male, age=old is 3, but every cell that it counts is impossible",
        ),
        (
            [total(5), total(9, age=(0,)), total(6, sex=(0,))],
            "no table of whole counts has all of these totals: all records = 5; sex=Female = 6",
        ),
        (
            [total(5), total(5, sex=(0,)), total(1, age=(2,)), total(1, sex=(1,))],
            "no table of whole counts has all of these totals: "
            "all records = 5; sex=Female = 5; sex=Male = 1",
        ),
        ([total(4), total(5)], "all records = 4; all records = 5"),
    ],
)
def test_infeasible_families_are_named(family: list[PublicTotal], sentence: str) -> None:
    universe = make_universe({"sex": (1,), "age": (2,)})
    found = check_public_totals(universe, family)
    assert found is not None
    assert sentence in found


def test_a_family_that_only_fractions_could_meet_is_refused() -> None:
    binary = [Attribute(name, "categorical", ("0", "1")) for name in "xyz"]
    rules = [{"x": (a,), "y": (b,), "z": (c,)} for a, b, c in product((0, 1), repeat=3)]
    allowed = [{"x": (1,), "y": (1,), "z": (0,)}, {"x": (1,), "y": (0,), "z": (1,)}]
    allowed.append({"x": (0,), "y": (1,), "z": (1,)})
    impossible = tuple(Conjunction(rule) for rule in rules if rule not in allowed)
    universe = Universe(tuple(binary), impossible)
    family = [total(1, x=(1,)), total(1, y=(1,)), total(1, z=(1,))]
    found = check_public_totals(universe, family)
    assert found is not None
    assert "x=1 = 1; y=1 = 1; z=1 = 1" in found
