"""The hierarchy of a column: its coarser levels, nested, and from coarse to fine."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, Any, Literal

from synth.config.edges import (
    MAX_LEVELS,
    NUMBER_EDGE,
    NUMBER_WIDTH,
    WHOLE_EDGE,
    WHOLE_WIDTH,
    increasing_edges,
)
from synth.config.labels import refuse_label
from synth.config.schema.problems import Place, Refused, Report, quoted
from synth.config.schema.scalars import Choice, Shape, Whole, label, name
from synth.config.schema.shapes import Either, ListOf, MapOf, OneOrList, record
from synth.domain import MISSING, Attribute, HierarchyLevel, format_number
from synth.domain.attribute import (
    balanced_levels,
    divided_group,
    grouped_level,
    interval_level,
    period_level,
    shorten,
    with_missing,
)
from synth.domain.periods import RESOLUTIONS, WIDER, Resolution

MAX_HIERARCHY_LEVELS = 30
MAX_BRANCHING = 1_024


@dataclass(frozen=True)
class GroupedLevel:
    """One level."""

    name: Annotated[str, name("The level")]
    groups: Annotated[
        Mapping[str, tuple[str, ...]],
        MapOf(
            "Group to levels; every level of the column in one group",
            OneOrList(
                "A level of the column, or a list of them", label("A level"), maximum=MAX_LEVELS
            ),
            minimum=1,
            maximum=MAX_LEVELS,
            noun="groups",
            example="from group to levels, such as {North: [a, b], South: [c, d]}",
            key=name("One group"),
        ),
    ]


def _some_edges(edge: Shape) -> ListOf:
    return ListOf("Some of the column's edges, both ends with them", edge, 2, MAX_LEVELS + 1)


@dataclass(frozen=True)
class WholeBinsLevel:
    """One level: edges or bin_width."""

    name: Annotated[str, name("The level")]
    edges: Annotated[tuple[int, ...] | None, _some_edges(WHOLE_EDGE)] = None
    bin_width: Annotated[
        int | None, replace(WHOLE_WIDTH, description="Numbers per bin; the last may be shorter")
    ] = None


@dataclass(frozen=True)
class NumberBinsLevel:
    """One level: edges or bin_width."""

    name: Annotated[str, name("The level")]
    edges: Annotated[tuple[Fraction, ...] | None, _some_edges(NUMBER_EDGE)] = None
    bin_width: Annotated[Fraction | None, NUMBER_WIDTH] = None


@dataclass(frozen=True)
class PeriodsLevel:
    """One level: wider periods."""

    name: Annotated[str, name("The level")]
    resolution: Annotated[Resolution, Choice("The periods of the level", RESOLUTIONS)]


@dataclass(frozen=True)
class Tree:
    """A balanced tree over the bins."""

    branching: Annotated[int, Whole("The most parts that one part splits into", 2, MAX_BRANCHING)]


Level = GroupedLevel | WholeBinsLevel | NumberBinsLevel | PeriodsLevel
Hierarchy = tuple[Level, ...] | Literal["dyadic"] | Tree | None


def levels_of(level: type[Any]) -> ListOf:
    """The shape of a hierarchy whose levels are listed."""
    return ListOf(
        "Coarser levels of the column, each of which splits the groups of a coarser one",
        record(level),
        minimum=1,
        maximum=MAX_HIERARCHY_LEVELS,
        noun="levels",
    )


def ordered_hierarchy(level: type[Any]) -> Either:
    """The shape of the hierarchy of an ordered column."""
    return Either(
        "Coarser levels of the column: named ones, or a tree over its bins",
        "dyadic, {branching: ...}, or a list of levels",
        single=Choice("dyadic halves the bins again and again", ("dyadic",)),
        several=levels_of(level),
        record=record(Tree),
    )


@dataclass(frozen=True)
class _Read:
    """One level, where it stands, and how it is written in its normal form."""

    level: HierarchyLevel
    path: Place
    written: Level


def build_hierarchy(
    hierarchy: Hierarchy, attribute: Attribute, path: Place, report: Report
) -> tuple[Hierarchy, tuple[HierarchyLevel, ...]]:
    """The hierarchy in its normal form, and its levels, coarsest first.

    Raises: Refused after reporting what is wrong with it.
    """
    if hierarchy is None:
        return None, ()
    if not isinstance(hierarchy, tuple):
        branching = hierarchy.branching if isinstance(hierarchy, Tree) else 2
        if attribute.bin_count <= branching:
            raise report.refusal(
                path,
                expected=f"a column of more than {branching:,} bins",
                why=f"between all {attribute.bin_count:,} bins and their sum there is no level",
                fix="leave `hierarchy` out",
            )
        return "dyadic" if branching == 2 else hierarchy, balanced_levels(attribute, branching)
    before = report.count
    first: dict[str, int] = {}
    read = []
    for index, written in enumerate(hierarchy):
        here = (*path, index)
        earlier = first.setdefault(written.name, index)
        if earlier != index:
            report.add(
                (*here, "name"),
                expected="a name for every level of its own",
                why=f"hierarchy[{earlier}] has the same name",
            )
        with suppress(Refused):
            read.append(_level(written, attribute, here, report))
    read.sort(key=lambda one: one.level.size)
    _check_nesting(read, attribute, report)
    if report.count > before:
        raise Refused
    return tuple(one.written for one in read), tuple(one.level for one in read)


def _level(written: Level, attribute: Attribute, path: Place, report: Report) -> _Read:
    if isinstance(written, PeriodsLevel):
        _require_wider(written.resolution, attribute, (*path, "resolution"), report)
        return _Read(period_level(attribute, written.name, written.resolution), path, written)
    if not isinstance(written, GroupedLevel):
        starts = _starts(written, attribute, path, report)
        return _Read(interval_level(attribute, written.name, starts), path, written)
    groups = _groups(written.groups, attribute, (*path, "groups"), report)
    level = grouped_level(attribute, written.name, groups)
    labels = {
        group: tuple(attribute.label(code) for code in sorted(groups[group]))
        for group in level.labels
    }
    return _Read(level, path, GroupedLevel(written.name, labels))


def _require_wider(wider: Resolution, attribute: Attribute, path: Place, report: Report) -> None:
    own = attribute.calendar.resolution if attribute.calendar is not None else wider
    if wider in WIDER[own]:
        return
    expected = "one of: " + ", ".join(WIDER[own]) if WIDER[own] else "no level of wider periods"
    why = f"a {wider} is not made of whole {own}s" if RESOLUTIONS.index(wider) < RESOLUTIONS.index(
        own
    ) else f"the column has no finer periods than a {own}"  # fmt: skip
    raise report.refusal(path, expected=expected, why=why, fix="or write `hierarchy: dyadic`")


def _groups(
    value: Mapping[str, tuple[str, ...]], attribute: Attribute, path: Place, report: Report
) -> dict[str, Sequence[int]]:
    """Label to codes; every code in one group."""
    holder: dict[int, str] = {}
    groups: dict[str, list[int]] = {}
    before = report.count
    for group, labels in value.items():
        groups[group] = []
        for text in labels:
            code = attribute.code_of(text)
            if code is None:
                refuse_label(text, attribute, (*path, group), report)
            elif code in holder:
                report.add(
                    (*path, group),
                    found=f"the level {quoted(text)}",
                    expected="every level in one group, once",
                    why=f"{quoted(holder[code])} holds it already",
                )
            else:
                holder[code] = group
                groups[group].append(code)
    if report.count > before:
        raise Refused
    if MISSING in groups and groups[MISSING] != [attribute.missing_code]:
        raise report.refusal(
            (*path, MISSING),
            expected=f"another name, or the level {MISSING} alone",
            why="the word means the missing values of the column and nothing else",
        )
    left = [attribute.label(code) for code in range(attribute.bin_count) if code not in holder]
    if left:
        raise report.refusal(
            path,
            found="no group for " + ", ".join(shorten(map(quoted, left), 4)),
            expected="every level of the column in one group",
            why="a record must be able to fall somewhere",
        )
    return with_missing(attribute, groups)


def _starts(
    level: WholeBinsLevel | NumberBinsLevel, attribute: Attribute, path: Place, report: Report
) -> tuple[int, ...]:
    """The codes of the bins where the groups of one level of an ordered column begin."""
    if level.edges is not None and level.bin_width is None:
        return _from_edges(level.edges, attribute, (*path, "edges"), report)
    if level.edges is None and level.bin_width is not None:
        width = Fraction(level.bin_width)
        return _from_width(width, attribute, (*path, "bin_width"), report)
    raise report.refusal(
        path,
        found="neither `edges` nor `bin_width`" if level.edges is None else None,
        expected="either edges or bin_width",
    )


def _from_edges(
    edges: Sequence[int | Fraction], attribute: Attribute, path: Place, report: Report
) -> tuple[int, ...]:
    own = attribute.edges
    # 1 to 3 in bins of one number has the edges 1, 2, 3, 3: so has a level that keeps its last bin.
    keeps_last = own[-1] == own[-2] and tuple(edges[-2:]) == (own[-1], own[-1])
    read = increasing_edges(edges[:-1] if keeps_last else edges, path, report)
    if (read[0], read[-1]) != (own[0], own[-1]):
        low, high = format_number(own[0]), format_number(own[-1])
        raise report.refusal(
            path,
            expected=f"edges from {low} to {high}, the ends of the column",
            why="every bin of the column must lie in a group",
        )
    strange = [index for index, edge in enumerate(read) if own[bisect_left(own, edge)] != edge]
    for index in strange:
        fix = _nearest(read[index], own)
        report.add((*path, index), expected="an edge of the column", fix=fix)
    if strange:
        raise Refused
    return tuple(bisect_left(own, edge) for edge in (read if keeps_last else read[:-1]))


def _from_width(
    width: Fraction, attribute: Attribute, path: Place, report: Report
) -> tuple[int, ...]:
    own = attribute.edges
    count = -((own[0] - own[-1]) // width)  # groups that begin below the upper end
    if count <= attribute.bin_count:
        begin = [own[0] + width * number for number in range(count)]
        if own[-1] == own[-2] and begin[-1] + width == own[-1]:
            begin.append(own[-1])
        strange = [edge for edge in begin if own[bisect_left(own, edge)] != edge]
        if not strange:
            return tuple(bisect_left(own, edge) for edge in begin)
        text = format_number(strange[0])
        why, fix = f"{text} is no edge of the column", _nearest(strange[0], own)
    else:
        why, fix = f"{count:,} of them are more than the column has bins", "choose a larger one"
    expected = "a width whose bins are made of whole bins"
    raise report.refusal(path, expected=expected, why=why, fix=fix)


def _nearest(edge: Fraction, own: tuple[Fraction, ...]) -> str:
    after = min(bisect_left(own, edge), len(own) - 1)
    around = own[max(after - 1, 0) : after + 1]
    nearest = min(around, key=lambda other: abs(other - edge))
    return f"the nearest edge of the column is {format_number(nearest)}"


def _check_nesting(read: list[_Read], attribute: Attribute, report: Report) -> None:
    """Each level has more than one group and fewer than the next finer, which splits it.

    Requires: `read` is sorted by the number of groups.
    """
    for one, finer in itertools.zip_longest(read, read[1:]):
        _check_room(one, finer, attribute, report)
        if finer is None or one.level.size == finer.level.size:
            continue
        divided = divided_group(one.level, finer.level)
        if divided is not None:
            inner, first, second = divided
            halves = f"{quoted(one.level.labels[first])} and {quoted(one.level.labels[second])}"
            report.add(
                one.path,
                found=f"the group {quoted(finer.level.labels[inner])} of "
                f"{quoted(finer.level.name)} both in {halves}",
                expected="groups that are made of whole groups of the next finer level",
                why="otherwise the two levels are no hierarchy",
            )


def _check_room(one: _Read, finer: _Read | None, attribute: Attribute, report: Report) -> None:
    size = one.level.size
    limit = attribute.size if finer is None else finer.level.size
    if 1 < size < limit:
        return
    of_finer = "the column has levels" if finer is None else f"{quoted(finer.level.name)} has"
    report.add(
        one.path,
        found=f"{size:,} {'group' if size == 1 else 'groups'}"
        + (", the missing level included" if attribute.has_missing else ""),
        expected=f"more than 1 group, and fewer than {of_finer} ({limit:,})",
        why="the level would tell nothing that another one does not tell",
        fix="remove the level, or change its groups",
    )
