"""Where a population stands: its cap, its charges and what is left."""

from __future__ import annotations

from dataclasses import dataclass

from synth.ledger.run import RunRecord
from synth.privacy import Budget, Promise
from synth.privacy.population import DividedAccount


@dataclass(frozen=True)
class PopulationPosition:
    """Where a population stands now."""

    population: str
    cap: Budget | None
    """The cap of the latest reservation; None before the first."""
    spent: Budget
    runs: tuple[RunRecord, ...]
    """The latest reservation of every release, voided ones included."""
    divided: DividedAccount | None = None
    """What everybody and each part were charged, if parts were declared disjoint."""
    promise: Promise | None = None
    """The promise of its first charged release, which binds unit and neighbours; None if nothing
    is charged, or it was charged before ledgers kept promises."""

    @property
    def left(self) -> Budget | None:
        """What the cap still allows; None before the first reservation."""
        if self.cap is None:
            return None
        return Budget(self.cap.epsilon - self.spent.epsilon, self.cap.delta - self.spent.delta)
