"""The bins of ordered columns: their edges as numbers that increase."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

from synth.config.schema.problems import Place, Report
from synth.config.schema.scalars import Exact, Whole
from synth.domain import format_number

LARGEST = 2**53 - 1
"""The largest whole number that every common reader of numbers keeps exactly."""

FARTHEST = Fraction(10) ** 15
"""The largest edge of a `number` column."""

MAX_LEVELS = 100_000

WHOLE_EDGE = Whole("One edge", -LARGEST, LARGEST)
WHOLE_WIDTH = Whole("Numbers per bin (1); the last may be shorter", 1, LARGEST)
NUMBER_EDGE = Exact("One edge", -FARTHEST, FARTHEST, ratios=False)
NUMBER_WIDTH = Exact(
    "The width of a bin; the last may be shorter",
    Fraction(0),
    2 * FARTHEST,
    ratios=False,
    above_minimum=True,
)


def increasing_edges(
    edges: Sequence[int | Fraction], path: Place, report: Report
) -> tuple[Fraction, ...]:
    """The edges as exact numbers. Raises: Refused if one is not larger than the one before."""
    for below, edge in itertools.pairwise(edges):
        text = format_number(Fraction(edge))
        if edge == below:
            raise report.refusal(
                path,
                expected="strictly increasing numbers",
                why="equal edges make a bin that no record can enter",
                fix=f"remove one of the two {text}s",
            )
        if edge < below:
            raise report.refusal(
                path,
                expected="strictly increasing numbers",
                fix=f"{text} must not stand behind {format_number(Fraction(below))}",
            )
        if float(edge) == float(below):
            raise report.refusal(
                path,
                expected="edges that differ as 64-bit floating-point numbers",
                why="values are compared with edges in that precision",
                fix=f"remove {text} or its neighbour",
            )
    return tuple(Fraction(edge) for edge in edges)
