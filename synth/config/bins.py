"""The bins of ordered columns: edges as listed, or from a minimum, a maximum and a width."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

from synth.config.domain_keys import MAX_LEVELS
from synth.config.problems import Path, Report
from synth.config.scalars import INVALID, Invalid
from synth.domain import format_number

Bins = tuple[Fraction, ...]


def integer_edges(values: dict[str, Any], path: Path, report: Report) -> Bins | Invalid:
    """Edges as listed, or from minimum, maximum and bin width."""
    low, high, width, edges = (values[k] for k in ("minimum", "maximum", "bin_width", "edges"))
    if any(isinstance(part, Invalid) for part in (low, high, width, edges)):
        return INVALID
    bounds = [name for name in ("minimum", "maximum", "bin_width") if values[name] is not None]
    if edges is not None:
        if not bounds:
            return increasing_edges(edges, (*path, "edges"), report)
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


def increasing_edges(edges: Any, path: Path, report: Report) -> Bins | Invalid:
    """The edges as exact numbers, if each is larger than the one before."""
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
