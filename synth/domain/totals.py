"""Public totals: whether they can hold together, on as few cells as can tell them apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from synth.domain.attribute import Attribute, shorten
from synth.domain.universe import LABELS_SHOWN, Conjunction, PublicTotal, Universe


def code_groups(
    universe: Universe, conjunctions: Sequence[Conjunction]
) -> dict[str, tuple[int, ...]]:
    """For every attribute that some set names: the group of each code in `coarsen`'s universe.

    Groups are numbered by the first code that they hold; the impossible rules are sets too.
    """
    sets = (*universe.impossible, *conjunctions)
    found: dict[str, tuple[int, ...]] = {}
    for attribute in universe.attributes:
        naming = [rule.codes[attribute.name] for rule in sets if attribute.name in rule.codes]
        if not naming:
            continue
        inside = [0] * attribute.size
        for bit, codes in enumerate(naming):
            for code in codes:
                inside[code] |= 1 << bit
        group_of = {mask: group for group, mask in enumerate(dict.fromkeys(inside))}
        found[attribute.name] = tuple(group_of[mask] for mask in inside)
    return found


def coarsen(
    universe: Universe, conjunctions: Sequence[Conjunction]
) -> tuple[Universe, tuple[Conjunction, ...]]:
    """Drop attributes that no conjunction names, and merge codes that none tells apart.

    Ensures: every atom of the conjunctions and the impossible rules in the universe is the
    preimage of an atom of the same conjunctions and rules in the coarse universe, and neither
    is empty without the other. Merged codes are labelled by their labels, joined with `|`.
    """
    merged = code_groups(universe, conjunctions)
    coarse: list[Attribute] = []
    for name, group_of in merged.items():
        attribute = universe.attribute(name)
        labels: list[list[str]] = [[] for _ in range(max(group_of) + 1)]
        for code, number in enumerate(group_of):
            group = labels[number]
            if len(group) < LABELS_SHOWN + 2:  # enough to know what to leave out
                group.append(attribute.label(code))
        levels = tuple("|".join(shorten(group, LABELS_SHOWN)) for group in labels)
        coarse.append(Attribute(name, "categorical", levels))

    def moved(rule: Conjunction) -> Conjunction:
        return Conjunction(
            {
                name: tuple(sorted({merged[name][code] for code in codes}))
                for name, codes in rule.codes.items()
            }
        )

    small = Universe(tuple(coarse), tuple(map(moved, universe.impossible)))
    return small, tuple(map(moved, conjunctions))


@dataclass(frozen=True, eq=False)
class Atoms:
    """The coarsest partition of the possible cells in which every total is a sum of parts.

    Shapes: `atom_of[c]` is the atom of cell c, -1 for an impossible cell; `membership[t, a]` says
    whether total t holds atom a; `totals[t]` is the declared number. Atoms are numbered by the
    first cell that they hold.
    """

    atom_of: NDArray[np.int64]
    membership: NDArray[np.bool_]
    totals: NDArray[np.int64]

    @property
    def count(self) -> int:
        """The number of atoms."""
        return int(self.membership.shape[1])

    def cells(self) -> Iterator[NDArray[np.int64]]:
        """The cell numbers of every atom in turn, ascending."""
        order = np.argsort(self.atom_of, kind="stable")
        ends = np.searchsorted(self.atom_of[order], np.arange(self.count + 1))
        for start, end in pairwise(ends):
            yield order[start:end]


def atoms_of(universe: Universe, totals: Sequence[PublicTotal]) -> Atoms:
    """Group the possible cells of a dense universe by the totals that hold them."""
    possible = universe.possible()
    label = np.zeros(universe.size, dtype=np.int64)
    members = [universe.members(total.where) & possible for total in totals]
    for inside in members:
        label = np.unique(label * 2 + inside, return_inverse=True)[1]
    where = np.flatnonzero(possible)
    present, first, dense = np.unique(label[where], return_index=True, return_inverse=True)
    rank = np.empty(present.size, dtype=np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(present.size)
    atom_of = np.full(universe.size, -1, dtype=np.int64)
    atom_of[where] = rank[dense]
    membership = np.zeros((len(totals), present.size), dtype=bool)
    representative = where[np.sort(first)]
    for row, inside in enumerate(members):
        membership[row] = inside[representative]
    return Atoms(atom_of, membership, np.array([t.total for t in totals], dtype=np.int64))


def whole_atom_totals(atoms: Atoms, wanted: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """Whole numbers >= 0, one per atom, that meet every total and are closest to `wanted`.

    Closest is the smallest sum of absolute differences (a mixed integer program). None if no
    whole numbers meet the totals.
    """
    if not atoms.count:
        return np.zeros(0, dtype=np.int64) if not atoms.totals.any() else None
    if np.any(atoms.totals < 0):
        return None
    n = atoms.count
    # Solve for the move from the nearest whole numbers: a small number, whatever the totals.
    start = np.maximum(np.rint(wanted), 0.0)
    # Here, because it takes half a second and every command loads a configuration.
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array, csr_array, eye_array, hstack, vstack

    membership = csr_array(coo_array(atoms.membership.astype(np.float64)))
    missing = atoms.totals - (atoms.membership * start).sum(axis=1)
    if not missing.any():
        return start.astype(np.int64)
    # Variables: moves of every atom up and down. The first unit towards the wanted number costs
    # less than one, since rounding went the other way; every other unit costs one.
    fraction = wanted - start
    identity = eye_array(n)
    up_first = 1.0 - 2.0 * np.maximum(fraction, 0.0)
    down_first = 1.0 - 2.0 * np.maximum(-fraction, 0.0)
    cost = np.concatenate([up_first, np.ones(n), down_first, np.ones(n)])
    rows = hstack([membership, membership, -membership, -membership])
    keep = hstack([identity, identity, -identity, -identity])
    reach = float(np.abs(missing).max(initial=0) + start.max(initial=0) + atoms.totals.max())
    upper = np.concatenate([np.ones(n), np.full(n, reach), np.ones(n), np.full(n, reach)])
    solved = milp(
        cost,
        constraints=LinearConstraint(
            csr_array(vstack([rows, keep])),
            np.concatenate([missing, -start]),
            np.concatenate([missing, np.full(n, np.inf)]),
        ),
        integrality=np.ones(4 * n, dtype=np.int64),
        bounds=Bounds(0.0, upper),
    )
    if solved.x is None:
        return None
    move = np.rint(solved.x).reshape(4, n)
    whole: NDArray[np.int64] = (start + move[0] + move[1] - move[2] - move[3]).astype(np.int64)
    reached = (atoms.membership * whole).sum(axis=1)
    if np.any(whole < 0) or np.any(reached != atoms.totals):
        return None
    return whole


def check_public_totals(universe: Universe, totals: Sequence[PublicTotal]) -> str | None:
    """Say why these totals cannot all hold in one table of counts, or None if they can.

    Needs no data: it asks only whether whole numbers >= 0 exist, zero on impossible cells, with
    all the declared sums. Where `output.rows` is a number, add it as a total over all records.
    """
    if not totals:
        return None
    for total in totals:
        if total.total < 0:
            return f"the total of {total.where.describe(universe)} is negative ({total.total})"
    atoms = atoms_of(universe, totals)
    for row, total in enumerate(totals):
        if total.total and not atoms.membership[row].any():
            return (
                f"the total of {total.where.describe(universe)} is {total.total}, "
                "but every cell that it counts is impossible"
            )
    if whole_atom_totals(atoms, np.zeros(atoms.count)) is not None:
        return None
    return _conflict(universe, totals)


def _conflict(universe: Universe, totals: Sequence[PublicTotal]) -> str:
    """Name a smallest set of totals that cannot hold together, by leaving out one at a time."""
    kept = list(totals)
    for total in totals:
        rest = [other for other in kept if other is not total]
        atoms = atoms_of(universe, rest)
        if rest and whole_atom_totals(atoms, np.zeros(atoms.count)) is None:
            kept = rest
    named = "; ".join(f"{t.where.describe(universe)} = {t.total}" for t in kept)
    return f"no table of whole counts has all of these totals: {named}"
