"""The planner: measured tables, budget split and forecast of errors; never opens the data."""

from synth.plan.costs import Costs
from synth.plan.events import plan_events
from synth.plan.forecast import Forecast, QueryForecast, compare, forecast
from synth.plan.report import render, to_json

__all__ = [
    "Costs",
    "Forecast",
    "QueryForecast",
    "compare",
    "forecast",
    "plan_events",
    "render",
    "to_json",
]
