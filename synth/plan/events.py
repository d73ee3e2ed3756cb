"""Which tables are measured, and how the budget is split over them."""

from __future__ import annotations

from dataclasses import replace

from synth.config.types import Config
from synth.plan.choice import choose
from synth.plan.problem import Problem, problem_of
from synth.privacy import TableEvent


def plan_events(config: Config) -> tuple[TableEvent, ...]:
    """The measured tables with their share of the budget; a function of the configuration alone.

    `identity` measures the universe alone with the whole epsilon; tables that are named get the
    split that the workload asks for; `auto` chooses. For `adaptive` these are the first tables
    only; `selection_budget` is what they leave.

    Privacy: no data are seen and nothing is spent. The epsilon of the Laplace tables, and that of
    the Gaussian ones together with delta, add up to at most `privacy.epsilon`.
    Ensures: the universe, if it is measured, comes first.
    """
    return choose(planned_problem(config)).chosen.spending.events


def planned_problem(config: Config) -> Problem:
    """The problem that is solved: `auto` is `identity` while only one table can be fitted."""
    problem = problem_of(config)
    return replace(problem, strategy="identity") if problem.strategy == "auto" else problem
