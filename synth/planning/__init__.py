"""The planner: measured tables, budget split and forecast of errors; never opens the data."""

from synth.planning.costs import Costs
from synth.planning.forecast import Forecast, QueryForecast, compare, forecast
from synth.planning.look import Look, plan_look
from synth.planning.rounds import Schedule
from synth.planning.weighing import charged_events, plan_events, plan_schedule

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
