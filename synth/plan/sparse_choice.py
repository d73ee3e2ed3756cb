"""What is measured where the universe is too large for a noisy count in every cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from synth.domain import Margin
from synth.plan.problem import Problem
from synth.plan.shares import Purse
from synth.plan.sparse_rule import (
    DELTA_SHARE,
    LARGEST_LOW_ORDER_CELLS,
    LISTED_SHARES,
    MOST_ATTRIBUTES,
    listing_event,
)
from synth.plan.spending import LEAST_SHARE, Spending, noises
from synth.plan.splits import best_shares, in_order, margins_of_order, workload_margins

ONE_WAY_SHARE = 0.1
"""All 1-way tables together get at least this part of what the tables beside the list get."""


def ways_with_list(problem: Problem) -> Iterator[Spending]:
    """A list of heavy cells, with all 1-way tables or the best small ones, at several splits.

    Tables that the configuration names are measured instead of the small ones; then the universe
    is listed if it is among them.

    Ensures: nothing has the size of the universe. Deterministic.
    """
    privacy, epsilon = problem.privacy, problem.privacy.epsilon
    sets, parts = _tables_beside(problem)
    if not sets:
        yield Spending("list", (listing_event(problem, epsilon, privacy.delta),))
    for noise in noises(problem):
        delta = privacy.delta * (1 - DELTA_SHARE) if noise == "gaussian" else Fraction(0)
        within = replace(problem, privacy=replace(privacy, delta=delta))
        for name, margins in sets.items():
            shares = _shares(within, margins, Purse(epsilon * (1 - parts[0]), noise))
            for part in parts:
                events = Purse(epsilon * (1 - part), noise).events(within, margins, shares)
                if part:
                    listed = listing_event(problem, epsilon * part, privacy.delta - delta)
                    events = (listed, *events)
                yield Spending(name, events, noise, 1 - part)


def _tables_beside(problem: Problem) -> tuple[dict[str, list[Margin]], tuple[Fraction, ...]]:
    """The sets of tables to weigh, and the parts of epsilon that the list may get."""
    if not isinstance(problem.strategy, str):
        others = in_order(problem, [m for m in problem.strategy if m != problem.full])
        listed = problem.full in problem.strategy
        return (
            {"tables as given": others} if others else {},
            LISTED_SHARES if listed else (Fraction(0),),
        )
    ones = [margin for margin in margins_of_order(problem, 1) if margin != problem.full]
    small = [margin for margin in workload_margins(problem) if _is_small(problem, margin)]
    both = in_order(problem, [*ones, *small])
    sets = {"list + 1-way": ones} if ones else {}
    if len(both) > len(ones):
        sets["list + best small tables"] = both
    return sets, LISTED_SHARES


def _is_small(problem: Problem, margin: Margin) -> bool:
    """Whether a table may stand beside the list; the universe itself is listed, never summed."""
    cells = margin.cells(problem.universe)
    few = len(margin.names) <= MOST_ATTRIBUTES and cells <= LARGEST_LOW_ORDER_CELLS
    return few and margin != problem.full


def _shares(problem: Problem, margins: Sequence[Margin], purse: Purse) -> list[float]:
    """The best shares, but something for every table that was named and every 1-way table.

    1-way tables alone are all alike, as beside a universe that is measured cell by cell.
    """
    if not isinstance(problem.strategy, str):
        return best_shares(problem, margins, purse, least=LEAST_SHARE)
    if all(len(margin.names) == 1 for margin in margins):
        return [1.0] * len(margins)
    shares = best_shares(problem, margins, purse)
    alone = [len(margin.names) == 1 and not any(margin.coarsening) for margin in margins]
    least = ONE_WAY_SHARE * sum(shares) / max(1, sum(alone))
    return [max(share, least) if one else share for share, one in zip(shares, alone, strict=True)]
