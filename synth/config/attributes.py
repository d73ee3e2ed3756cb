"""Attributes from the `domain` section: levels and bins, and the rules that relate them."""

from __future__ import annotations

from typing import Any

from synth.config.bins import increasing_edges, integer_edges
from synth.config.hierarchies import build_hierarchy
from synth.config.labels import listed, meant
from synth.config.problems import Path, Report
from synth.config.scalars import INVALID, Invalid
from synth.domain import CLAMP, MISSING, Attribute

MAX_CODES = 1_000_000
"""How many levels and bins all columns have together at most: keeps refusals quick."""

MAX_GROUPED = 4_000_000
"""How many codes all hierarchies group together at most: every code once on every level."""

Declared = dict[str, Attribute | None]
"""Every declared column by name; None if its declaration has a problem."""


def build_attributes(items: list[Any], report: Report) -> Declared:
    """All attributes, in the order of the domain."""
    repeated = _refuse_names(items, report)
    declared: Declared = {}
    codes = 0
    grouped = 0
    for index, values in enumerate(items):
        if codes > MAX_CODES or grouped > MAX_GROUPED:
            limit, what = (MAX_CODES, "levels and bins")
            if codes <= MAX_CODES:
                limit, what = (MAX_GROUPED, "levels and bins on the levels of hierarchies")
            report.add(
                ("domain",),
                found=f"more than {limit:,} {what} in the first {index} columns",
                expected=f"at most {limit:,} in all columns together",
                fix="use wider bins, or leave columns or hierarchies out",
            )
            named = [rest["name"] for rest in items[index:] if not isinstance(rest, Invalid)]
            return declared | {name: None for name in named if not isinstance(name, Invalid)}
        if not isinstance(values, Invalid):
            attribute = _build(values, ("domain", index), report)
            if attribute is not None:
                codes += attribute.size
                grouped += attribute.size * len(attribute.hierarchy)
            if not isinstance(values["name"], Invalid):
                name = values["name"]
                declared.setdefault(name, None if name in repeated else attribute)
    return declared


def _refuse_names(items: list[Any], report: Report) -> set[str]:
    """Report every column name that an earlier column has; the names that stand there twice."""
    first: dict[str, tuple[int, str]] = {}
    repeated: set[str] = set()
    for index, values in enumerate(items):
        name = INVALID if isinstance(values, Invalid) else values["name"]
        if isinstance(name, Invalid):
            continue
        earlier, spelling = first.setdefault(name.casefold(), (index, name))
        if earlier == index:
            continue
        here = ("domain", index, "name")
        if spelling == name:
            repeated.add(name)
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
    return repeated


def _build(values: dict[str, Any], path: Path, report: Report) -> Attribute | None:
    kind = values["type"]
    levels: Any = ()
    edges: Any = ()
    if kind == "categorical":
        levels = _levels(values, path, report)
    elif kind == "integer":
        edges = integer_edges(values, path, report)
    else:
        edges = increasing_edges(values["edges"], (*path, "edges"), report)
    missing = _missing(values, path, report, levels)
    words_fit = _words_fit(values, path, report)
    texts = [values[key] for key in ("name", "out_of_domain", "source", "title", "description")]
    if isinstance(missing, Invalid) or isinstance(levels, Invalid) or isinstance(edges, Invalid):
        return None
    hierarchy = build_hierarchy(values, Attribute("", kind, levels, edges, missing), path, report)
    if isinstance(hierarchy, Invalid) or any(isinstance(text, Invalid) for text in texts):
        return None
    attribute = Attribute(
        name=values["name"],
        kind=kind,
        levels=levels,
        edges=edges,
        missing=missing,
        out_of_domain=values["out_of_domain"],
        source=values["source"],
        title=values["title"] or "",
        description=values["description"] or "",
        hierarchy=hierarchy,
    )
    return attribute if words_fit and _label_fits(attribute, path, report) else None


def _refuse_repeats(
    path: Path, items: list[Any], report: Report, *, expected: str, why: str = ""
) -> bool:
    """Report every item that is the same as an earlier one; True if there is none."""
    seen: set[str] = set()
    fine = True
    for index, item in enumerate(items):
        if isinstance(item, Invalid):
            continue
        if item in seen:
            report.add((*path, index), expected=expected, why=why)
            fine = False
        seen.add(item)
    return fine


def _levels(values: dict[str, Any], path: Path, report: Report) -> tuple[str, ...] | Invalid:
    levels = values["levels"]
    if isinstance(levels, Invalid):
        return INVALID
    here = (*path, "levels")
    fine = _refuse_repeats(
        here, levels, report, expected="every level once", why="equal levels are one level"
    )
    for index, level in enumerate(levels):
        if level in {MISSING, CLAMP}:
            report.add(
                (*here, index),
                expected=f"a level other than the reserved words {MISSING} and {CLAMP}",
                why="the release could not tell the level from the rule of that name",
                fix="list it under `missing` if it means a missing value"
                if level == MISSING
                else "rename it in the source",
            )
            fine = False
    if not fine or any(isinstance(level, Invalid) for level in levels):
        return INVALID
    return tuple(levels)


def _missing(
    values: dict[str, Any], path: Path, report: Report, levels: tuple[str, ...] | Invalid
) -> tuple[str, ...] | Invalid:
    tokens = values["missing"]
    if isinstance(tokens, Invalid) or any(isinstance(token, Invalid) for token in tokens):
        return INVALID
    here = (*path, "missing")
    fine = _refuse_repeats(here, tokens, report, expected="every text once")
    known = set() if isinstance(levels, Invalid) else set(levels)
    for index, token in enumerate(tokens):
        if token in known:
            report.add(
                (*here, index),
                expected="a text that is no level",
                why="the same text would mean a level and a missing value",
                fix="remove it from `levels` or from `missing`",
            )
            fine = False
    return tuple(tokens) if fine else INVALID


def _words_fit(values: dict[str, Any], path: Path, report: Report) -> bool:
    """Whether the reserved words under `out_of_domain` suit the kind of column."""
    here = (*path, "out_of_domain")
    rule, is_ordered = values["out_of_domain"], values["type"] != "categorical"
    if rule == CLAMP and not is_ordered:
        report.add(
            here,
            expected="missing, or a level",
            why="levels have no order, so no level is the nearest",
        )
        return False
    if rule == MISSING and values["missing"] == []:
        report.add(
            here,
            expected="clamp, or a level" if is_ordered else "a level",
            why="this column has no missing level",
            fix='declare one, for example missing: [""]',
        )
        return False
    return True


def _label_fits(attribute: Attribute, path: Path, report: Report) -> bool:
    """Whether `out_of_domain` is a reserved word or names a level or bin."""
    rule = attribute.out_of_domain
    if rule == CLAMP or attribute.code_of(rule) is not None:
        return True
    words = [MISSING] if attribute.has_missing else []
    words += [CLAMP] if attribute.is_ordered else []
    report.add(
        (*path, "out_of_domain"),
        expected="one of: " + ", ".join([*words, listed(attribute, 8)]),
        fix=meant(rule, attribute, report, words),
    )
    return False
