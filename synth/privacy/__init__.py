"""The privacy claim: unit, neighbours, sensitivity and exact accounting."""

from synth.privacy.accounting import Budget, TableEvent, total_budget
from synth.privacy.sensitivity import sensitivity_l1

__all__ = ["Budget", "TableEvent", "sensitivity_l1", "total_budget"]
