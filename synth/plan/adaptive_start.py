"""How the adaptive strategy starts: the first tables, the number of rounds, and what is left."""

from __future__ import annotations

from fractions import Fraction

from synth.plan.adaptive_candidates import candidates_of
from synth.plan.problem import Problem
from synth.plan.shares import Purse
from synth.plan.spending import Spending
from synth.plan.splits import margins_of_order
from synth.plan.total import EVERYBODY, TOTAL_SHARE, total_is_known, with_total
from synth.privacy import TableEvent

START = Fraction(1, 10)
"""The part of an adaptive budget that is spent on the 1-way tables, and on the total."""

ROUNDS_PER_ATTRIBUTE = 2
MOST_ROUNDS = 16
"""Every round fits a model anew, which takes a few seconds."""


def round_count(problem: Problem) -> int:
    """How many tables are chosen, whatever the data: there is no stopping rule."""
    return min(
        len(candidates_of(problem)), ROUNDS_PER_ATTRIBUTE * len(problem.attributes), MOST_ROUNDS
    )


def adaptive_purse(problem: Problem) -> Purse:
    """The whole budget of the adaptive strategy: Gaussian where delta allows it."""
    return Purse(problem.privacy.epsilon, "gaussian" if problem.privacy.delta else "laplace")


def initial_events(problem: Problem) -> tuple[TableEvent, ...]:
    """All 1-way tables alike, with the first part of the budget; with all if nothing follows.

    If they do not give the number of records well enough, it gets a fixed part for itself.
    """
    ones, purse = margins_of_order(problem, 1), adaptive_purse(problem)
    if not round_count(problem):
        events = purse.events(problem, ones, [1.0] * len(ones))
        return with_total(problem, Spending("1-way", events, purse.noise)).events
    share = float(START) / len(ones)
    shares = [1 - float(START), *[share] * len(ones)]
    events = purse.events(problem, [problem.full, *ones], shares)[1:]
    if total_is_known(problem, events):
        return events
    alone = float(TOTAL_SHARE)
    shares = [1 - float(START), *[(float(START) - alone) / len(ones)] * len(ones), alone]
    return purse.events(problem, [problem.full, *ones, EVERYBODY], shares)[1:]


def selection_budget(problem: Problem) -> Fraction:
    """What the initial tables leave, an epsilon or a rho, for choosing and measuring more."""
    spent = sum((event.epsilon or event.rho or Fraction(0)) for event in initial_events(problem))
    return adaptive_purse(problem).budget(problem.privacy) - spent
