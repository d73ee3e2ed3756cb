"""The columns: what the section `domain` says of each, and the attributes that they make."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, Any, Literal

from synth.config.edges import (
    LARGEST,
    MAX_LEVELS,
    NUMBER_EDGE,
    WHOLE_EDGE,
    WHOLE_WIDTH,
    DateFormat,
    TimeZone,
    checked_calendar,
    increasing_edges,
    period_edges,
)
from synth.config.hierarchy import (
    GroupedLevel,
    Hierarchy,
    NumberBinsLevel,
    PeriodsLevel,
    Tree,
    WholeBinsLevel,
    build_hierarchy,
    levels_of,
    ordered_hierarchy,
)
from synth.config.labels import ValueLabels, checked_labels, listed, meant
from synth.config.schema.problems import Place, Refused, Report
from synth.config.schema.scalars import (
    MOST_OF_A_NAME,
    NOT_EMPTY,
    ONE_LINE,
    Choice,
    Text,
    Whole,
    label,
    line,
    name,
    prose,
)
from synth.config.schema.shapes import ListOf, Variants, record
from synth.config.schema.yaml_tree import ListNode, Node
from synth.domain import CLAMP, DENSE_LIMIT_CELLS, MISSING, Attribute
from synth.domain.attribute import TRUTH, with_halves
from synth.domain.periods import RESOLUTIONS, Calendar, Resolution

MAX_COLUMNS = 1_000

MAX_CODES = 1_000_000
"""How many levels and bins all columns have together at most: keeps refusals quick."""

MAX_GROUPED = 4_000_000
"""How many codes all hierarchies group together at most: every code once on every level."""

TRUE_TEXTS = ("true", "True", "TRUE", "t", "T", "yes", "Yes", "YES", "y", "Y", "1")
FALSE_TEXTS = ("false", "False", "FALSE", "f", "F", "no", "No", "NO", "n", "N", "0")

_Name = Annotated[str, name("The column, as the source writes it")]
_Missing = Annotated[
    tuple[str, ...],
    ListOf(
        "How the source writes a missing value; declaring it makes the missing level",
        Text('One such text; "" is an empty field', (ONE_LINE,), MOST_OF_A_NAME),
        maximum=100,
    ),
]
_OutOfDomain = Annotated[
    str, label("Where any other value goes: missing, clamp (ordered only), or a level")
]
_Origin = Annotated[str, prose("Where levels and bounds come from; published")]
_Title = Annotated[str | None, line("Title of the column for people")]
_Description = Annotated[str | None, prose("Description of the column")]


def _kind(word: str) -> Choice:
    return Choice("The kind of column", (word,))


def _edges(edge: Whole | Any) -> ListOf:
    description = "Where bins begin, and the largest number at the end"
    return ListOf(description, edge, minimum=2, maximum=MAX_LEVELS + 1)


@dataclass(frozen=True, kw_only=True)
class CategoricalColumn:
    """A column with a list of levels."""

    name: _Name
    type: Annotated[Literal["categorical"], _kind("categorical")]
    levels: Annotated[
        tuple[str, ...],
        ListOf(
            "Every level, as the source writes it",
            name("One level"),
            minimum=1,
            maximum=MAX_LEVELS,
        ),
    ]
    labels: ValueLabels = None
    hierarchy: Annotated[tuple[GroupedLevel, ...] | None, levels_of(GroupedLevel)] = None
    missing: _Missing = ()
    out_of_domain: _OutOfDomain
    source: _Origin
    title: _Title = None
    description: _Description = None


def _truth(value: str) -> ListOf:
    shape = Text("One such text", (NOT_EMPTY, ONE_LINE), MOST_OF_A_NAME)
    return ListOf(f"How the source writes {value}", shape, minimum=1, maximum=100)


@dataclass(frozen=True, kw_only=True)
class BooleanColumn:
    """A column of true and false."""

    name: _Name
    type: Annotated[Literal["boolean"], _kind("boolean")]
    true_values: Annotated[tuple[str, ...], _truth("true")] = TRUE_TEXTS
    false_values: Annotated[tuple[str, ...], _truth("false")] = FALSE_TEXTS
    missing: _Missing = ()
    out_of_domain: _OutOfDomain
    source: _Origin
    title: _Title = None
    description: _Description = None


@dataclass(frozen=True, kw_only=True)
class IntegerColumn:
    """A column of whole numbers in bins: minimum and maximum, or edges."""

    name: _Name
    type: Annotated[Literal["integer"], _kind("integer")]
    minimum: Annotated[int | None, Whole("The smallest number", -LARGEST, LARGEST)] = None
    maximum: Annotated[int | None, Whole("The largest number", -LARGEST, LARGEST)] = None
    bin_width: Annotated[int | None, WHOLE_WIDTH] = None
    edges: Annotated[tuple[int, ...] | None, _edges(WHOLE_EDGE)] = None
    labels: ValueLabels = None
    hierarchy: Annotated[
        tuple[WholeBinsLevel, ...] | Literal["dyadic"] | Tree | None,
        ordered_hierarchy(WholeBinsLevel),
    ] = None
    missing: _Missing = ()
    out_of_domain: _OutOfDomain
    source: _Origin
    title: _Title = None
    description: _Description = None


@dataclass(frozen=True, kw_only=True)
class NumberColumn:
    """A column of numbers in bins."""

    name: _Name
    type: Annotated[Literal["number"], _kind("number")]
    edges: Annotated[tuple[Fraction, ...], _edges(NUMBER_EDGE)]
    hierarchy: Annotated[
        tuple[NumberBinsLevel, ...] | Literal["dyadic"] | Tree | None,
        ordered_hierarchy(NumberBinsLevel),
    ] = None
    missing: _Missing = ()
    out_of_domain: _OutOfDomain
    source: _Origin
    title: _Title = None
    description: _Description = None


@dataclass(frozen=True, kw_only=True)
class DateColumn:
    """A column of days, by years, quarters, months, weeks or days."""

    name: _Name
    type: Annotated[Literal["date", "datetime"], _kind("date")]
    first: Annotated[str, line("The first period, in the form of the resolution")]
    last: Annotated[str, line("The last period")]
    resolution: Annotated[
        Resolution, Choice("How long the periods are; hours for datetime alone", RESOLUTIONS)
    ]
    format: DateFormat = None
    time_zone: TimeZone = "UTC"
    hierarchy: Annotated[
        tuple[PeriodsLevel, ...] | Literal["dyadic"] | Tree | None,
        ordered_hierarchy(PeriodsLevel),
    ] = None
    missing: _Missing = ()
    out_of_domain: _OutOfDomain
    source: _Origin
    title: _Title = None
    description: _Description = None


@dataclass(frozen=True, kw_only=True)
class DatetimeColumn(DateColumn):
    """A column of moments, by years, quarters, months, weeks, days or hours."""

    type: Annotated[Literal["date", "datetime"], _kind("datetime")]


Column = CategoricalColumn | BooleanColumn | IntegerColumn | NumberColumn | DateColumn


@dataclass(frozen=True)
class Declared:
    """One column: as it is written, in its normal form, and the attribute that it makes."""

    written: Column
    attribute: Attribute


@dataclass(frozen=True)
class Columns(ListOf):
    """The list of the columns. What is wrong with one hides nothing of another."""

    def read(self, node: Node, path: Place, report: Report) -> tuple[Declared, ...]:
        """The columns, in the order of the domain."""
        columns: dict[int, Column] = self.read_items(node, path, report)
        _refuse_names(columns, path, report)
        before = report.count
        declared: list[Declared] = []
        codes = grouped = 0
        for index, column in columns.items():
            if codes > MAX_CODES or grouped > MAX_GROUPED:
                limit, what = MAX_CODES, "levels and bins"
                if codes <= MAX_CODES:
                    limit, what = MAX_GROUPED, "levels and bins on the levels of hierarchies"
                raise report.refusal(
                    path,
                    found=f"more than {limit:,} {what} in the first {index} columns",
                    expected=f"at most {limit:,} in all columns together",
                    fix="use wider bins, or leave columns or hierarchies out",
                )
            with suppress(Refused):
                made = _declare(column, (*path, index), report)
                declared.append(made)
                codes += made.attribute.size
                grouped += made.attribute.size * len(made.attribute.hierarchy)
        if report.count > before or not isinstance(node, ListNode):
            raise Refused
        if len(declared) < len(node.items):
            raise Refused
        if math.prod(each.attribute.size for each in declared) > DENSE_LIMIT_CELLS:
            declared = [replace(each, attribute=with_halves(each.attribute)) for each in declared]
        return tuple(declared)

    def plain(self, value: Any) -> Any:
        """The columns as they are written, as JSON."""
        return super().plain([column.written for column in value])


DOMAIN = Columns(
    "The columns of the release, in order, with every level or bin that they can take",
    Variants(
        "One column",
        {
            "categorical": record(CategoricalColumn),
            "boolean": record(BooleanColumn),
            "integer": record(IntegerColumn),
            "number": record(NumberColumn),
            "date": record(DateColumn),
            "datetime": record(DatetimeColumn),
        },
    ),
    minimum=1,
    maximum=MAX_COLUMNS,
    noun="columns",
)


def _refuse_names(columns: Mapping[int, Column], path: Place, report: Report) -> None:
    """Report every column name that an earlier column has."""
    first: dict[str, tuple[int, str]] = {}
    for index, column in columns.items():
        earlier, spelling = first.setdefault(column.name.casefold(), (index, column.name))
        if earlier == index:
            continue
        here = (*path, index, "name")
        if spelling == column.name:
            report.add(
                here,
                expected="every column once",
                why=f"domain[{earlier}] has the same name",
                fix="remove one of the two, or rename it in the source",
            )
        else:
            report.add(
                here,
                expected="column names that differ in more than capital letters",
                why="many readers of tables do not tell capital from small letters",
            )


def _declare(column: Column, path: Place, report: Report) -> Declared:
    """The column and its attribute. Raises: Refused after reporting what is wrong with it."""
    before = report.count
    _check_missing(column, path, report)
    levels: tuple[str, ...] = ()
    edges: tuple[Fraction, ...] = ()
    spellings: tuple[tuple[str, ...], ...] = ()
    hierarchy: Hierarchy = None
    calendar: Calendar | None = None
    with suppress(Refused):
        if isinstance(column, CategoricalColumn):
            _check_levels(column.levels, (*path, "levels"), report)
            levels, hierarchy = column.levels, column.hierarchy
        elif isinstance(column, BooleanColumn):
            _check_truth(column, path, report)
            levels, spellings = TRUTH, (column.false_values, column.true_values)
        elif isinstance(column, IntegerColumn):
            column, edges = _whole_bins(column, path, report)
            hierarchy = column.hierarchy
        elif isinstance(column, DateColumn):
            calendar = checked_calendar(
                column.type, column.resolution, column.format, column.time_zone, path, report
            )
            edges = period_edges(column.first, column.last, calendar, path, report)
            hierarchy = column.hierarchy
        else:
            edges = increasing_edges(column.edges, (*path, "edges"), report)
            hierarchy = column.hierarchy
    _check_words(column, path, report)
    if report.count > before:
        raise Refused
    attribute = Attribute(
        name=column.name,
        kind=column.type,
        levels=levels,
        edges=edges,
        missing=column.missing,
        out_of_domain=column.out_of_domain,
        source=column.source,
        title=column.title or "",
        description=column.description or "",
        spellings=spellings,
        calendar=calendar,
    )
    _check_label(attribute, path, report)
    here = (*path, "hierarchy")
    hierarchy, coarser = build_hierarchy(hierarchy, attribute, here, report)
    if report.count > before:
        raise Refused
    written: Any = column
    if not isinstance(column, BooleanColumn):
        written = replace(column, hierarchy=hierarchy)  # type: ignore[arg-type]
    attribute = replace(attribute, hierarchy=coarser)
    if isinstance(column, CategoricalColumn | IntegerColumn) and column.labels is not None:
        labels = checked_labels(column.labels, attribute, (*path, "labels"), report)
        if report.count > before:
            raise Refused
        written = replace(written, labels=dict(labels))
        attribute = replace(attribute, value_labels=labels)
    return Declared(written, attribute)


def _refuse_repeats(
    path: Place, items: tuple[str, ...], report: Report, *, expected: str, why: str = ""
) -> None:
    """Report every item that is the same as an earlier one."""
    seen: set[str] = set()
    for index, item in enumerate(items):
        if item in seen:
            report.add((*path, index), expected=expected, why=why)
        seen.add(item)


def _check_levels(levels: tuple[str, ...], path: Place, report: Report) -> None:
    why = "equal levels are one level"
    _refuse_repeats(path, levels, report, expected="every level once", why=why)
    for index, level in enumerate(levels):
        if level in {MISSING, CLAMP}:
            report.add(
                (*path, index),
                expected=f"a level other than the reserved words {MISSING} and {CLAMP}",
                why="the release could not tell the level from the rule of that name",
                fix="list it under `missing` if it means a missing value"
                if level == MISSING
                else "rename it in the source",
            )


def _check_missing(column: Column, path: Place, report: Report) -> None:
    here = (*path, "missing")
    _refuse_repeats(here, column.missing, report, expected="every text once")
    if isinstance(column, BooleanColumn):
        for index, token in enumerate(column.missing):
            if token in column.true_values or token in column.false_values:
                report.add(
                    (*here, index),
                    expected="a text that means neither true nor false",
                    why="the same text would mean a value and a missing one",
                    fix="list under `true_values` and `false_values` what is left, or remove it "
                    "from `missing`",
                )
        return
    levels = set(column.levels) if isinstance(column, CategoricalColumn) else set()
    for index, token in enumerate(column.missing):
        if token in levels:
            report.add(
                (*here, index),
                expected="a text that is no level",
                why="the same text would mean a level and a missing value",
                fix="remove it from `levels` or from `missing`",
            )


def _check_truth(column: BooleanColumn, path: Place, report: Report) -> None:
    for key in ("true_values", "false_values"):
        _refuse_repeats((*path, key), getattr(column, key), report, expected="every text once")
    for index, text in enumerate(column.false_values):
        if text in column.true_values:
            report.add(
                (*path, "false_values", index),
                expected="a text that does not mean true",
                why="the same text would mean true and false",
                fix="remove it from `true_values` or from `false_values`",
            )


def _whole_bins(
    column: IntegerColumn, path: Place, report: Report
) -> tuple[IntegerColumn, tuple[Fraction, ...]]:
    """The column in its normal form; its edges as listed, or from minimum, maximum, bin width."""
    low, high, width = column.minimum, column.maximum, column.bin_width or 1
    if column.edges is not None:
        bounds = ("minimum", "maximum", "bin_width")
        for key in (key for key in bounds if getattr(column, key) is not None):
            raise report.refusal(
                (*path, key),
                found=f"`edges` and `{key}`",
                expected="either edges, or minimum and maximum",
            )
        return column, increasing_edges(column.edges, (*path, "edges"), report)
    if low is None or high is None:
        raise report.refusal(
            (*path, "minimum" if low is None else "maximum"),
            found="nothing",
            expected="minimum and maximum, or edges",
            why="bounds come from the configuration alone, never from the data",
        )
    here = (*path, "maximum")
    if high < low:
        raise report.refusal(here, expected=f"a number not below the minimum ({low})")
    count = (high - low) // width + 1
    if count > MAX_LEVELS:
        raise report.refusal(
            here,
            found=f"{count:,} bins",
            expected=f"at most {MAX_LEVELS:,} bins",
            why="every bin gets noise; with so many, noise is all that is left",
            fix=f"use bin_width: {-(-(high - low + 1) // 100)} for about a hundred bins",
        )
    starts = (Fraction(start) for start in range(low, high + 1, width))
    return replace(column, bin_width=width), (*starts, Fraction(high))


def _check_words(column: Column, path: Place, report: Report) -> None:
    """The reserved words under `out_of_domain` suit the kind of column."""
    here = (*path, "out_of_domain")
    is_ordered = column.type not in ("categorical", "boolean")
    if column.out_of_domain == CLAMP and not is_ordered:
        report.add(
            here,
            expected="missing, or a level",
            why="levels have no order, so no level is the nearest",
        )
    elif column.out_of_domain == MISSING and not column.missing:
        report.add(
            here,
            expected="clamp, or a level" if is_ordered else "a level",
            why="this column has no missing level",
            fix='declare one, for example missing: [""]',
        )


def _check_label(attribute: Attribute, path: Place, report: Report) -> None:
    """`out_of_domain` is a reserved word, or names a level or bin."""
    rule = attribute.out_of_domain
    if rule == CLAMP or attribute.code_of(rule) is not None:
        return
    words = [MISSING] if attribute.has_missing else []
    words += [CLAMP] if attribute.is_ordered else []
    report.add(
        (*path, "out_of_domain"),
        expected="one of: " + ", ".join([*words, listed(attribute, 8)]),
        fix=meant(rule, attribute, report, words),
    )
