"""Coarser bins of an ordered column: the bins where they begin, from edges or from a width."""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from typing import Any

from synth.config.bins import increasing_edges
from synth.config.problems import Path, Report
from synth.config.scalars import INVALID, Invalid
from synth.domain import Attribute, format_number

Starts = tuple[int, ...]


def interval_starts(
    values: dict[str, Any], attribute: Attribute, path: Path, report: Report
) -> Starts | Invalid:
    """The codes of the bins where the groups of one level begin."""
    edges, width = values["edges"], values["bin_width"]
    if isinstance(edges, Invalid) or isinstance(width, Invalid):
        return INVALID
    if (edges is None) == (width is None):
        report.add(
            path,
            found="neither `edges` nor `bin_width`" if edges is None else None,
            expected="either edges or bin_width",
        )
        return INVALID
    if edges is None:
        return _from_width(Fraction(width), attribute, (*path, "bin_width"), report)
    return _from_edges(edges, attribute, (*path, "edges"), report)


def _from_edges(edges: Any, attribute: Attribute, path: Path, report: Report) -> Starts | Invalid:
    own = attribute.edges
    # 1 to 3 in bins of one number has the edges 1, 2, 3, 3: so has a level that keeps its last bin.
    keeps_last = own[-1] == own[-2] and edges[-2:] == [own[-1], own[-1]]
    read = increasing_edges(edges[:-1] if keeps_last else edges, path, report)
    if isinstance(read, Invalid):
        return INVALID
    if (read[0], read[-1]) != (own[0], own[-1]):
        low, high = format_number(own[0]), format_number(own[-1])
        report.add(
            path,
            expected=f"edges from {low} to {high}, the ends of the column",
            why="every bin of the column must lie in a group",
        )
        return INVALID
    fine = True
    for index, edge in enumerate(read):
        if own[bisect_left(own, edge)] != edge:
            report.add((*path, index), expected="an edge of the column", fix=_nearest(edge, own))
            fine = False
    starts = read if keeps_last else read[:-1]
    return tuple(bisect_left(own, edge) for edge in starts) if fine else INVALID


def _from_width(
    width: Fraction, attribute: Attribute, path: Path, report: Report
) -> Starts | Invalid:
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
    report.add(path, expected="a width whose bins are made of whole bins", why=why, fix=fix)
    return INVALID


def _nearest(edge: Fraction, own: tuple[Fraction, ...]) -> str:
    after = min(bisect_left(own, edge), len(own) - 1)
    around = own[max(after - 1, 0) : after + 1]
    nearest = min(around, key=lambda other: abs(other - edge))
    return f"the nearest edge of the column is {format_number(nearest)}"
