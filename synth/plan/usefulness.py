"""The forecast in words: of what is asked for, what a release will be good for.

One figure for every kind of query and number of columns: the share of the records that the
published tables are expected to have in the wrong place (their total variation, after the fit, as
`synth.plan.after_nonnegativity` expects it), and one of four words for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from synth.plan.after_nonnegativity import share_of_pure_noise
from synth.plan.choice import by_group, expected_errors
from synth.plan.problem import Problem
from synth.privacy import TableEvent

GOOD, ROUGH, POOR, NOISE = "usable", "rough", "poor", "mostly noise"
BELOW = {GOOD: 0.05, ROUGH: 0.2, POOR: 0.5}
"""The share of the records in the wrong place below which each word holds."""
NEARLY_NOISE = 0.8
"""Mostly noise is also what is off by this part of what pure noise would be."""

_ORDERS = {1: "1-way tables", 2: "pairs of columns"}


@dataclass(frozen=True)
class Usefulness:
    """What queries of one kind and number of columns will be good for.

    `share`: the mean, over these queries, of the share of records in the wrong place; of ranges
    the mean error of one interval as a share of the records.
    """

    kind: str
    columns: int
    share: float
    verdict: str

    @property
    def label(self) -> str:
        """The queries in words."""
        if self.kind == "cells":
            return "single cells"
        tables = _ORDERS.get(self.columns, f"{self.columns}-way tables")
        return tables if self.kind == "marginal" else f"{self.kind} queries of {tables}"

    @property
    def sentence(self) -> str:
        """As `pairs of columns: mostly noise (about 60 % of the records in the wrong place)`."""
        return f"{self.label}: {self.verdict} ({percent(self.share)} of the records {self._where})"

    @property
    def _where(self) -> str:
        return "in the wrong place" if self.kind in ("marginal", "cells") else "off, one interval"

    @property
    def is_bad(self) -> bool:
        """Whether it is poor or worse."""
        return self.verdict in (POOR, NOISE)

    def to_plain(self) -> dict[str, Any]:
        """In JSON values."""
        return {
            "kind": self.kind,
            "columns": self.columns,
            "share_misplaced": self.share,
            "verdict": self.verdict,
            "sentence": self.sentence,
        }


def percent(share: float) -> str:
    """A share in whole percent, as roughly as it is known."""
    return "less than 1 %" if share < 0.01 else f"about {round(100 * share)} %"


def usefulness(
    problem: Problem, events: Sequence[TableEvent], records: int
) -> tuple[Usefulness, ...]:
    """One entry for every kind of query and number of columns of the workload, in its order.

    Privacy: a function of the public problem, of planned or measured tables, and of a number of
    records that is public or published.
    """
    questions = problem.questions
    pure = [share_of_pure_noise(len(q.attributes), q.queries) for q in questions]
    shares = by_group(questions, expected_errors(problem, events, max(1, records)))
    limits = by_group(questions, pure)
    return tuple(
        Usefulness(kind, columns, share, _verdict(kind, share, limit))
        for ((kind, columns), share), (_, limit) in zip(shares, limits, strict=True)
    )


def mostly_noise(found: Sequence[Usefulness]) -> str | None:
    """One line about what is asked for in vain, or None."""
    bad = [each.label for each in found if each.verdict == NOISE]
    return f"forecast: {', '.join(bad)} will be mostly noise; see synth plan" if bad else None


def _verdict(kind: str, share: float, pure_noise: float) -> str:
    if kind in ("marginal", "cells") and share >= NEARLY_NOISE * pure_noise:
        return NOISE
    return next((word for word, below in BELOW.items() if share < below), NOISE)
