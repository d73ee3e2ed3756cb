"""What was spent: one event per noisy table or private choice, composed exactly."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from synth.privacy.concentrated import rho_to_epsilon


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
PERMUTE_AND_FLIP = "permute-and-flip"
PARTITION_SELECTION = "partition-selection"
"""Discrete Laplace noise on the non-empty cells alone, and a threshold that keeps them secret."""
MECHANISMS = (LAPLACE, GAUSSIAN, PERMUTE_AND_FLIP, PARTITION_SELECTION)
"""Everything that ever touches a secret count."""


@dataclass(frozen=True)
class TableEvent:
    """One noisy table: exact integer noise on every cell of one histogram.

    The table is over the attributes `table`, in universe order, each `coarsening` steps of its
    hierarchy above its codes (all zeros, the finest, if left out).

    Privacy: `discrete-laplace` is pure `epsilon`-DP for tables whose counts differ by at most
    `sensitivity_l1` in total between neighbours; the noise scale is sensitivity_l1 / epsilon
    records. `discrete-gaussian` is `rho`-zCDP for tables whose counts differ by at most
    `sensitivity_l2_squared` in squared L2 norm; sigma^2 = sensitivity_l2_squared / (2 rho).
    With a `threshold`, cells whose noisy count is below it are not listed. For `discrete-laplace`
    that is post-processing and costs nothing. `partition-selection` puts the same noise on
    non-empty cells only and lists no empty one: (`epsilon`, `delta`)-DP, see
    `partition_selection.is_private`.
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
    threshold: int | None = None
    """None: every cell is listed."""
    delta: Fraction | None = None

    def __post_init__(self) -> None:
        if not self.coarsening:
            object.__setattr__(self, "coarsening", (0,) * len(self.table))
        if len(self.coarsening) != len(self.table):
            raise ValueError("a table needs one coarsening per attribute")
        _check_noise(self, [self.cells])
        _check_threshold(self)

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


@dataclass(frozen=True)
class OpenTableEvent:
    """One noisy table that a private choice is still to name; its noise is fixed.

    Privacy: costs what `TableEvent` of the same noise costs, whichever table is chosen, because
    neither the sensitivity nor the budget depends on the table.
    Raises: as `TableEvent`.
    """

    sensitivity_l1: int
    epsilon: Fraction | None = None
    mechanism: str = LAPLACE
    rho: Fraction | None = None
    sensitivity_l2_squared: int | None = None

    def __post_init__(self) -> None:
        _check_noise(self, [])

    def over(
        self, table: tuple[str, ...], cells: int, coarsening: tuple[int, ...] = ()
    ) -> TableEvent:
        """The event once the table is named."""
        return TableEvent(
            table,
            cells,
            self.sensitivity_l1,
            self.epsilon,
            self.mechanism,
            coarsening,
            self.rho,
            self.sensitivity_l2_squared,
        )


def _check_noise(event: TableEvent | OpenTableEvent, whole: list[int]) -> None:
    gaussian = event.mechanism == GAUSSIAN
    given, absent = (event.rho, event.epsilon) if gaussian else (event.epsilon, event.rho)
    if type(given) is not Fraction or absent is not None:
        raise TypeError("the budget of a table must be an exact fraction, of its mechanism")
    whole = [*whole, event.sensitivity_l1]
    if gaussian:
        whole.append(event.sensitivity_l2_squared)  # type: ignore[arg-type]
    if any(type(number) is not int for number in whole):
        raise TypeError("the cells and the sensitivity of a table are whole numbers")
    if given <= 0 or min(whole) < 1:
        raise ValueError("the budget, cells and sensitivity of a table are positive")


def _check_threshold(event: TableEvent) -> None:
    selects = event.mechanism == PARTITION_SELECTION
    if event.threshold is not None:
        if type(event.threshold) is not int:
            raise TypeError("a threshold is a whole number")
        if event.threshold < 1:
            raise ValueError("a threshold is positive: no empty cell may be listed for certain")
        if event.mechanism not in (LAPLACE, PARTITION_SELECTION):
            raise ValueError("only Laplace noise has a threshold")
    if selects != (event.delta is not None) or (selects and event.threshold is None):
        raise TypeError("partition selection has a threshold and a delta, nothing else has a delta")
    if event.delta is not None:
        if type(event.delta) is not Fraction:
            raise TypeError("the delta of a table must be an exact fraction")
        if not 0 < event.delta < 1:
            raise ValueError("the delta of a table lies between 0 and 1")


@dataclass(frozen=True)
class SelectionEvent:
    """One private choice among `candidates` by scores that were computed from the raw data.

    Privacy: `permute-and-flip` is pure `epsilon`-DP for scores that change by at most the
    sensitivity that it was given (McKenna, Sheldon 2020).
    Raises: TypeError, ValueError unless epsilon is a positive Fraction, `candidates` at least 1
    and the mechanism known.
    """

    candidates: int
    epsilon: Fraction
    mechanism: str = PERMUTE_AND_FLIP

    def __post_init__(self) -> None:
        if type(self.epsilon) is not Fraction or type(self.candidates) is not int:
            raise TypeError("a selection needs an exact epsilon and a whole number of candidates")
        if self.epsilon <= 0 or self.candidates < 1:
            raise ValueError("the epsilon and the candidates of a selection are positive")
        if self.mechanism != PERMUTE_AND_FLIP:
            raise ValueError(f"no accounting rule for mechanism {self.mechanism!r}")


PrivacyEvent = TableEvent | OpenTableEvent | SelectionEvent
"""Whatever spends budget."""


def total_budget(events: Iterable[PrivacyEvent], *, delta: Fraction) -> Budget:
    """The composition of all events, whatever their order and however one depends on another.

    Without Gaussian tables: the sums of the epsilons and of the deltas of the events, whatever
    `delta` is; pure events have none. With Gaussian tables: (epsilon, `delta`), of which they get
    d = `delta` less the deltas of the other events, and the smaller epsilon of two valid ones,
    S + E + rho_to_epsilon(R, d), where E is the sum of the pure epsilons, S that of partition
    selections and R the sum of the rhos, and S + rho_to_epsilon(R + Q, d), where Q is the sum of
    epsilon^2 / 2 over the pure events.

    Privacy: basic composition (Dwork, McSherry, Nissim, Smith 2006) adds up epsilons and deltas;
    rhos add up, and pure epsilon-DP is (epsilon^2 / 2)-zCDP (Bun, Steinke 2016, lemma 1.7 and
    proposition 1.4). All of these hold for mechanisms that are chosen by what earlier ones gave.
    Requires: the events are fixed before the first of them: then the budget is a cap.
    Rounding: the sums are exact; `rho_to_epsilon` rounds up.
    Raises: ValueError for a mechanism whose accounting is unknown, and for Gaussian tables
    for which no positive delta is left.
    """
    pure, rho, as_rho = Fraction(0), Fraction(0), Fraction(0)
    selected = Budget(Fraction(0), Fraction(0))
    for event in events:
        spent_rho = None if isinstance(event, SelectionEvent) else event.rho
        if event.mechanism == GAUSSIAN and spent_rho is not None:
            rho += spent_rho
        elif event.mechanism in (LAPLACE, PERMUTE_AND_FLIP) and event.epsilon is not None:
            pure += event.epsilon
            as_rho += event.epsilon**2 / 2
        elif isinstance(event, TableEvent) and event.epsilon and event.delta:
            selected += Budget(event.epsilon, event.delta)
        else:
            raise ValueError(f"no accounting rule for mechanism {event.mechanism!r}")
    if not rho:
        return Budget(pure, Fraction(0)) + selected
    left = delta - selected.delta
    epsilon = min(pure + rho_to_epsilon(rho, left), rho_to_epsilon(rho + as_rho, left))
    return Budget(epsilon + selected.epsilon, delta)
