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

    def __post_init__(self) -> None:
        if type(self.epsilon) is not Fraction or type(self.delta) is not Fraction:
            raise TypeError("a budget is a pair of exact fractions")

    def __add__(self, other: Budget) -> Budget:
        return Budget(self.epsilon + other.epsilon, self.delta + other.delta)


@dataclass(frozen=True)
class TableEvent:
    """One noisy table: discrete Laplace noise on every cell of one histogram.

    Privacy: pure `epsilon`-DP for tables whose counts differ by at most `sensitivity_l1` in
    total between neighbours. The noise scale is sensitivity_l1 / epsilon records.
    Raises: TypeError, ValueError unless epsilon is a positive Fraction and both whole numbers
    are at least 1.
    """

    table: tuple[str, ...]
    cells: int
    sensitivity_l1: int
    epsilon: Fraction
    mechanism: str = "discrete-laplace"

    def __post_init__(self) -> None:
        if type(self.epsilon) is not Fraction:
            raise TypeError("the epsilon of a table must be an exact fraction")
        if type(self.cells) is not int or type(self.sensitivity_l1) is not int:
            raise TypeError("the cells and the sensitivity of a table are whole numbers")
        if self.epsilon <= 0 or self.cells < 1 or self.sensitivity_l1 < 1:
            raise ValueError("the epsilon, cells and sensitivity of a table are positive")

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
