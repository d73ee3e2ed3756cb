"""The smallest universe in which given sets of cells can still be told apart."""

from __future__ import annotations

from collections.abc import Sequence

from synth.domain.attribute import Attribute
from synth.domain.listing import shorten
from synth.domain.universe import LABELS_SHOWN, Conjunction, Universe


def coarsen(
    universe: Universe, conjunctions: Sequence[Conjunction]
) -> tuple[Universe, tuple[Conjunction, ...]]:
    """Drop attributes that no conjunction names, and merge codes that none tells apart.

    Ensures: every atom of the conjunctions and the impossible rules in the universe is the
    preimage of an atom of the same conjunctions and rules in the coarse universe, and neither
    is empty without the other. Merged codes are labelled by their labels, joined with `|`.
    """
    sets = (*universe.impossible, *conjunctions)
    coarse: list[Attribute] = []
    merged: dict[str, dict[int, int]] = {}
    for attribute in universe.attributes:
        naming = [rule.codes[attribute.name] for rule in sets if attribute.name in rule.codes]
        if not naming:
            continue
        inside = [0] * attribute.size
        for bit, codes in enumerate(naming):
            for code in codes:
                inside[code] |= 1 << bit
        group_of = {mask: group for group, mask in enumerate(dict.fromkeys(inside))}
        labels: list[list[str]] = [[] for _ in group_of]
        for code, mask in enumerate(inside):
            group = labels[group_of[mask]]
            if len(group) < LABELS_SHOWN + 2:  # enough to know what to leave out
                group.append(attribute.label(code))
        merged[attribute.name] = {code: group_of[mask] for code, mask in enumerate(inside)}
        levels = tuple("|".join(shorten(group, LABELS_SHOWN)) for group in labels)
        coarse.append(Attribute(attribute.name, "categorical", levels))

    def moved(rule: Conjunction) -> Conjunction:
        return Conjunction(
            {
                name: tuple(sorted({merged[name][code] for code in codes}))
                for name, codes in rule.codes.items()
            }
        )

    small = Universe(tuple(coarse), tuple(map(moved, universe.impossible)))
    return small, tuple(map(moved, conjunctions))
