"""What was spent: one event per noisy table or private choice, composed exactly."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeVar

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

    def to_plain(self) -> dict[str, str]:
        """JSON values: exact fractions in text."""
        return {"epsilon": str(self.epsilon), "delta": str(self.delta)}

    @staticmethod
    def from_plain(plain: Mapping[str, Any]) -> Budget:
        """Read a budget back; raises ValueError, KeyError or TypeError if it is damaged."""
        if any(type(plain[name]) is not str for name in ("epsilon", "delta")):
            raise TypeError("a budget must be an exact fraction in text")
        return Budget(Fraction(plain["epsilon"]), Fraction(plain["delta"]))


LAPLACE = "discrete-laplace"
GAUSSIAN = "discrete-gaussian"
PERMUTE_AND_FLIP = "permute-and-flip"
PARTITION_SELECTION = "partition-selection"
"""Discrete Laplace noise on the non-empty cells alone, and a threshold that keeps them secret."""
MECHANISMS = (LAPLACE, GAUSSIAN, PERMUTE_AND_FLIP, PARTITION_SELECTION)
"""Everything that ever touches a secret count."""
_NOISE_KEYS = {
    LAPLACE: {"epsilon"},
    GAUSSIAN: {"rho", "sensitivity_l2_squared"},
    PARTITION_SELECTION: {"epsilon", "delta", "threshold"},
}
"""What an event says of its noise, beside the sensitivity."""
_EXACT_POSITIVE = re.compile(r"[1-9][0-9]{0,99}(/[1-9][0-9]{0,99})?")
"""How `str` writes a positive fraction; bounded, because files are not trusted."""


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
    A table that is `summed` was not measured but is the sum of so many that were, each with
    independent noise as stated: it is no charge, and `total_budget` refuses it.
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
    summed: int = 1
    """How many independent noises of that law are added up in every cell."""

    def __post_init__(self) -> None:
        if not self.coarsening:
            object.__setattr__(self, "coarsening", (0,) * len(self.table))
        if len(self.coarsening) != len(self.table):
            raise ValueError("a table needs one coarsening per attribute")
        _check_noise(self, [self.cells, self.summed])
        _check_threshold(self)

    def __hash__(self) -> int:
        """Of what is measured alone: hashes of fractions are slow, and there are many tables."""
        return hash((self.table, self.coarsening, self.cells))

    @cached_property
    def noise(self) -> tuple[object, ...]:
        """What the law of the noise in a cell depends on."""
        exact = self.rho if self.epsilon is None else self.epsilon
        words = (0, 0) if exact is None else exact.as_integer_ratio()
        return self.mechanism, *words, self.sensitivity_l1, self.sensitivity_l2_squared, self.summed

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

    def to_plain(self) -> dict[str, Any]:
        """JSON values; exact numbers as text.

        `coarsening` is left out where it is 0 for every attribute, `threshold` where every cell is
        listed, `summed` where it is 1. Laplace noise has `epsilon`, Gaussian noise `rho` and
        `sensitivity_l2_squared`, and partition selection `epsilon`, `delta` and `threshold`.
        """
        plain = {"table": list(self.table), "cells": self.cells} | _noise_to_plain(self)
        if any(self.coarsening):
            plain["coarsening"] = list(self.coarsening)
        if self.threshold is not None:
            plain["threshold"] = self.threshold
        if self.delta is not None:
            plain["delta"] = str(self.delta)
        if self.summed != 1:
            plain["summed"] = self.summed
        return plain

    @staticmethod
    def from_plain(plain: Any) -> TableEvent:
        """Read an event back; raises KeyError, TypeError or ValueError if it is damaged.

        Ensures: `to_plain` of the result is `plain`; an event has one written form only.
        """
        optional = {"coarsening", "threshold", "summed"}
        noise = _noise_from_plain(plain, {"table", "cells"}, optional=optional)
        names, coarsening = plain["table"], plain.get("coarsening", [])
        if type(names) is not list or any(type(name) is not str for name in names):
            raise ValueError("an event needs a list of attribute names")
        if type(coarsening) is not list or any(type(c) is not int or c < 0 for c in coarsening):
            raise ValueError("an event needs whole steps of coarsening")
        event = TableEvent(
            table=tuple(names),
            cells=plain["cells"],
            coarsening=tuple(coarsening),
            threshold=plain.get("threshold"),
            delta=_positive(plain["delta"]) if "delta" in plain else None,
            summed=plain.get("summed", 1),
            **noise,
        )
        return _in_its_one_form(event, plain)


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

    def to_plain(self) -> dict[str, Any]:
        """As a `TableEvent`, with null for the table."""
        return {"table": None} | _noise_to_plain(self)

    @staticmethod
    def from_plain(plain: Any) -> OpenTableEvent:
        """Read an event back; raises as `TableEvent.from_plain`."""
        event = OpenTableEvent(**_noise_from_plain(plain, {"table"}, optional=set()))
        return _in_its_one_form(event, plain)


def _noise_to_plain(event: TableEvent | OpenTableEvent) -> dict[str, Any]:
    plain: dict[str, Any] = {"mechanism": event.mechanism, "sensitivity_l1": event.sensitivity_l1}
    if event.mechanism == GAUSSIAN:
        plain |= {"rho": str(event.rho), "sensitivity_l2_squared": event.sensitivity_l2_squared}
    else:
        plain["epsilon"] = str(event.epsilon)
    return plain


def _noise_from_plain(plain: Any, others: set[str], *, optional: set[str]) -> dict[str, Any]:
    """The noise of an event as arguments, once it has the entries that its mechanism needs."""
    if type(plain) is not dict:
        raise ValueError("an event is not an object")
    mechanism = plain["mechanism"]
    if mechanism not in _NOISE_KEYS:
        raise ValueError("an event has a mechanism that is not known")
    expected = {"mechanism", "sensitivity_l1", *others, *_NOISE_KEYS[mechanism]}
    if plain.keys() - (optional - expected) != expected:
        raise ValueError("an event has other entries than its mechanism needs")
    return {
        "mechanism": mechanism,
        "sensitivity_l1": plain["sensitivity_l1"],
        "sensitivity_l2_squared": plain.get("sensitivity_l2_squared"),
        "epsilon": _positive(plain["epsilon"]) if "epsilon" in plain else None,
        "rho": _positive(plain["rho"]) if "rho" in plain else None,
    }


def _positive(text: Any) -> Fraction:
    if type(text) is not str or not _EXACT_POSITIVE.fullmatch(text):
        raise ValueError("an event needs a positive budget, an exact fraction")
    return Fraction(text)


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
        raise ValueError("an event needs a positive budget, cells and sensitivity")


def _check_threshold(event: TableEvent) -> None:
    selects = event.mechanism == PARTITION_SELECTION
    if event.threshold is not None:
        if event.summed != 1:
            raise ValueError("lists of cells are not added up")
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

    def to_plain(self) -> dict[str, Any]:
        """JSON values; exact numbers as text."""
        return {
            "mechanism": self.mechanism,
            "candidates": self.candidates,
            "epsilon": str(self.epsilon),
        }

    @staticmethod
    def from_plain(plain: Any) -> SelectionEvent:
        """Read a choice back; raises KeyError, TypeError or ValueError if it is damaged.

        Ensures: `to_plain` of the result is `plain`.
        """
        if type(plain) is not dict:
            raise ValueError("a selection is not an object")
        event = SelectionEvent(plain["candidates"], _positive(plain["epsilon"]), plain["mechanism"])
        return _in_its_one_form(event, plain)


@dataclass(frozen=True)
class LookEvent:
    """A few noisy counts: how records gather in cells, and how far pairs of columns depend.

    Class i counts the records whose place in their cell is `firsts[i]` or later, but before
    `firsts[i + 1]`; the last class has no end. So every record is in exactly one class. With
    `pairs`, each of two columns, one more count comes behind the classes: half of the records in
    the wrong cell of a pair if its columns were independent, the mean over the pairs.

    Privacy: `discrete-laplace` is pure `epsilon`-DP for counts that differ by at most
    `sensitivity_l1` in all between neighbours: a record that is added makes one cell hold c + 1
    records instead of c, so only the class of place c + 1 changes, and by 1; and it changes the
    count of the pairs by at most 1 (docs/privacy.md).
    Raises: TypeError, ValueError unless epsilon is a positive Fraction, the sensitivity a whole
    number of at least 1, the first places ascend from 1, and the pairs are different ones of two
    different names.
    """

    firsts: tuple[int, ...]
    pairs: tuple[tuple[str, str], ...]
    sensitivity_l1: int
    epsilon: Fraction
    mechanism: str = LAPLACE

    def __post_init__(self) -> None:
        if type(self.epsilon) is not Fraction or any(
            type(number) is not int for number in (*self.firsts, self.sensitivity_l1)
        ):
            raise TypeError("a look needs an exact epsilon and whole numbers")
        if any(type(name) is not str for pair in self.pairs for name in pair):
            raise TypeError("the pairs of a look are of names")
        if self.epsilon <= 0 or self.sensitivity_l1 < 1 or self.mechanism != LAPLACE:
            raise ValueError("a look has Laplace noise, a positive epsilon and sensitivity")
        if self.firsts[:1] != (1,) or list(self.firsts) != sorted(set(self.firsts)):
            raise ValueError("the classes of a look begin at place 1 and ascend")
        different = {frozenset(pair) for pair in self.pairs if len(pair) == 2}
        if {len(pair) for pair in different} - {2} or len(different) < len(self.pairs):
            raise ValueError("the pairs of a look are different ones, of two columns each")

    @property
    def counts(self) -> int:
        """How many noisy counts there are: one per class, and one of the pairs if there are any."""
        return len(self.firsts) + bool(self.pairs)

    @property
    def as_table(self) -> TableEvent:
        """The counts as a table: noise and cost are those of any other."""
        return TableEvent((), self.counts, self.sensitivity_l1, self.epsilon)

    def to_plain(self) -> dict[str, Any]:
        """JSON values; exact numbers as text."""
        return {
            "firsts": list(self.firsts),
            "pairs": [list(pair) for pair in self.pairs],
            "mechanism": self.mechanism,
            "sensitivity_l1": self.sensitivity_l1,
            "epsilon": str(self.epsilon),
        }

    @staticmethod
    def from_plain(plain: Any) -> LookEvent:
        """Read a look back; raises KeyError, TypeError or ValueError if it is damaged."""
        if type(plain) is not dict or type(plain["firsts"]) is not list:
            raise ValueError("a look is not an object with a list of places")
        pairs = plain["pairs"]
        if type(pairs) is not list or any(type(pair) is not list for pair in pairs):
            raise ValueError("a look is not an object with a list of pairs")
        event = LookEvent(
            tuple(plain["firsts"]),
            tuple(map(tuple, pairs)),
            plain["sensitivity_l1"],
            _positive(plain["epsilon"]),
            plain["mechanism"],
        )
        return _in_its_one_form(event, plain)


AFTER_LOOK = "tables-after-the-look"
"""Not noise of its own: all tables that are planned once the look is known."""


@dataclass(frozen=True)
class AfterLookEvent:
    """All that is measured after a look: what it may cost, reserved before it is planned.

    Privacy: whatever the look says, the events planned after it cost at most (`epsilon`,
    `delta`) together. Then so does the whole of them, as a mechanism that depends on the look
    (docs/privacy.md, step 11).
    Raises: TypeError, ValueError unless both are Fractions, epsilon positive, 0 <= delta < 1.
    """

    epsilon: Fraction
    delta: Fraction
    mechanism: str = AFTER_LOOK

    def __post_init__(self) -> None:
        if {type(self.epsilon), type(self.delta)} != {Fraction}:
            raise TypeError("what is reserved is a pair of exact fractions")
        if self.epsilon <= 0 or not 0 <= self.delta < 1 or self.mechanism != AFTER_LOOK:
            raise ValueError("what is reserved is a positive epsilon, and a delta below 1")

    @property
    def budget(self) -> Budget:
        """What it adds to the whole."""
        return Budget(self.epsilon, self.delta)

    def to_plain(self) -> dict[str, Any]:
        """JSON values; exact numbers as text."""
        return {
            "mechanism": self.mechanism,
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
        }

    @staticmethod
    def from_plain(plain: Any) -> AfterLookEvent:
        """Read it back; raises KeyError, TypeError or ValueError if it is damaged."""
        if type(plain) is not dict:
            raise ValueError("what is reserved is not an object")
        delta = Fraction(0) if plain["delta"] == "0" else _positive(plain["delta"])
        event = AfterLookEvent(_positive(plain["epsilon"]), delta, plain["mechanism"])
        return _in_its_one_form(event, plain)


PrivacyEvent = TableEvent | OpenTableEvent | SelectionEvent | LookEvent | AfterLookEvent
"""Whatever spends budget."""


Event = TypeVar("Event", TableEvent, OpenTableEvent, SelectionEvent, LookEvent, AfterLookEvent)


def _in_its_one_form(event: Event, plain: dict[str, Any]) -> Event:
    if event.to_plain() != plain:
        raise ValueError("an event is not written in the one form of its values")
    return event


def total_budget(events: Iterable[PrivacyEvent], *, delta: Fraction) -> Budget:
    """The composition of all events, whatever their order and however one depends on another.

    Without Gaussian tables: the sums of the epsilons and of the deltas of the events, whatever
    `delta` is; pure events have none. With Gaussian tables: (epsilon, `delta`), of which they get
    d = `delta` less the deltas of the other events, and the smaller epsilon of two valid ones,
    S + E + rho_to_epsilon(R, d), where E is the sum of the pure epsilons, S that of partition
    selections and R the sum of the rhos, and S + rho_to_epsilon(R + Q, d), where Q is the sum of
    epsilon^2 / 2 over the pure events. What is reserved for after a look adds its epsilon and its
    delta, like a partition selection.

    Privacy: basic composition (Dwork, McSherry, Nissim, Smith 2006) adds up epsilons and deltas;
    rhos add up, and pure epsilon-DP is (epsilon^2 / 2)-zCDP (Bun, Steinke 2016, lemma 1.7 and
    proposition 1.4). All of these hold for mechanisms that are chosen by what earlier ones gave.
    Requires: the events are fixed before the first of them: then the budget is a cap.
    Rounding: the sums are exact; `rho_to_epsilon` rounds up.
    Raises: ValueError for a mechanism whose accounting is unknown, for a sum of tables, and for
    Gaussian tables for which no positive delta is left.
    """
    pure, rho, as_rho = Fraction(0), Fraction(0), Fraction(0)
    selected = Budget(Fraction(0), Fraction(0))
    for event in events:
        if isinstance(event, TableEvent) and event.summed != 1:
            raise ValueError("a sum of noisy tables is no charge")
        spent_rho = event.rho if isinstance(event, (TableEvent, OpenTableEvent)) else None
        if event.mechanism == GAUSSIAN and spent_rho is not None:
            rho += spent_rho
        elif event.mechanism in (LAPLACE, PERMUTE_AND_FLIP) and event.epsilon is not None:
            pure += event.epsilon
            as_rho += event.epsilon**2 / 2
        elif isinstance(event, AfterLookEvent):
            selected += event.budget
        elif isinstance(event, TableEvent) and event.epsilon and event.delta:
            selected += Budget(event.epsilon, event.delta)
        else:
            raise ValueError(f"no accounting rule for mechanism {event.mechanism!r}")
    if not rho:
        return Budget(pure, Fraction(0)) + selected
    left = delta - selected.delta
    epsilon = min(pure + rho_to_epsilon(rho, left), rho_to_epsilon(rho + as_rho, left))
    return Budget(epsilon + selected.epsilon, delta)
