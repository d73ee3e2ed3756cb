"""The planner: measured tables, budget split and forecast of errors; never opens the data."""

from synth.plan.costs import Costs
from synth.plan.forecast import Forecast, QueryForecast, compare, forecast
from synth.plan.look import Look, plan_look
from synth.plan.rounds import Schedule
from synth.plan.weighing import charged_events, plan_events, plan_schedule

__all__ = [
    "Costs",
    "Forecast",
    "Look",
    "QueryForecast",
    "Schedule",
    "charged_events",
    "compare",
    "forecast",
    "plan_events",
    "plan_look",
    "plan_schedule",
]
