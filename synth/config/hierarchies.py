"""Hierarchies from the `hierarchy` of a column: its levels, nested, and from coarse to fine."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from synth.config.intervals import interval_starts
from synth.config.labels import refuse_label
from synth.config.problems import Path, Report, quoted
from synth.config.scalars import INVALID, Invalid
from synth.domain import MISSING, Attribute, HierarchyLevel
from synth.domain.hierarchy import (
    balanced_levels,
    divided_group,
    grouped_level,
    interval_level,
    with_missing,
)
from synth.domain.listing import shorten

Hierarchy = tuple[HierarchyLevel, ...]


@dataclass(frozen=True)
class _Read:
    """One level, where it stands, and its values in their normal form."""

    level: HierarchyLevel
    path: Path
    values: dict[str, Any]


def build_hierarchy(
    values: dict[str, Any], attribute: Attribute, path: Path, report: Report
) -> Hierarchy | Invalid:
    """The levels, coarsest first; brings `values["hierarchy"]` into its normal form."""
    value = values["hierarchy"]
    here = (*path, "hierarchy")
    if value is None:
        return ()
    if isinstance(value, Invalid):
        return INVALID
    if not isinstance(value, list):
        return _tree(values, attribute, here, report)
    fine = _names_differ(value, here, report)
    read = []
    for index, item in enumerate(value):
        found = (
            INVALID if isinstance(item, Invalid) else _level(item, attribute, here, index, report)
        )
        if isinstance(found, Invalid):
            fine = False
        else:
            read.append(found)
    read.sort(key=lambda one: one.level.size)
    if not (_nested(read, attribute, report) and fine):
        return INVALID
    values["hierarchy"] = [one.values for one in read]
    return tuple(one.level for one in read)


def _tree(
    values: dict[str, Any], attribute: Attribute, here: Path, report: Report
) -> Hierarchy | Invalid:
    value = values["hierarchy"]
    branching = 2 if value == "dyadic" else value["branching"]
    if isinstance(branching, Invalid):
        return INVALID
    if attribute.bin_count <= branching:
        report.add(
            here,
            expected=f"a column of more than {branching:,} bins",
            why=f"between all {attribute.bin_count:,} bins and their sum there is no level",
            fix="leave `hierarchy` out",
        )
        return INVALID
    values["hierarchy"] = "dyadic" if branching == 2 else value
    return balanced_levels(attribute, branching)


def _names_differ(items: list[Any], here: Path, report: Report) -> bool:
    first: dict[str, int] = {}
    fine = True
    for index, item in enumerate(items):
        name = INVALID if isinstance(item, Invalid) else item["name"]
        if isinstance(name, Invalid):
            continue
        earlier = first.setdefault(name, index)
        if earlier != index:
            report.add(
                (*here, index, "name"),
                expected="a name for every level of its own",
                why=f"hierarchy[{earlier}] has the same name",
            )
            fine = False
    return fine


def _level(
    item: dict[str, Any], attribute: Attribute, here: Path, index: int, report: Report
) -> _Read | Invalid:
    path = (*here, index)
    name = item["name"]
    title = "" if isinstance(name, Invalid) else name
    if attribute.is_ordered:
        starts = interval_starts(item, attribute, path, report)
        if isinstance(starts, Invalid) or isinstance(name, Invalid):
            return INVALID
        return _Read(interval_level(attribute, title, starts), path, item)
    groups = _groups(item["groups"], attribute, (*path, "groups"), report)
    if isinstance(groups, Invalid) or isinstance(name, Invalid):
        return INVALID
    level = grouped_level(attribute, title, groups)
    labels = {
        group: [attribute.label(code) for code in sorted(groups[group])] for group in level.labels
    }
    return _Read(level, path, {"name": name, "groups": labels})


def _groups(
    value: Any, attribute: Attribute, path: Path, report: Report
) -> dict[str, Sequence[int]] | Invalid:
    """Label to codes; every code in one group."""
    if isinstance(value, Invalid):
        return INVALID
    fine = True
    holder: dict[int, str] = {}
    groups: dict[str, list[int]] = {}
    for group, labels in value.items():
        groups[group] = []
        for label in () if isinstance(labels, Invalid) else labels:
            code = INVALID if isinstance(label, Invalid) else attribute.code_of(label)
            if isinstance(code, Invalid):
                fine = False
            elif code is None:
                refuse_label(label, attribute, (*path, group), report)
                fine = False
            elif code in holder:
                report.add(
                    (*path, group),
                    found=f"the level {quoted(label)}",
                    expected="every level in one group, once",
                    why=f"{quoted(holder[code])} holds it already",
                )
                fine = False
            else:
                holder[code] = group
                groups[group].append(code)
        fine &= not isinstance(labels, Invalid)
    if not fine:
        return INVALID
    if MISSING in groups and groups[MISSING] != [attribute.missing_code]:
        report.add(
            (*path, MISSING),
            expected=f"another name, or the level {MISSING} alone",
            why="the word means the missing values of the column and nothing else",
        )
        return INVALID
    left = [attribute.label(code) for code in range(attribute.bin_count) if code not in holder]
    if left:
        report.add(
            path,
            found="no group for " + ", ".join(shorten(map(quoted, left), 4)),
            expected="every level of the column in one group",
            why="a record must be able to fall somewhere",
        )
        return INVALID
    return with_missing(attribute, groups)


def _nested(read: list[_Read], attribute: Attribute, report: Report) -> bool:
    """Whether each level has more than one group and fewer than the next finer, which splits it.

    `read` is sorted by the number of groups.
    """
    fine = True
    for one, finer in itertools.zip_longest(read, read[1:]):
        fine &= _has_room(one, finer, attribute, report)
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
            fine = False
    return fine


def _has_room(one: _Read, finer: _Read | None, attribute: Attribute, report: Report) -> bool:
    size = one.level.size
    limit = attribute.size if finer is None else finer.level.size
    if 1 < size < limit:
        return True
    of_finer = "the column has levels" if finer is None else f"{quoted(finer.level.name)} has"
    report.add(
        one.path,
        found=f"{size:,} {'group' if size == 1 else 'groups'}"
        + (", the missing level included" if attribute.has_missing else ""),
        expected=f"more than 1 group, and fewer than {of_finer} ({limit:,})",
        why="the level would tell nothing that another one does not tell",
        fix="remove the level, or change its groups",
    )
    return False
