"""Attributes from the `domain` section: levels and bins, and the rules that relate them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from synth.config.domain_keys import MAX_LEVELS
from synth.config.problems import Path, Report
from synth.config.scalars import INVALID, Invalid
from synth.domain import CLAMP, MISSING, Attribute, format_number

Bins = tuple[Fraction, ...]


MAX_CODES = 1_000_000
"""How many levels and bins all columns have together at most: keeps refusals quick."""

Declared = dict[str, Attribute | None]
"""Every declared column by name; None if its declaration has a problem."""


def build_attributes(items: list[Any], report: Report) -> Declared:
    """All attributes, in the order of the domain."""
    _refuse_repeats(
        ("domain",),
        [INVALID if isinstance(values, Invalid) else values["name"] for values in items],
        report,
        part="name",
        same=str.casefold,
        expected="column names that differ in more than capital letters",
        why="many readers of tables do not tell capital from small letters",
    )
    declared: Declared = {}
    codes = 0
    for index, values in enumerate(items):
        if codes > MAX_CODES:
            report.add(
                ("domain",),
                found=f"more than {MAX_CODES:,} levels and bins in the first {index} columns",
                expected=f"at most {MAX_CODES:,} in all columns together",
                fix="use wider bins, or leave columns out",
            )
            named = [rest["name"] for rest in items[index:] if not isinstance(rest, Invalid)]
            return declared | {name: None for name in named if not isinstance(name, Invalid)}
        if not isinstance(values, Invalid):
            attribute = _build(values, ("domain", index), report)
            codes += 0 if attribute is None else attribute.size
            if not isinstance(values["name"], Invalid):
                declared.setdefault(values["name"], attribute)
    return declared


def _build(values: dict[str, Any], path: Path, report: Report) -> Attribute | None:
    kind = values["type"]
    levels: Any = ()
    edges: Any = ()
    if kind == "categorical":
        levels = _levels(values, path, report)
    elif kind == "integer":
        edges = _integer_edges(values, path, report)
    else:
        edges = _increasing(values["edges"], (*path, "edges"), report)
    missing = _missing(values, path, report, levels)
    words_fit = _words_fit(values, path, report)
    texts = [values[key] for key in ("name", "out_of_domain", "source", "title", "description")]
    if isinstance(missing, Invalid) or any(isinstance(p, Invalid) for p in (levels, edges, *texts)):
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
    )
    return attribute if words_fit and _label_fits(attribute, path, report) else None


def _refuse_repeats(
    path: Path,
    items: list[Any],
    report: Report,
    *,
    expected: str,
    why: str = "",
    part: str | None = None,
    same: Callable[[str], str] = str,
) -> bool:
    """Report every item that is the same as an earlier one; True if there is none."""
    seen: set[str] = set()
    fine = True
    for index, item in enumerate(items):
        if isinstance(item, Invalid):
            continue
        if same(item) in seen:
            here = (*path, index) if part is None else (*path, index, part)
            report.add(here, expected=expected, why=why)
            fine = False
        seen.add(same(item))
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


def _integer_edges(values: dict[str, Any], path: Path, report: Report) -> Bins | Invalid:
    """Edges as listed, or from minimum, maximum and bin width."""
    low, high, width, edges = (values[k] for k in ("minimum", "maximum", "bin_width", "edges"))
    if any(isinstance(part, Invalid) for part in (low, high, width, edges)):
        return INVALID
    bounds = [name for name in ("minimum", "maximum", "bin_width") if values[name] is not None]
    if edges is not None:
        if not bounds:
            return _increasing(edges, (*path, "edges"), report)
        report.add(
            (*path, bounds[0]),
            found=f"`edges` and `{bounds[0]}`",
            expected="either edges, or minimum and maximum",
        )
        return INVALID
    if low is None or high is None:
        lacking = "minimum" if low is None else "maximum"
        report.add(
            (*path, lacking),
            found="nothing",
            expected="minimum and maximum, or edges",
            why="bounds come from the configuration alone, never from the data",
        )
        return INVALID
    if high < low:
        report.add((*path, "maximum"), expected=f"a number not below the minimum ({low})")
        return INVALID
    values["bin_width"] = width = width or 1
    count = (high - low) // width + 1
    if count > MAX_LEVELS:
        report.add(
            (*path, "maximum"),
            found=f"{count:,} bins",
            expected=f"at most {MAX_LEVELS:,} bins",
            why="every bin gets noise; with so many, noise is all that is left",
            fix=f"use bin_width: {-(-(high - low + 1) // 100)} for about a hundred bins",
        )
        return INVALID
    starts = [Fraction(start) for start in range(low, high + 1, width)]
    return (*starts, Fraction(high))


def _increasing(edges: Any, path: Path, report: Report) -> Bins | Invalid:
    if isinstance(edges, Invalid) or any(isinstance(edge, Invalid) for edge in edges):
        return INVALID
    for below, edge in itertools.pairwise(edges):
        text = format_number(Fraction(edge))
        if edge == below:
            report.add(
                path,
                expected="strictly increasing numbers",
                why="equal edges make a bin that no record can enter",
                fix=f"remove one of the two {text}s",
            )
            return INVALID
        if edge < below:
            report.add(
                path,
                expected="strictly increasing numbers",
                fix=f"{text} must not stand behind {format_number(Fraction(below))}",
            )
            return INVALID
        if float(edge) == float(below):
            report.add(
                path,
                expected="edges that differ as 64-bit floating-point numbers",
                why="values are compared with edges in that precision",
                fix=f"remove {text} or its neighbour",
            )
            return INVALID
    return tuple(Fraction(edge) for edge in edges)


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
        expected=", ".join([*words, "or a level"]) if words else "a level",
        fix=report.suggest(rule, map(attribute.label, range(min(attribute.size, 1000)))),
    )
    return False
