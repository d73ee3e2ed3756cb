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


LAPLACE = "discrete-laplace"
GAUSSIAN = "discrete-gaussian"


@dataclass(frozen=True)
class TableEvent:
    """One noisy table: exact integer noise on every cell of one histogram.

    The table is over the attributes `table`, in universe order, each `coarsening` steps of its
    hierarchy above its codes (all zeros, the finest, if left out).

    Privacy: `discrete-laplace` is pure `epsilon`-DP for tables whose counts differ by at most
    `sensitivity_l1` in total between neighbours; the noise scale is sensitivity_l1 / epsilon
    records. `discrete-gaussian` is `rho`-zCDP for tables whose counts differ by at most
    `sensitivity_l2_squared` in squared L2 norm; sigma^2 = sensitivity_l2_squared / (2 rho).
    Raises: TypeError, ValueError unless exactly the budget of the mechanism is given, as a positive
    Fraction, and whole numbers are at least 1.
    """

    table: tuple[str, ...]
    cells: int
    sensitivity_l1: int
    epsilon: Fraction | None = None
    mechanism: str = LAPLACE
    coarsening: tuple[int, ...] = ()
    rho: Fraction | None = None
    sensitivity_l2_squared: int | None = None

    def __post_init__(self) -> None:
        if not self.coarsening:
            object.__setattr__(self, "coarsening", (0,) * len(self.table))
        if len(self.coarsening) != len(self.table):
            raise ValueError("a table needs one coarsening per attribute")
        gaussian = self.mechanism == GAUSSIAN
        given, absent = (self.rho, self.epsilon) if gaussian else (self.epsilon, self.rho)
        if type(given) is not Fraction or absent is not None:
            raise TypeError("the budget of a table must be an exact fraction, of its mechanism")
        whole = [self.cells, self.sensitivity_l1]
        if gaussian:
            whole.append(self.sensitivity_l2_squared)  # type: ignore[arg-type]
        if any(type(number) is not int for number in whole):
            raise TypeError("the cells and the sensitivity of a table are whole numbers")
        if given <= 0 or min(whole) < 1:
            raise ValueError("the budget, cells and sensitivity of a table are positive")

    @property
    def noise_scale_records(self) -> Fraction:
        """The exact scale of discrete Laplace noise, in records."""
        if self.epsilon is None:
            raise ValueError("only Laplace noise has a scale")
        return self.sensitivity_l1 / self.epsilon

    @property
    def sigma_squared(self) -> Fraction:
        """The exact parameter sigma^2 of discrete Gaussian noise, in records squared."""
        if self.rho is None or self.sensitivity_l2_squared is None:
            raise ValueError("only Gaussian noise has a sigma")
        return self.sensitivity_l2_squared / (2 * self.rho)


def total_budget(events: Iterable[TableEvent], *, delta: Fraction = Fraction(0)) -> Budget:
    """The sequential composition of all events: the sum of their epsilons, delta 0.

    Privacy: basic composition of pure DP (Dwork, McSherry, Nissim, Smith 2006). `delta` is what
    Gaussian events may use; pure ones need none.
    Raises: ValueError for a mechanism whose accounting is unknown.
    """
    if delta < 0:
        raise ValueError("a delta is not negative")
    total = Budget(Fraction(0), Fraction(0))
    for event in events:
        if event.mechanism != LAPLACE or event.epsilon is None:
            raise ValueError(f"no accounting rule for mechanism {event.mechanism!r}")
        total += Budget(event.epsilon, Fraction(0))
    return total
