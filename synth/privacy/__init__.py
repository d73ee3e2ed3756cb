"""The privacy claim: unit, neighbours, sensitivity and exact accounting."""

from synth.privacy.accounting import (
    AfterLookEvent,
    Budget,
    LookEvent,
    OpenTableEvent,
    PrivacyEvent,
    SelectionEvent,
    TableEvent,
    total_budget,
)
from synth.privacy.concentrated import largest_rho, rho_to_epsilon
from synth.privacy.population import Charge, left_of, population_total
from synth.privacy.promise import Promise
from synth.privacy.sensitivity import look_sensitivity, sensitivity_l1, sensitivity_l2_squared

__all__ = [
    "AfterLookEvent",
    "Budget",
    "Charge",
    "LookEvent",
    "OpenTableEvent",
    "PrivacyEvent",
    "Promise",
    "SelectionEvent",
    "TableEvent",
    "largest_rho",
    "left_of",
    "look_sensitivity",
    "population_total",
    "rho_to_epsilon",
    "sensitivity_l1",
    "sensitivity_l2_squared",
    "total_budget",
]
