"""How many cells of the universe can hold a record at all."""

from __future__ import annotations

import math
from functools import cache

from synth.domain import Universe


def possible_cells(universe: Universe) -> int:
    """The exact number of cells that no impossible rule covers, for a universe of any size.

    Walks the attributes in order and keeps the rules that still match; cells with the same
    matching rules are counted together, so the work depends on the rules, not on the cells.
    """
    rules = [
        {name: frozenset(codes) for name, codes in rule.codes.items()}
        for rule in universe.impossible
    ]
    last = [max((universe.names.index(name) for name in rule), default=-1) for rule in rules]

    @cache
    def count(axis: int, matching: frozenset[int]) -> int:
        if any(last[rule] < axis for rule in matching):
            return 0  # a rule has matched on every attribute that it names
        if not matching:
            return math.prod(universe.shape[axis:])
        name = universe.names[axis]
        total = 0
        for code in range(universe.shape[axis]):
            total += count(
                axis + 1,
                frozenset(r for r in matching if name not in rules[r] or code in rules[r][name]),
            )
        return total

    return count(0, frozenset(range(len(rules))))
