"""Attributes: the declared columns of the universe, their bins, and coarser views of them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import Literal

from synth.domain.periods import (
    Calendar,
    Resolution,
    read_period,
    wider_period,
    write_period,
    write_wider,
)

Kind = Literal["categorical", "boolean", "integer", "number", "date", "datetime"]

TRUTH = ("false", "true")
"""The levels of a `boolean` attribute."""

MISSING = "missing"
"""The reserved word by which a configuration names the missing level."""

CLAMP = "clamp"
"""The reserved word that sends a value below or above the bounds to the nearest bin."""


def format_number(value: Fraction) -> str:
    """Write an exact decimal fraction without exponent or trailing zeros (`-1.5`, `20`)."""
    if value.denominator == 1:
        return str(value.numerator)
    digits = 0
    scaled = abs(value)
    while scaled.denominator != 1:
        scaled *= 10
        digits += 1
        if digits > 400:  # not a decimal fraction
            return f"{value.numerator}/{value.denominator}"
    text = str(scaled.numerator).rjust(digits + 1, "0")
    sign = "-" if value < 0 else ""
    return f"{sign}{text[:-digits]}.{text[-digits:]}"


def shorten(texts: Iterable[str], limit: int) -> list[str]:
    """The first `limit` texts and `...`; all of them where `...` would hide only one."""
    first = list(islice(texts, limit + 2))
    return first if len(first) <= limit + 1 else [*first[:limit], "..."]


def written(text: str, *, ordered: bool = False) -> str:
    """A name or label as queries spell it: in double quotes where signs would be misread."""
    plain = text == text.strip() and text and not set(text) & set(',"={}')
    return text if ordered or plain else '"' + text.replace('"', '""') + '"'


def with_value_label(value: str, label: str) -> str:
    """A value, and what it means where that is said: `1 (Yes)`."""
    return f"{value} ({label})" if label else value


@dataclass(frozen=True)
class HierarchyLevel:
    """One coarser view of an attribute: the group of every code, the missing level included.

    Groups are numbered from 0 in the order of the first code that they hold.
    """

    name: str
    group_of: tuple[int, ...]
    labels: tuple[str, ...]

    @property
    def size(self) -> int:
        """The number of groups."""
        return len(self.labels)


@dataclass(frozen=True)
class Attribute:
    """One declared column: its levels or bins, and where every other value goes.

    A categorical attribute has `levels`, a boolean one those of `TRUTH`; an ordered one has
    `edges`. Bin i of an ordered attribute holds edges[i] <= value < edges[i + 1]; the last bin
    also holds its upper edge. For `integer`, all edges are whole numbers. Edges increase strictly,
    except that the last two of an `integer` may be equal: then the last bin holds that one
    number (1 to 3 in bins of one number has the edges 1, 2, 3, 3). A `date` or `datetime` is, in
    bins of one number, the number of a period of its `calendar`. The missing level exists
    only if `missing` is not empty, and is the last code.
    """

    name: str
    kind: Kind
    levels: tuple[str, ...] = ()
    edges: tuple[Fraction, ...] = ()
    missing: tuple[str, ...] = ()
    out_of_domain: str = MISSING
    source: str = ""
    title: str = ""
    description: str = ""
    hierarchy: tuple[HierarchyLevel, ...] = ()
    """Coarser views, coarsest first; each one splits groups of the one before."""
    spellings: tuple[tuple[str, ...], ...] = ()
    """How the source writes each level, where it is not the level itself."""
    value_labels: tuple[tuple[str, str], ...] = ()
    """What values mean, for readers: pairs of a value and its label, each of them once.

    A value is what `label` calls a code, or a word of `missing`; no label is the name of another
    code or group. Nothing is counted or published under a value label.
    """
    calendar: Calendar | None = None
    """The periods of a `date` or `datetime`; None for every other kind."""

    def __hash__(self) -> int:
        """Of a few fields: hashes of fractions are slow, and plans are remembered by attributes."""
        return hash((self.name, self.kind, self.levels, len(self.edges), self.missing))

    @property
    def is_ordered(self) -> bool:
        """Whether the values are numbers or periods, in declared bins."""
        return self.kind not in ("categorical", "boolean")

    @property
    def level_texts(self) -> tuple[tuple[str, ...], ...]:
        """The texts of the source that mean each level."""
        return self.spellings or tuple((level,) for level in self.levels)

    @property
    def is_whole(self) -> bool:
        """Whether the values in the bins are whole numbers: of themselves, or of periods."""
        return self.kind == "integer" or self.calendar is not None

    @property
    def has_missing(self) -> bool:
        """Whether the missing level exists (by declaration only)."""
        return bool(self.missing)

    @property
    def bin_count(self) -> int:
        """The number of levels or bins, without the missing level."""
        return len(self.edges) - 1 if self.is_ordered else len(self.levels)

    @cached_property
    def size(self) -> int:
        """The number of codes, the missing level included."""
        return self.bin_count + self.has_missing

    @property
    def depth(self) -> int:
        """The number of resolutions: the declared coarser ones and the codes themselves."""
        return len(self.hierarchy) + 1

    def groups(self, coarsening: int) -> tuple[int, ...]:
        """The group of every code, `coarsening` steps above the codes themselves (0).

        `coarsening` = `depth` puts all codes into one group: the attribute is summed out.
        """
        if not 0 <= coarsening <= self.depth:
            raise ValueError(f"{self.name!r} has no resolution {coarsening} steps up")
        if coarsening == 0:
            return tuple(range(self.size))
        if coarsening == self.depth:
            return (0,) * self.size
        return self.hierarchy[-coarsening].group_of

    def coarsening_of(self, level: str) -> int | None:
        """How many steps the named level of the hierarchy is above the codes; None: no such level.

        `groups` of the answer are the groups of that level.
        """
        names = [coarser.name for coarser in reversed(self.hierarchy)]
        return names.index(level) + 1 if level in names else None

    @property
    def missing_code(self) -> int | None:
        """The code of the missing level, or None if there is none."""
        return self.bin_count if self.has_missing else None

    def integer_bounds(self, code: int) -> tuple[int, int]:
        """The smallest and largest whole number, or number of a period, in bin `code`."""
        low, high = self.edges[code], self.edges[code + 1]
        last = code == self.bin_count - 1
        return int(low), int(high) if last else int(high) - 1

    def value_bounds(self, code: int) -> tuple[Fraction, Fraction]:
        """The smallest value of bin `code`, and the largest (or what values come near to).

        Requires: an ordered attribute, no missing code.
        """
        if self.is_whole:
            low, high = self.integer_bounds(code)
            return Fraction(low), Fraction(high)
        return self.edges[code], self.edges[code + 1]

    def is_single_value(self, code: int) -> bool:
        """Whether bin `code` holds exactly one whole number or period."""
        if not self.is_whole or code >= self.bin_count:
            return False
        low, high = self.integer_bounds(code)
        return low == high

    def label(self, code: int) -> str:
        """The name of a code: the level, the single integer, the interval, or `missing`."""
        if code == self.missing_code:
            return MISSING
        if not self.is_ordered:
            return self.levels[code]
        if self.is_single_value(code):
            return self.written_edge(code)
        close = "]" if code == self.bin_count - 1 else ")"
        return f"[{self.written_edge(code)}, {self.written_edge(code + 1)}{close}"

    def written_edge(self, place: int) -> str:
        """An edge as text: a number, or the period that begins there."""
        if self.calendar is not None:
            return write_period(int(self.edges[place]), self.calendar.resolution)
        return format_number(self.edges[place])

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The names of all codes, in code order."""
        return tuple(self.label(code) for code in range(self.size))

    def code_of(self, label: str) -> int | None:
        """The code that `label` names, or None if it names none: the inverse of `label`."""
        if label == MISSING:
            return self.missing_code
        if not self.is_ordered:
            return self._code_by_level.get(label)
        start = self._first_value(label)
        if start is None:
            return None
        found = bisect_right(self.edges, start) - 1
        code = min(max(found, 0), self.bin_count - 1)
        return code if self.label(code) == label else None

    def value_label(self, code: int) -> str:
        """What a code means, as the configuration says; empty where it says nothing."""
        return self._value_labels.get(self.label(code), "") if self.value_labels else ""

    def described(self, code: int) -> str:
        """The name of a code, and what it means where that is said: `1 (Yes)`."""
        return with_value_label(self.label(code), self.value_label(code))

    def code_of_value_label(self, text: str) -> int | None:
        """The code that is labelled so; None if none is."""
        values = (value for value, label in self.value_labels if label == text)
        return next((code for value in values if (code := self.code_of(value)) is not None), None)

    @cached_property
    def _value_labels(self) -> dict[str, str]:
        return dict(self.value_labels)

    def _first_value(self, label: str) -> Fraction | None:
        """The value with which a label of an ordered attribute begins."""
        if self.calendar is not None:
            text = label.removeprefix("[").partition(",")[0]
            number = read_period(text, self.calendar.resolution)
            return None if number is None else Fraction(number)
        start = re.match(r"\[?(-?[0-9]{1,40}(?:\.[0-9]{1,40})?)", label)
        return None if start is None else Fraction(start[1])

    @cached_property
    def _code_by_level(self) -> dict[str, int]:
        return {level: code for code, level in enumerate(self.levels)}

    @property
    def out_of_domain_code(self) -> int | None:
        """The code that takes every unknown value, or None for `clamp`.

        Raises: ValueError if `out_of_domain` names no code; an accepted configuration does.
        """
        if self.out_of_domain == CLAMP:
            return None
        code = self.code_of(self.out_of_domain)
        if code is None:
            raise ValueError(f"{self.name!r} has no level {self.out_of_domain!r}")
        return code

    @property
    def unreadable_code(self) -> int:
        """The code of text that is no number, and of a value for which no other rule exists.

        For `clamp` this is the missing level where one is declared, else the first bin.
        """
        if self.out_of_domain_code is not None:
            return self.out_of_domain_code
        return self.missing_code if self.missing_code is not None else 0


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
        calendar=attribute.calendar,
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


def period_level(attribute: Attribute, name: str, wider: Resolution) -> HierarchyLevel:
    """The view of a `date` or `datetime` by wider periods; a first or last one may be cut.

    Requires: whole periods of the attribute make up one of `wider`.
    """
    resolution = attribute.calendar.resolution if attribute.calendar else wider
    numbers = [
        wider_period(int(edge), resolution, wider)
        for edge in attribute.edges[: attribute.bin_count]
    ]
    groups: dict[str, list[int]] = {}
    for code, number in enumerate(numbers):
        groups.setdefault(write_wider(number, wider), []).append(code)
    return grouped_level(attribute, name, with_missing(attribute, groups))


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


HALVED_BINS = range(17, 1001)
"""An ordered attribute of so many bins is halved without being asked; see `with_halves`."""


def with_halves(attribute: Attribute) -> Attribute:
    """The attribute with the hierarchy that `dyadic` gives, if it is ordered and has none.

    So that what a few records tell of many bins can be measured in runs of them. Attributes of
    few bins do not need it, and those of very many would make thousands of groups.
    """
    if attribute.hierarchy or not attribute.is_ordered or attribute.bin_count not in HALVED_BINS:
        return attribute
    return replace(attribute, hierarchy=balanced_levels(attribute, 2))


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
