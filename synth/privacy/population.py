"""What the releases about one population cost together: the one place where they are added up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from synth.privacy.accounting import Budget
from synth.privacy.parallel import parallel_total
from synth.privacy.promise import Promise

NOTHING = Budget(Fraction(0), Fraction(0))


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
