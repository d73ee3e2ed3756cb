"""Balanced rounding: whole counts whose small tables are those of the values they stand for.

A cell of value 0.7 holds a record or none. Cells are decided one after another, in a public random
order: one is rounded up where this brings the tables that it lies in, of one and of two columns,
nearer to the sums of the values so far (in squares, with the weights `_OF_COLUMN` and `_OF_PAIR`).
Of columns with many codes, groups of neighbouring ones count, too (`_OF_GROUP`): codes that hold
less than half a record each would all lose it, and a range of them what it holds.
So these tables are off by far less than rounding cell by cell would have it, which matters where
records are few: of 3,000 records in ten columns, rounding in order puts 0.5 % of those of a column
under a wrong code, and this way 0.1 %. Very many cells are rounded in order (`rounding`) to parts
of a record first, which leaves few that are not whole; of many records that gains next to nothing,
and they are rounded in order to whole ones. So is a single column: every range of it is then right
to within one.

Decisions are made in whole numbers, so that last digits of the values turn only those that are
nearly a tie.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth.domain import Universe
from synth.domain.totals import Atoms
from synth.estimate.rounding import (
    LAST_DIGITS,
    MOST_MOVED,
    moved_by_last_digits,
    round_counts,
    rounded_together,
    systematic,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_CELLS = 1 << 17
"""Of more cells not each is decided for itself."""
FEWEST_PARTS, MOST_PARTS = 4, 32
"""They are rounded in order first, to so many parts of a record that about so few are left; where
parts would be too few, to whole records."""
_BITS = 20
"""Values are rounded to whole numbers of 2^-20 records first."""
_ONE = 1 << _BITS
_OF_COLUMN, _OF_GROUP, _OF_PAIR, _OF_ALL = 10, 3, 3, 20
"""What a gap counts in the table of a column, in groups of its codes, in the table of a pair, and
in the number of all records."""
_FEW_CODES, _GROUP_BITS = 16, 3
"""Columns with more codes have groups of 8 neighbouring codes, of 64, and so on."""
_MOST_WORK, _MOST_PAIRS = 1 << 24, 5000
"""Cells times pairs, or groups; and pairs. With more, no pairs are looked at, or no groups."""
_NEAR = 8
"""Last digits may move a gap by so many units, or by as many as `LAST_DIGITS` of all records."""


Columns = Sequence[NDArray[Any]] | Universe
"""The code of attribute j of every cell, as `columns[j]`; or the universe, if all are its cells."""


def whole_counts(columns: Columns, values: Floats, atoms: Atoms | None, seed: int) -> Ints:
    """Every value rounded up or down.

    Privacy: post-processing; `seed` is public.
    Ensures: every count is the floor or the ceiling of its value, to 2^-20, where values of a
    required total are scaled to it first; impossible cells are 0, and every required total holds.
    The expectation over the seed of the number of all records is the sum of the values.
    """
    few = None if _is_single(columns) else _of_few_cells(values, atoms, seed)
    if few is None:
        return round_counts(values, atoms, seed)
    counts, _ = _decided(columns, few, atoms, seed, None)
    return counts


def moved_records(
    columns: Columns, values: Floats, atoms: Atoms | None, seed: int, found: Ints
) -> int | None:
    """How many records stand elsewhere in `found` than rounding the values puts them.

    None if last digits of the values cannot have moved them. `found` is followed cell by cell: it
    may differ from what would be decided after all cells before only where that is nearly a tie,
    and no more than `MOST_MOVED` times.
    """
    expected = None if _is_single(columns) else _of_few_cells(values, atoms, seed)
    if expected is None:
        return moved_by_last_digits(values, atoms, seed, found)
    for shift in (0, -1, 1):
        few = _of_few_cells(values, atoms, seed, shift=shift)
        if few is None or (shift and np.array_equal(few, expected)):
            continue
        followed, turned = _decided(columns, few, atoms, seed, found)
        if turned <= MOST_MOVED and np.array_equal(followed, found):
            return int(np.abs(found - whole_counts(columns, values, atoms, seed)).sum() + 1) // 2
    return None


def _is_single(columns: Columns) -> bool:
    """Whether there is one column, in whose order cells are rounded."""
    return len(columns.shape if isinstance(columns, Universe) else columns) == 1


def _of_few_cells(
    values: Floats, atoms: Atoms | None, seed: int, *, shift: int = 0
) -> Floats | None:
    """The values themselves; of very many cells, rounded to parts of a record, few not 0.

    None where even that leaves many. With a `shift` of -1 or 1 as last digits may have it at most,
    all in one direction.
    """
    if values.size <= MOST_CELLS:
        return values
    records = math.ceil(float(values.sum()) - 0.25)  # whole, or half, but for last digits
    parts = min(MOST_PARTS, MOST_CELLS // max(1, records))
    if parts < FEWEST_PARTS:
        return None
    # further along the stream than what rounds the counts, and what draws a replicate's noise
    offset = float(np.random.Generator(np.random.Philox(seed).jumped(2)).random())
    offset += shift * LAST_DIGITS * parts * max(1, records)
    offset = min(max(offset, 0.0), 1.0 - 2.0**-53)
    few = np.zeros(values.size)
    for cells, _, total in rounded_together(values, atoms, seed):
        whole = None if total is None else total * parts
        few[cells] = systematic(values[cells] * parts, offset, whole) / parts
    return few


def looks_at_pairs(cells: int, columns: int) -> bool:
    """Whether tables of pairs are looked at of so many cells: all work is bounded."""
    pairs = math.comb(columns, 2)
    return pairs <= _MOST_PAIRS and cells * pairs <= _MOST_WORK


def _decided(
    columns: Columns,
    values: Floats,
    atoms: Atoms | None,
    seed: int,
    followed: Ints | None,
) -> tuple[Ints, int]:
    """The counts, and how many decisions were turned to those that are `followed`."""
    units, atom_of, wanted = _in_units(values, atoms, seed)
    counts = units >> _BITS
    left = units - (counts << _BITS)
    open_cells = np.flatnonzero(left)
    choices = np.bincount(atom_of[open_cells], minlength=wanted.size)
    np.subtract.at(wanted, atom_of[atom_of >= 0], counts[atom_of >= 0])
    ups = np.clip(wanted, 0, choices)
    keys = np.random.Generator(np.random.Philox(seed)).random(1 + values.size)[1:]
    order = open_cells[np.argsort(keys[open_cells], kind="stable")]
    codes = columns.codes(order) if isinstance(columns, Universe) else [c[order] for c in columns]
    places, weights, size = _places(codes)
    near = max(_NEAR, math.ceil(LAST_DIGITS * _ONE * float(values.sum())))
    near *= 2 * (int(weights.sum()) + _OF_ALL)
    gaps, above, turned = np.zeros(size, dtype=np.int64), np.zeros(wanted.size, dtype=np.int64), 0
    for cell, inside in zip(order.tolist(), places, strict=True):
        atom, part = atom_of[cell], left[cell]
        gap = gaps[inside] + part
        above[atom] += part
        wish = (weights * (2 * gap - _ONE)).sum() + _OF_ALL * (2 * above[atom] - _ONE)
        up = ups[atom] == choices[atom] or bool(ups[atom] and wish > 0)
        if followed is not None and 0 < ups[atom] < choices[atom] and abs(wish) <= near:
            turned += up != (followed[cell] > counts[cell])
            up = followed[cell] > counts[cell]
        if up:
            counts[cell] += 1
            gap -= _ONE
            above[atom] -= _ONE
            ups[atom] -= 1
        choices[atom] -= 1
        gaps[inside] = gap
    return counts, turned


def _in_units(values: Floats, atoms: Atoms | None, seed: int) -> tuple[Ints, Ints, Ints]:
    """The values in units, the atom of every cell, and the records of every atom."""
    units = np.zeros(values.size, dtype=np.int64)
    atom_of = np.zeros(values.size, dtype=np.int64) if atoms is None else atoms.atom_of
    wanted = []
    for cells, u, total in rounded_together(values, atoms, seed):
        part = values[cells]
        mass = float(part.sum())
        if total is not None and part.size:
            part = part * (total / mass) if mass > 0.0 else np.full(part.size, total / part.size)
        wanted.append(int(mass + u) if total is None else total)
        units[cells] = np.rint(part * _ONE).astype(np.int64)
    return units, atom_of, np.array(wanted, dtype=np.int64)


def _places(columns: Sequence[NDArray[Any]]) -> tuple[NDArray[np.int32], Ints, int]:
    """For every cell its place in each table, all tables in a row; their weights and their size."""
    cells, axes = len(columns[0]), range(len(columns))
    tables: list[tuple[tuple[int, ...], int]] = [((axis,), 0) for axis in axes]
    groups = [((axis,), bits) for axis in axes for bits in _bits_of_groups(columns[axis])]
    tables += groups if cells * len(groups) <= _MOST_WORK else []
    weights = [_OF_COLUMN] * len(axes) + [_OF_GROUP] * (len(tables) - len(axes))
    if looks_at_pairs(cells, len(columns)):
        tables += [(pair, 0) for pair in combinations(axes, 2)]
    weights += [_OF_PAIR] * (len(tables) - len(weights))
    places, end = np.empty((cells, len(tables)), dtype=np.int32), 0
    for number, (table, bits) in enumerate(tables):
        place = np.zeros(cells, dtype=np.int64)
        for axis in table:
            place = place * (int(columns[axis].max(initial=0)) + 1) + (columns[axis] >> bits)
        used, place = np.unique(place, return_inverse=True)
        places[:, number] = place + end
        end += used.size
    return places, np.array(weights), end


def _bits_of_groups(codes: NDArray[Any]) -> range:
    """By how many bits codes are shifted to make groups of them, the smallest groups first."""
    last = int(codes.max(initial=0))
    return range(_GROUP_BITS, last.bit_length() if last >= _FEW_CODES else 0, _GROUP_BITS)
