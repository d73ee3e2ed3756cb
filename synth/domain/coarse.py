"""The smallest universe in which given sets of cells can still be told apart."""

from __future__ import annotations

from collections.abc import Sequence

from synth.domain.attribute import Attribute
from synth.domain.listing import shorten
from synth.domain.universe import LABELS_SHOWN, Conjunction, Universe


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
