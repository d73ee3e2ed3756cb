"""What the releases about one population cost together: the one place where they are added up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from synth.config import DisjointPart
from synth.privacy.accounting import Budget
from synth.privacy.promise import Promise

NOTHING = Budget(Fraction(0), Fraction(0))


def parallel_total(whole: Budget, parts: Iterable[Budget]) -> Budget:
    """What one person can lose to releases about everybody and to those about disjoint parts.

    `whole` is the sum of the releases about everybody; each of `parts` the sum of those about one
    part.

    Privacy: the records of a person enter the releases about everybody and those about their own
    part; no other release changes when they are added or removed. So together they lose at
    most `whole` and their own part, whichever it is (McSherry 2009, theorem 4, with basic
    composition). Epsilon and delta are bounded each by its own largest part: never too little,
    for a part's pair is at most that. It holds as well if later releases were chosen in the light
    of earlier ones, because every part's own sum is bounded whatever comes.
    Requires: neighbours differ by the records of one person, added or removed; no person has
    records in two parts, and the parts were fixed without looking at the data.
    """
    epsilon, delta = whole.epsilon, whole.delta
    of_parts = list(parts)
    return Budget(
        epsilon + max((part.epsilon for part in of_parts), default=0 * epsilon),
        delta + max((part.delta for part in of_parts), default=0 * delta),
    )


@dataclass(frozen=True)
class Charge:
    """What one release cost, in which terms, and whom it is about."""

    budget: Budget
    promise: Promise | None
    """None: charged by a version that kept no promises."""
    part: str | None = None
    """The declared part of the population that it is about; None: everybody."""


def sums_of_parts(
    charges: Iterable[Charge], parts: Sequence[str]
) -> tuple[Budget, tuple[tuple[str, Budget], ...]]:
    """What was charged to everybody, and to each of `parts`, which hold every charged one.

    Raises: ValueError as `population_total`, and for a charge to a part that is not listed.
    """
    every = tuple(charges)
    common_promise(charge.promise for charge in every)
    sums: dict[str | None, Budget] = dict.fromkeys([None, *parts], NOTHING)
    for charge in every:
        if charge.part not in sums:
            raise ValueError("a part that is not one of the population's")
        if charge.part is not None and charge.promise and charge.promise.neighbours != "add-remove":
            raise ValueError("parts are disjoint only if neighbours are one added or removed")
        sums[charge.part] += charge.budget
    return sums[None], tuple((part, sums[part]) for part in parts)


def population_total(charges: Iterable[Charge]) -> Budget:
    """The (epsilon, delta) of all `charges` together, for the neighbours of their promise.

    Privacy: two tables that are neighbours by the common promise are neighbours for every single
    release, whose epsilon and delta hold for them; so the sums hold for all together, also if
    later releases were chosen by what earlier ones gave (Dwork, McSherry, Nissim, Smith 2006).
    Of releases about disjoint parts the largest part counts, see `parallel_total`.
    Without a common promise there is no such total: a person of ten records loses ten times the
    epsilon of a release about records, and who is replaced loses twice that of a release in which
    one is added or removed.
    Raises: ValueError if the promises do not add up, or a part is charged under replace-one.
    """
    every = tuple(charges)
    parts = sorted({charge.part for charge in every if charge.part is not None})
    whole, of_parts = sums_of_parts(every, parts)
    return parallel_total(whole, (budget for _, budget in of_parts))


def left_of(cap: Budget, spent: Iterable[Budget], promise: Promise | None) -> Budget:
    """What is left of `cap` after all of `spent`, on the same people; below 0 if it is too much."""
    total = population_total(Charge(budget, promise) for budget in spent)
    return Budget(cap.epsilon - total.epsilon, cap.delta - total.delta)


def common_promise(promises: Iterable[Promise | None]) -> Promise | None:
    """The first of promises that all add up; None if there is none, or none was kept.

    Raises: ValueError if two of them do not add up, or only some were kept.
    """
    every = list(promises)
    if len({None if promise is None else promise.terms for promise in every}) > 1:
        raise ValueError("releases of different units or neighbours do not add up")
    return every[0] if every else None


@dataclass(frozen=True)
class DividedAccount:
    """What was spent on everybody and on each part, and which of them a release is charged to.

    Raises: ValueError unless every part is there once and `part` is one of them.
    """

    source: str
    """Why nobody belongs to two parts, and who says so."""
    part: str | None
    """None: the release is about everybody."""
    whole: Budget
    """Spent by the releases about everybody."""
    parts: tuple[tuple[str, Budget], ...]
    """Every declared part, by name, with what the releases about it spent."""

    def __post_init__(self) -> None:
        names = [name for name, _ in self.parts]
        if len(set(names)) < len(names) or self.part not in (None, *names):
            raise ValueError("every part is listed once")

    @property
    def spent(self) -> Budget:
        """The most that one person can have lost; see `parallel_total`."""
        return parallel_total(self.whole, (budget for _, budget in self.parts))

    @property
    def lost(self) -> Budget:
        """The most that one person of the part was charged; without a part, as `spent`."""
        if self.part is None:
            return self.spent
        return parallel_total(self.whole, [dict(self.parts)[self.part]])

    def charged(self, charge: Budget) -> DividedAccount:
        """The account after `charge` for the release."""
        if self.part is None:
            return replace(self, whole=self.whole + charge)
        parts = tuple(
            (name, budget + charge if name == self.part else budget) for name, budget in self.parts
        )
        return replace(self, parts=parts)

    def to_plain(self) -> dict[str, Any]:
        """JSON values; budgets are exact fractions in text."""
        return {
            "source": self.source,
            "part": self.part,
            "whole": self.whole.to_plain(),
            "parts": [{"name": name, "spent": budget.to_plain()} for name, budget in self.parts],
        }

    @staticmethod
    def from_plain(plain: dict[str, Any]) -> DividedAccount:
        """Read an account back; raises KeyError, TypeError or ValueError if it is damaged."""
        return DividedAccount(
            source=plain["source"],
            part=plain["part"],
            whole=Budget.from_plain(plain["whole"]),
            parts=tuple(
                (each["name"], Budget.from_plain(each["spent"])) for each in plain["parts"]
            ),
        )


def part_to_plain(part: DisjointPart) -> dict[str, Any]:
    """The part as plain values."""
    return {"name": part.name, "parts": list(part.parts), "source": part.source}


def part_from_plain(plain: Mapping[str, Any]) -> DisjointPart:
    """Read a part back; raises ValueError, KeyError or TypeError if it is damaged."""
    part = DisjointPart(
        name=str(plain["name"]),
        parts=tuple(str(name) for name in plain["parts"]),
        source=str(plain["source"]),
    )
    if part.name not in part.parts or list(part.parts) != sorted(set(part.parts)):
        raise ValueError("the parts are not in order")
    return part
