"""The ways to spend the budget that each strategy considers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from synth.domain import Margin
from synth.errors import BugError
from synth.planning.adaptive import likely_tables, schedule_of
from synth.planning.covering import joined_columns
from synth.planning.listed import DELTA_SHARE, LISTED_SHARES, SPARSE, is_sparse, listing_event
from synth.planning.look import is_modelled
from synth.planning.margins import (
    best_shares,
    in_order,
    margins_of_order,
    one_way_shares,
    workload_margins,
)
from synth.planning.problem import Problem
from synth.planning.spending import ADAPTIVE, LEAST_SHARE, Noise, Purse, Spending, noises
from synth.planning.wide import JOINED, ONE_WAY, is_wide, wide_ways

ONE_WAY_SHARE = 0.1
"""All 1-way tables together get at least this part of what the tables beside the list get."""
LOW_ORDER_SHARES = tuple(Fraction(percent, 100) for percent in range(5, 65, 5))
"""What part of epsilon the smaller tables may get beside the universe."""
LARGEST_LOW_ORDER_CELLS = 10**6
"""No table beside the list is larger."""
MOST_ATTRIBUTES = 2
"""What tables beside the list have, if the planner chooses them, and of large universes those that
are fitted to every cell."""


def ways_to_spend(problem: Problem) -> Iterator[Spending]:
    """All that the strategy of the problem considers; `auto` considers most."""
    if is_wide(problem) and isinstance(problem.strategy, str):
        yield from wide_ways(problem)
    elif is_sparse(problem):
        yield from _with_list(problem)
    elif problem.strategy == "auto":
        yield from _ways_of_auto(problem)
    elif problem.strategy == "identity":
        yield _universe_alone(problem)
    elif problem.strategy == "adaptive":
        yield _adaptive(problem)
    elif problem.strategy == SPARSE:
        raise BugError("a sparse strategy lists cells")
    else:
        yield from _given(problem, problem.strategy)


def _ways_of_auto(problem: Problem) -> Iterator[Spending]:
    """All that `auto` considers.

    The universe alone; with all 1-way tables, small columns joined, or the best marginals, at
    several splits of epsilon. Without the universe: all that `wide_ways` has where `is_modelled`
    says so; else the best marginals alone; all marginals of one order alike; small columns joined;
    the tables that the adaptive strategy would choose if all dependences were alike. Smaller tables
    get Laplace noise, and in further alternatives Gaussian noise, where delta is positive.
    """
    yield _universe_alone(problem)
    modelled = is_modelled(problem)
    margins = workload_margins(problem)
    epsilon = problem.privacy.epsilon
    for noise in noises(problem):
        purse = Purse(epsilon, noise)
        shares = best_shares(problem, margins, purse)
        if margins and not modelled:
            events = purse.events(problem, margins, shares)
            yield Spending("best marginals", events, noise)
        if not modelled:
            yield from _all_alike(problem, purse)
        for name, tables in _every_column(problem):
            shares_of_columns = one_way_shares(problem, tables, purse)
            if not modelled and name != ONE_WAY:
                yield Spending(name, purse.events(problem, tables, shares_of_columns), noise)
            yield from _beside_universe(
                problem, f"universe + {name}", tables, shares_of_columns, noise
            )
        beside = {m: s for m, s in zip(margins, shares, strict=True) if s and m != problem.full}
        if beside:
            yield from _beside_universe(
                problem, "universe + best marginals", [*beside], [*beside.values()], noise
            )
    if modelled:
        yield from wide_ways(problem)
    elif schedule_of(problem).rounds:
        yield _adaptive(problem)


def _every_column(problem: Problem) -> Iterator[tuple[str, list[Margin]]]:
    """Sets of tables that tell about every column, under their names; none is the universe."""
    if len(problem.attributes) > 1:
        yield ONE_WAY, margins_of_order(problem, 1)
        yield from ((JOINED, tables) for tables in joined_columns(problem))


def _adaptive(problem: Problem) -> Spending:
    schedule = schedule_of(problem)
    return Spending(ADAPTIVE, likely_tables(problem), noises(problem)[-1], schedule=schedule)


def _universe_alone(problem: Problem) -> Spending:
    purse = Purse(problem.privacy.epsilon, "laplace")
    return Spending("universe (identity)", purse.events(problem, [problem.full], [1.0]))


def _beside_universe(
    problem: Problem, name: str, margins: Sequence[Margin], shares: Sequence[float], noise: Noise
) -> Iterator[Spending]:
    """The universe with Laplace noise and smaller tables, at several splits of epsilon."""
    epsilon = problem.privacy.epsilon
    for part in LOW_ORDER_SHARES:
        full = Purse(epsilon * (1 - part), "laplace").events(problem, [problem.full], [1.0])
        smaller = Purse(epsilon * part, noise).events(problem, margins, shares)
        yield Spending(name, full + smaller, noise, part)


def _all_alike(problem: Problem, purse: Purse) -> Iterator[Spending]:
    """All marginals of one order, each with the same budget."""
    orders = {len(q.energy) for q in problem.questions if q.kind == "marginal"}
    for order in sorted(orders - {len(problem.attributes)}):
        margins = margins_of_order(problem, order)
        if margins:
            events = purse.events(problem, margins, [1.0] * len(margins))
            yield Spending(f"all {order}-way alike", events, purse.noise)


def _given(problem: Problem, tables: Sequence[Margin]) -> Iterator[Spending]:
    """The tables that the configuration names."""
    others = in_order(problem.universe, [margin for margin in tables if margin != problem.full])
    if not others:
        yield _universe_alone(problem)
        return
    for noise in noises(problem):
        purse = Purse(problem.privacy.epsilon, noise)
        shares = best_shares(problem, others, purse, least=LEAST_SHARE)
        if problem.full in tables:
            yield from _beside_universe(problem, "tables as given", others, shares, noise)
        else:
            events = purse.events(problem, others, shares)
            yield Spending("tables as given", events, noise)


def _with_list(problem: Problem) -> Iterator[Spending]:
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
        others = in_order(problem.universe, [m for m in problem.strategy if m != problem.full])
        listed = problem.full in problem.strategy
        return (
            {"tables as given": others} if others else {},
            LISTED_SHARES if listed else (Fraction(0),),
        )
    ones = [margin for margin in margins_of_order(problem, 1) if margin != problem.full]
    small = [margin for margin in workload_margins(problem) if _is_small(problem, margin)]
    both = in_order(problem.universe, [*ones, *small])
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
