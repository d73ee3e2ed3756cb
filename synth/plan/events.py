"""Which tables are measured, and how the budget is split over them."""

from __future__ import annotations

from synth.config.types import Config
from synth.plan.choice import choose
from synth.plan.drawable import require_drawable
from synth.plan.problem import problem_of
from synth.privacy import TableEvent


def plan_events(config: Config) -> tuple[TableEvent, ...]:
    """The measured tables with their share of the budget; a function of the configuration alone.

    `identity` measures the universe alone with the whole epsilon; tables that are named get the
    split that the workload asks for; `auto` chooses. For `adaptive` these are the first tables
    only; `selection_budget` is what they leave.

    Privacy: no data are seen and nothing is spent. The epsilon of the Laplace tables, and that of
    the Gaussian ones together with delta, add up to at most `privacy.epsilon`.
    Ensures: the universe, if it is measured, comes first.
    Raises: ConfigError if the noise of a table is too wide to be drawn.
    """
    events = choose(problem_of(config)).chosen.spending.events
    require_drawable(config, events)
    return events
