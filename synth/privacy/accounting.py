"""What was spent: one event per noisy table, summed in exact fractions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Budget:
    """An (epsilon, delta) guarantee in exact fractions."""

    epsilon: Fraction
    delta: Fraction

    def __add__(self, other: Budget) -> Budget:
        return Budget(self.epsilon + other.epsilon, self.delta + other.delta)


@dataclass(frozen=True)
class TableEvent:
    """One noisy table: discrete Laplace noise on every cell of one histogram.

    Privacy: pure `epsilon`-DP for tables whose counts differ by at most `sensitivity_l1` in
    total between neighbours. The noise scale is sensitivity_l1 / epsilon records.
    """

    table: tuple[str, ...]
    cells: int
    sensitivity_l1: int
    epsilon: Fraction
    mechanism: str = "discrete-laplace"

    @property
    def noise_scale_records(self) -> Fraction:
        """The exact scale of the noise, in records."""
        return self.sensitivity_l1 / self.epsilon


def total_budget(events: Iterable[TableEvent]) -> Budget:
    """The sequential composition of all events: the sum of their epsilons, delta 0.

    Privacy: basic composition of pure DP (Dwork, McSherry, Nissim, Smith 2006).
    Raises: ValueError for a mechanism whose accounting is unknown.
    """
    total = Budget(Fraction(0), Fraction(0))
    for event in events:
        if event.mechanism != "discrete-laplace":
            raise ValueError(f"no accounting rule for mechanism {event.mechanism!r}")
        total += Budget(event.epsilon, Fraction(0))
    return total
