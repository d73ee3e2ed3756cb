"""Which tables are measured, and how the budget is split over them."""

from __future__ import annotations

from synth.config.types import Config
from synth.errors import BugError
from synth.plan.adaptive_schedule import Schedule, schedule_of
from synth.plan.adaptive_start import initial_events
from synth.plan.choice import ADAPTIVE, choose
from synth.plan.drawable import require_drawable
from synth.plan.problem import Problem, problem_of
from synth.privacy import TableEvent


def plan_events(config: Config) -> tuple[TableEvent, ...]:
    """The measured tables with their share of the budget; a function of the configuration alone.

    `identity` measures the universe alone with the whole epsilon; tables that are named get the
    split that the workload asks for; `auto` chooses. Where tables are chosen later
    (`plan_schedule`) these are the first tables only; `selection_budget` is what they leave.

    Privacy: no data are seen and nothing is spent. The epsilon of the Laplace tables, and that of
    the Gaussian ones together with delta, add up to at most `privacy.epsilon`.
    Ensures: the universe, if it is measured, comes first. No table is measured twice.
    Raises: ConfigError if the noise of a table is too wide to be drawn.
    """
    problem = problem_of(config)
    adaptive = _is_adaptive(problem)
    events = initial_events(problem) if adaptive else choose(problem).chosen.spending.events
    require_drawable(config, events)
    if len({(event.table, event.coarsening) for event in events}) < len(events):
        raise BugError("the plan has a table twice")  # before anything is spent
    return events


def plan_schedule(config: Config) -> Schedule | None:
    """The rounds of an adaptive run: if that is the strategy, or what `auto` expects to be best.

    None for every other plan.

    Privacy: no data are seen and nothing is spent.
    Raises: ConfigError if the noise of a table is too wide to be drawn.
    """
    problem = problem_of(config)
    if not _is_adaptive(problem):
        return None
    schedule = schedule_of(problem)
    require_drawable(config, schedule.first)
    require_drawable(config, (each.table for each in schedule.rounds))
    return schedule


def _is_adaptive(problem: Problem) -> bool:
    if problem.strategy == "auto":
        return choose(problem).chosen.spending.tables == ADAPTIVE
    return problem.strategy == "adaptive"
