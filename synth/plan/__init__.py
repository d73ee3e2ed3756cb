"""The planner: measured tables, budget split and forecast of errors; never opens the data."""

from synth.plan.adaptive import RULE as CANDIDATES_RULE
from synth.plan.adaptive import Schedule, selection_budget
from synth.plan.costs import Costs
from synth.plan.forecast import Forecast, QueryForecast, compare, forecast
from synth.plan.weighing import plan_events, plan_schedule

__all__ = [
    "CANDIDATES_RULE",
    "Costs",
    "Forecast",
    "QueryForecast",
    "Schedule",
    "compare",
    "forecast",
    "plan_events",
    "plan_schedule",
    "selection_budget",
]
