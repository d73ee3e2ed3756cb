"""Hierarchies: coarser views of one attribute, made from groups of codes or from runs of bins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from synth.domain.attribute import MISSING, Attribute, HierarchyLevel


def grouped_level(
    attribute: Attribute, name: str, groups: Mapping[str, Sequence[int]]
) -> HierarchyLevel:
    """The view of an attribute whose groups are listed: label to codes.

    Requires: every code in exactly one group, and no empty group.
    """
    in_order = sorted(groups, key=lambda label: min(groups[label]))
    group_of = [0] * attribute.size
    for number, label in enumerate(in_order):
        for code in groups[label]:
            group_of[code] = number
    return HierarchyLevel(name, tuple(group_of), tuple(in_order))


def interval_level(attribute: Attribute, name: str, starts: Sequence[int]) -> HierarchyLevel:
    """The view of an ordered attribute whose groups are runs of bins that begin at `starts`.

    The missing level, where there is one, is a group of its own. Groups are labelled as bins are.

    Requires: `starts` are bins, strictly ascending, the first one 0.
    """
    wide = Attribute(
        attribute.name,
        attribute.kind,
        edges=(*(attribute.edges[start] for start in starts), attribute.edges[-1]),
        missing=attribute.missing,
    )
    numbers = range(len(starts))  # one object per group, however many bins it holds
    ends = (*starts[1:], attribute.bin_count)
    group_of = [
        number
        for number, start, end in zip(numbers, starts, ends, strict=True)
        for _ in range(start, end)
    ]
    if attribute.has_missing:
        group_of.append(len(starts))
    return HierarchyLevel(name, tuple(group_of), wide.labels)


def balanced_levels(attribute: Attribute, branching: int) -> tuple[HierarchyLevel, ...]:
    """The levels of a balanced tree over the bins, coarsest first; none if it has no room.

    The tree is as flat as a branching of at most `branching` allows, and every group splits into
    the same number of groups, the smallest that suffices. On every level the groups hold the same
    number of bins, give or take one; on the last step every group has at most `branching` bins.
    """
    bins = attribute.bin_count
    steps = 1
    while branching**steps < bins:
        steps += 1
    fan_out = next(k for k in range(1, branching + 1) if k**steps >= bins)
    levels = []
    for step in range(1, steps):
        parts = fan_out**step
        starts = [part * bins // parts for part in range(parts)]
        levels.append(interval_level(attribute, f"{parts} parts", starts))
    return tuple(levels)


def divided_group(coarser: HierarchyLevel, finer: HierarchyLevel) -> tuple[int, int, int] | None:
    """A group of `finer` that lies in two groups of `coarser`, and these; None if none does."""
    around: dict[int, int] = {}
    for inner, outer in zip(finer.group_of, coarser.group_of, strict=True):
        first = around.setdefault(inner, outer)
        if first != outer:
            return inner, first, outer
    return None


def with_missing(
    attribute: Attribute, groups: Mapping[str, Sequence[int]]
) -> dict[str, Sequence[int]]:
    """The groups, and a group `missing` of the missing level where no group holds it."""
    code = attribute.missing_code
    if code is None or any(code in codes for codes in groups.values()):
        return dict(groups)
    return {**groups, MISSING: (code,)}
