"""The budget, recomputed from the listed events by code that shares nothing with the writer.

Only the manifest's own text goes in; no function of `synth.privacy` is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from synth.release.verification.delta_bound import delta_bound, rounded_up
from synth.release.verification.event_noise import (
    PARTITION_SELECTION,
    exact_value,
    noise_findings,
)


@dataclass(frozen=True)
class Spent:
    """What the events cost: epsilons of pure DP, rho of zero-concentrated DP, and (epsilon, delta).

    The last ones, of partition selections, add up beside all others.
    """

    epsilons: tuple[Fraction, ...]
    rho: Fraction
    selected_epsilon: Fraction = Fraction(0)
    selected_delta: Fraction = Fraction(0)

    @property
    def epsilon(self) -> Fraction:
        """The pure events alone, without partition selections, by basic composition."""
        return sum(self.epsilons, Fraction(0))

    @property
    def concentrated(self) -> Fraction:
        """All events in rho: epsilon-DP is epsilon^2 / 2-zCDP."""
        return self.rho + sum((e * e / 2 for e in self.epsilons), Fraction(0))

    def delta_at(self, epsilon: Fraction) -> Decimal:
        """A delta such that all but the selections are (epsilon, delta)-DP, the better of two ways.

        Either the pure events add up and the others are converted, or all are converted at once.
        """
        if not self.rho and epsilon >= self.epsilon:
            return Decimal(0)
        bounds = [Decimal(1)]
        if self.rho:
            bounds.append(delta_bound(self.rho, epsilon - self.epsilon))
        if self.concentrated:
            bounds.append(delta_bound(self.concentrated, epsilon))
        return min(bounds)


def budget_findings(manifest: dict[str, Any]) -> Iterator[str]:
    """Every place where the manifest's accounting contradicts itself or its configuration."""
    accounting = manifest["accounting"]
    epsilons: list[Fraction] = []
    selected: list[tuple[Fraction, Fraction]] = []
    rho = Fraction(0)
    for number, event in enumerate(accounting["events"]):
        place = f"accounting.events[{number}]"
        name = "rho" if event["mechanism"] == "discrete-gaussian" else "epsilon"
        spent = exact_value(event[name]) if name in event else None
        if spent is None or spent <= 0:
            yield f"{place}.{name}: is not a positive fraction"
            continue
        if name == "rho":
            rho += spent
        else:
            if event["mechanism"] == PARTITION_SELECTION:
                delta = exact_value(event["delta"]) if "delta" in event else None
                selected.append((spent, delta or Fraction(0)))
            else:
                epsilons.append(spent)
        yield from noise_findings(place, event, spent, manifest["configuration"]["privacy"])
    for number, selection in enumerate(accounting["selections"]):
        spent = exact_value(selection["epsilon"])
        if spent is None or spent <= 0:
            yield f"accounting.selections[{number}].epsilon: is not a positive fraction"
            continue
        epsilons.append(spent)
    spent_in_all = Spent(
        tuple(epsilons),
        rho,
        sum((epsilon for epsilon, _ in selected), Fraction(0)),
        sum((delta for _, delta in selected), Fraction(0)),
    )
    total = _budget(accounting["total"])
    claimed = _budget(manifest["guarantee"]["privacy_parameters"])
    if total is None or total[1] < 0:
        yield "accounting.total: is no pair of exact fractions"
        return
    yield from _total_findings(spent_in_all, *total)
    if claimed is None or claimed[0] < total[0] or claimed[1] < total[1]:
        yield (
            "guarantee.privacy_parameters: promises less privacy loss than the events have in "
            f"all, epsilon {total[0]} and delta {total[1]}"
        )
    yield from _ledger_findings(accounting["ledger"], manifest["configuration"], total)


def _total_findings(spent: Spent, epsilon: Fraction, delta: Fraction) -> Iterator[str]:
    """The total is wrong if the events need a larger delta at the epsilon that it states."""
    if not spent.rho and delta == spent.selected_delta:
        added = spent.epsilon + spent.selected_epsilon
        if epsilon != added:
            yield f"accounting.total.epsilon: the events add up to {added}"
        return
    needed = spent.delta_at(epsilon - spent.selected_epsilon)
    in_all = Fraction(needed) + spent.selected_delta
    if in_all > delta:
        yield (
            f"accounting.total.epsilon: at epsilon {rounded_up(epsilon)} the events need a delta "
            f"of {rounded_up(in_all)}, more than {rounded_up(delta)}"
        )


def _ledger_findings(
    ledger: dict[str, Any], configuration: dict[str, Any], total: tuple[Fraction, Fraction]
) -> Iterator[str]:
    place = "accounting.ledger"
    configured = configuration["ledger"]
    if ledger["population"] != configured["population"]:
        yield f"{place}.population: is not that of the configuration"
    yield from _history_findings(ledger, configuration)
    for name, spent in zip(("epsilon", "delta"), total, strict=True):
        cap, before, now, left = (
            exact_value(ledger[key][name]) for key in ("cap", "spent_before", "spent_now", "left")
        )
        if cap is None or before is None or now is None or left is None or before < 0:
            yield f"{place}: the {name}s are not exact fractions"
            continue
        if cap != _fraction(configured[f"{name}_cap"]):
            yield f"{place}.cap.{name}: is not the cap of the configuration"
        if now != spent:
            yield f"{place}.spent_now.{name}: found {now}, expected {spent} from the events"
        if left != cap - before - now:
            yield f"{place}.left.{name}: found {left}, expected {cap - before - now}"
        if before + now > cap:
            yield f"{place}: more {name} was spent than the cap allows"


def _history_findings(ledger: dict[str, Any], configuration: dict[str, Any]) -> Iterator[str]:
    """Contradictions of what came before this release, and in which terms it is added up."""
    place = "accounting.ledger"
    privacy, unit = configuration["privacy"], configuration["privacy"]["unit"]
    terms = {"neighbours": privacy["neighbours"], "unit": "record"}
    if isinstance(unit, dict):
        terms |= {"unit": "person", "person_column": unit["column"]}
        terms |= {"max_records": unit["max_records"]}
    if ledger["promise"] != terms:
        yield f"{place}.promise: is not that of the configuration"
    earlier = ledger["earlier_release_ids"]
    if len(set(earlier)) < len(earlier):
        yield f"{place}.earlier_release_ids: a release is listed twice"
    if configuration["release"]["id"] in earlier:
        yield f"{place}.earlier_release_ids: this release is not earlier than itself"
    before = [exact_value(ledger["spent_before"][name]) for name in ("epsilon", "delta")]
    if any(before) and not earlier:
        yield f"{place}.spent_before: is not zero, but no earlier release is listed"
    if earlier and not before[0] and "disjoint_part" not in ledger:
        yield f"{place}.spent_before: is zero, but earlier releases are listed"


def _budget(number: dict[str, Any]) -> tuple[Fraction, Fraction] | None:
    epsilon, delta = exact_value(number["epsilon"]), exact_value(number["delta"])
    return None if epsilon is None or delta is None else (epsilon, delta)


def _fraction(written: Any) -> Fraction | None:
    return exact_value({"fraction": str(written)})
