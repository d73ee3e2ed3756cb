"""The planner: measured tables, budget split and forecast of errors; never opens the data."""

import sys
from pathlib import Path
from types import ModuleType

from synth.config import Config
from synth.plan.adaptive_candidates import RULE as CANDIDATES_RULE
from synth.plan.adaptive_schedule import Schedule
from synth.plan.adaptive_start import selection_budget
from synth.plan.costs import Costs
from synth.plan.events import plan_events, plan_schedule
from synth.plan.forecast import Forecast, QueryForecast, compare, forecast, forecast_of
from synth.plan.plot import write_plot
from synth.plan.report import render, to_json

__all__ = [
    "CANDIDATES_RULE",
    "Costs",
    "Forecast",
    "QueryForecast",
    "Schedule",
    "compare",
    "forecast",
    "forecast_of",
    "plan_events",
    "plan_schedule",
    "render",
    "selection_budget",
    "to_json",
    "write_plot",
]


class _Plan(ModuleType):
    """This package, which can also be called: `synth.plan(config)` is its forecast."""

    def __call__(self, config: Config | str | Path) -> Forecast:
        """What a run would measure and how exact it would be; see `forecast_of`."""
        return forecast_of(config)


sys.modules[__name__].__class__ = _Plan
