"""What the releases about one population cost together: the one place where they are added up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from synth.config import Composition, DisjointPart, SeriesPart
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


def series_total(parts: Mapping[int, Budget], composition: Composition) -> Budget:
    """What one unit loses at most to the releases of a series, given what each part was charged.

    Privacy: a part is all releases that one charge covers: the release of one period, or those of a
    whole horizon of continual counting, which together have the law of one
    (`synth.privacy.continual`). Two neighbouring histories of the table differ by the records of
    one unit, and a part whose records are the same in both has the same law in both. So the unit
    loses at most the sum of the charges of those parts in which it has records that count (basic
    composition), also if later releases were chosen in the light of earlier ones, because which
    parts those are is settled by the two histories alone. They are
    * `sum`: any;
    * `largest`, k: at most k. k = 1: a record lies in one period, for parts select by its own date,
      or by a source that holds it in one period only (parallel composition; McSherry 2009, theorem
      4). k = `max_periods`: of a person only the records in the first k periods count in which
      the table holds one of that person. Periods are measured in their order, to which the ledger
      binds them; so those that counted before are among his first ones still, and a row that
      arrives late can only take the place of later periods, as long as no row of a person goes
      away. The k parts may be the dearest ones;
    * `window`, w: any, but the promise is about w consecutive parts alone: nobody loses more
      to the releases of any w periods in a row. Over all of them charges add up without a bound.
    Epsilon and delta are bounded each by its own largest parts: never too little.
    Requires: all releases of the series divide the records alike, and a record keeps its period.
    Neighbours are one unit added or removed, unless the rule is `sum`.
    """
    numbers = sorted(parts)
    of_parts = [parts[number] for number in numbers]
    if composition.most is None:
        return sum(of_parts, NOTHING)
    if composition.rule == "largest":
        chosen = [
            sorted((getattr(budget, name) for budget in of_parts), reverse=True)[: composition.most]
            for name in ("epsilon", "delta")
        ]
        return Budget(sum(chosen[0], Fraction(0)), sum(chosen[1], Fraction(0)))
    windows = [
        sum(
            (parts[number] for number in numbers if end - composition.most < number <= end),
            NOTHING,
        )
        for end in numbers
    ]
    return Budget(
        max((window.epsilon for window in windows), default=Fraction(0)),
        max((window.delta for window in windows), default=Fraction(0)),
    )


@dataclass(frozen=True)
class SeriesAccount:
    """What the releases of one series were charged, part by part, and what that comes to.

    Raises: ValueError if a part is charged in two ways, or parts are of other series.
    """

    name: str
    composition: Composition
    parts: tuple[tuple[int, Budget], ...]
    """Every charged part by its number, ascending: equal charges of its releases count once."""

    @property
    def spent(self) -> Budget:
        """What one unit loses at most; with a window, to the releases of any window."""
        return series_total(dict(self.parts), self.composition)

    @property
    def for_ever(self) -> Budget:
        """What it loses at most to all releases so far, without regard to windows."""
        if self.composition.rule == "window":
            return series_total(dict(self.parts), Composition("sum", None))
        return self.spent

    def to_plain(self) -> dict[str, Any]:
        """JSON values; budgets are exact fractions in text."""
        return {
            "name": self.name,
            "rule": self.composition.rule,
            "most": self.composition.most,
            "parts": [{"part": part, "charge": charge.to_plain()} for part, charge in self.parts],
            "spent": self.spent.to_plain(),
            "for_ever": self.for_ever.to_plain(),
        }


def series_accounts(charges: Iterable[Charge]) -> tuple[SeriesAccount, ...]:
    """The accounts of all series among charges to one population, by their names.

    Raises: ValueError if two charges of a part differ, or two definitions or rules of a series.
    """
    of_series: dict[str, dict[int, Budget]] = {}
    known: dict[str, SeriesPart] = {}
    for charge in charges:
        series = charge.series
        if series is None:
            continue
        first = known.setdefault(series.name, series)
        if not same_series(first, series):
            raise ValueError("two series of one name")
        parts = of_series.setdefault(series.name, {})
        if parts.setdefault(series.part, charge.budget) != charge.budget:
            raise ValueError("a part of a series is charged once")
        if charge.part is not None:
            raise ValueError("a series is about everybody")
        neighbours = charge.promise and charge.promise.neighbours
        if series.rule == "largest" and neighbours != "add-remove":
            raise ValueError("parts are disjoint only if neighbours are one added or removed")
    return tuple(
        SeriesAccount(
            name,
            Composition(known[name].rule, known[name].most),
            tuple(sorted(of_series[name].items())),
        )
        for name in sorted(known)
    )


def same_series(part: SeriesPart, other: SeriesPart) -> bool:
    """Whether both are parts of one series, which divides the records in one way."""
    return (part.name, part.rule, part.most, part.definition) == (
        other.name,
        other.rule,
        other.most,
        other.definition,
    )


@dataclass(frozen=True)
class Charge:
    """What one release cost, in which terms, and whom it is about."""

    budget: Budget
    promise: Promise | None
    """None: charged by a version that kept no promises."""
    part: str | None = None
    """The declared part of the population that it is about; None: everybody."""
    series: SeriesPart | None = None
    """The part of a series that it pays for; equal charges of one part count once."""


def sums_of_parts(
    charges: Iterable[Charge], parts: Sequence[str]
) -> tuple[Budget, tuple[tuple[str, Budget], ...]]:
    """What was charged to everybody, and to each of `parts`, which hold every charged one.

    A series is about everybody: what its charges come to, `series_total`, is part of that.
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
        if charge.series is None:
            sums[charge.part] += charge.budget
    sums[None] = sum((account.spent for account in series_accounts(every)), sums[None])
    return sums[None], tuple((part, sums[part]) for part in parts)


def population_total(charges: Iterable[Charge]) -> Budget:
    """The (epsilon, delta) of all `charges` together, for the neighbours of their promise.

    Privacy: two tables that are neighbours by the common promise are neighbours for every single
    release, whose epsilon and delta hold for them; so the sums hold for all together, also if
    later releases were chosen by what earlier ones gave (Dwork, McSherry, Nissim, Smith 2006).
    Of releases about disjoint parts the largest part counts, see `parallel_total`; the charges of
    a series come together by its rule, see `series_total`, and are added to all others.
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
