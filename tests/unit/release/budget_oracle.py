"""The oracle of the budget: what a manifest's events cost, by code that shares nothing with synth.

Only the manifest's own text goes in; no function of `synth.privacy` or `synth.noise` is used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Any

VARIANCE_DIGITS = Context(prec=80)
"""1 - a keeps at least 67 digits: far beyond the tolerance."""

LARGEST_SUMMED = 64
"""Up to this sigma^2 the variance is summed; above it sigma^2 is the variance but for one part in
10^500: by Poisson summation they differ by the factor 1 - O(sigma^2 exp(-2 pi^2 sigma^2))."""


def laplace_variance(rate: Fraction) -> Fraction:
    """2 a / (1 - a)^2 with a = exp(-rate): discrete Laplace noise."""
    a = Fraction(_exp(-rate))
    return 2 * a / (1 - a) ** 2


def threshold_suffices(threshold: int, delta: Fraction, sensitivity: int, rate: Fraction) -> bool:
    """Whether one unit fills a listed cell that was empty with probability at most delta.

    With a = exp(-rate), s the sensitivity and t the threshold: the larger of a^(t-s) / (1+a) and
    s a^(t-1) / (1+a) is at most delta.
    """
    a = Fraction(_exp(-rate))
    together = Fraction(_exp(-rate * (threshold - sensitivity))) / (1 + a)
    apart = sensitivity * Fraction(_exp(-rate * (threshold - 1))) / (1 + a)
    return max(together, apart) <= delta


def gaussian_variance(sigma_squared: Fraction) -> Fraction:
    """The variance of discrete Gaussian noise, P(k) proportional to exp(-k^2 / (2 sigma^2)).

    The sum stops where a term is below 10^-80 of the first one.
    """
    if sigma_squared > LARGEST_SUMMED:
        return sigma_squared
    mass, moment, k = Fraction(1, 2), Fraction(0), 0
    first = Fraction(_exp(-1 / (2 * sigma_squared)))
    term = first
    while k * k * term >= first / 10**80 or k == 0:
        k += 1
        term = Fraction(_exp(-(k * k) / (2 * sigma_squared)))
        mass += term
        moment += k * k * term
    return moment / mass


def _exp(exponent: Fraction) -> Decimal:
    return VARIANCE_DIGITS.exp(
        VARIANCE_DIGITS.divide(Decimal(exponent.numerator), Decimal(exponent.denominator))
    )


DIGITS = Context(prec=60)

SMALLEST, LARGEST = Fraction(1, 10**12), Fraction(10**6)
"""A smaller rho, or a larger epsilon, is taken for this one, which needs a larger delta; a larger
rho has the bound 1."""

LEAST = Decimal("1e-1000")
"""No smaller bound is given."""

SAFETY = Decimal("1e-30")
"""Relative. Above `LEAST` the exponent is below 2,400 in size. It is the product of alpha - 1, at
most 10^19 at the best alpha, and a sum of terms below 10^7, each known to 10^-53. So it is known
to 10^-33, and the bound to as much of itself: raised by this, it is above the true one."""

RAISED = DIGITS.add(Decimal(1), SAFETY)
"""1 + SAFETY in 60 digits; the 28 of the default context would round it to 1."""

STEPS = 200
"""Halvings of an interval of logarithms of length 1,400: more than a double can tell apart."""


def delta_bound(rho: Fraction, epsilon: Fraction) -> Decimal:
    """A delta such that every rho-zCDP mechanism is (epsilon, delta)-DP.

    Formula: exp((alpha - 1) (alpha rho - epsilon + log(1 - 1 / alpha))) / alpha, which holds for
    every alpha > 1 (Canonne, Kamath, Steinke 2020, corollary 13). The best alpha is where
    (2 alpha - 1) rho - epsilon + log(1 - 1 / alpha), which grows with alpha, is zero; it is found
    in floating point, because another alpha only makes the bound larger.
    Rounding: up, by one part in 10^30.
    Requires: rho > 0.
    """
    if epsilon <= 0 or rho > LARGEST:
        return Decimal(1)
    rho, epsilon = max(rho, SMALLEST), min(epsilon, LARGEST)
    x = Decimal(_best_order(float(rho), float(epsilon)))
    alpha = DIGITS.add(x, Decimal(1))
    inner = DIGITS.subtract(DIGITS.multiply(alpha, _decimal(rho)), _decimal(epsilon))
    inner = DIGITS.add(inner, DIGITS.ln(DIGITS.divide(x, alpha)))
    if inner >= 0:
        return Decimal(1)
    bound = DIGITS.divide(DIGITS.exp(DIGITS.multiply(x, inner)), alpha)
    return min(Decimal(1), max(LEAST, DIGITS.multiply(bound, RAISED)))


def _best_order(rho: float, epsilon: float) -> float:
    """The order alpha, less one, at the smallest bound, by bisection of its logarithm."""
    low, high = -700.0, 700.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        x = math.exp(middle)
        slope = (2 * x + 1) * rho - epsilon + middle - math.log1p(x)
        low, high = (middle, high) if slope < 0 else (low, middle)
    return math.exp(high)


def _decimal(value: Fraction) -> Decimal:
    """The value in 60 digits."""
    return DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))


def rounded_up(value: Decimal | Fraction) -> str:
    """The value for people: six significant digits, rounded up."""
    exact = _decimal(value) if isinstance(value, Fraction) else value
    return f"{Context(prec=6, rounding=ROUND_CEILING).plus(exact):g}"


LARGEST_RATE = Fraction(256)
"""With epsilon / sensitivity above this, the noise of 256 is added: more than was promised."""

SMALLEST_RATE = Fraction(1, 10**12)
"""No noise is drawn for less epsilon per record."""

LARGEST_SIGMA_SQUARED = Fraction(2**40)
"""No Gaussian noise is drawn for a larger one."""

SMALLEST_SIGMA_SQUARED = Fraction(1, 512)
"""For a smaller one, the noise of this one is added: more than was promised."""

VARIANCE_BELOW = Fraction(1, 2**53)
VARIANCE_ABOVE = Fraction(1, 2**51)
"""Relative, for discrete Laplace noise. With r = epsilon / sensitivity the ideal variance is
2 a / (1 - a)^2, a = exp(-r), and grows by the factor r coth(r / 2) <= r + 2 of any relative
decrease of r. The mechanism rounds a up so that r decreases by less than 2^-62, so for r <= 256
the variance grows by less than 258 * 2^-62 < 2^-53. The nearest double is within 2^-53 on either
side. Together: at least 1 - 2^-53, at most (1 + 2^-53)^2 < 1 + 2^-51."""

GAUSSIAN_TOLERANCE = Fraction(1, 2**52)
"""Relative, on either side, for discrete Gaussian noise, whose sigma^2 is not rounded: the double
nearest to a sum that is known to far more digits."""

PARTITION_SELECTION = "partition-selection"
NORMS = {"discrete-laplace": "L1", "discrete-gaussian": "squared L2", PARTITION_SELECTION: "L1"}


def noise_findings(
    place: str, event: dict[str, Any], spent: Fraction, privacy: dict[str, Any]
) -> Iterator[str]:
    """Every contradiction between what one event costs and the noise that it states."""
    gaussian = event["mechanism"] == "discrete-gaussian"
    norm = NORMS[event["mechanism"]]
    if event["sensitivity_norm"] != norm:
        yield f"{place}.sensitivity_norm: the noise goes by the norm {norm}"
    if len(event["table"]) != len(event["coarsening"]):
        yield f"{place}.coarsening: does not say one resolution for each attribute"
    sensitivity = _sensitivity(privacy, squared=gaussian)
    if event["sensitivity"] != sensitivity:
        yield (
            f"{place}.sensitivity: found {event['sensitivity']}, expected {sensitivity} from the "
            "unit and the neighbours of the configuration"
        )
    name = "rho" if gaussian else "epsilon"
    field = "sigma_squared" if gaussian else "noise_scale_records"
    formula = f"sensitivity / {'(2 rho)' if gaussian else 'epsilon'}"
    scale = sensitivity / (2 * spent) if gaussian else sensitivity / spent
    if field not in event or exact_value(event[field]) != scale:
        yield f"{place}.{field}: is not {formula}"
    if scale > (LARGEST_SIGMA_SQUARED if gaussian else 1 / SMALLEST_RATE):
        yield f"{place}.{name}: is too small for any noise that synth adds"
        return
    yield from _variance_findings(place, event["variance"], scale, gaussian=gaussian)
    yield from _selection_findings(place, event, sensitivity, 1 / scale)


def _selection_findings(
    place: str, event: dict[str, Any], sensitivity: int, rate: Fraction
) -> Iterator[str]:
    """What is wrong with the delta of an event, or with the threshold that it has to pay for.

    An empty cell is never listed, so the chance that cells which one unit fills are listed is at
    most delta: a^(t-s) / (1+a) for s records in one cell, s a^(t-1) / (1+a) for one record in each
    of s cells; t the threshold, a = exp(-rate). The a of the mechanism is not smaller than this
    one.
    """
    if event["mechanism"] != PARTITION_SELECTION:
        if "delta" in event:
            yield f"{place}.delta: the mechanism has none"
        return
    delta = exact_value(event["delta"]) if "delta" in event else None
    threshold = event.get("threshold", 0)
    if delta is None or not 0 < delta < 1:
        yield f"{place}.delta: is not a fraction between 0 and 1"
    elif threshold <= sensitivity or not threshold_suffices(threshold, delta, sensitivity, rate):
        yield f"{place}.threshold: is too low for the delta of the event"


def _variance_findings(
    place: str, stated: float, scale: Fraction, *, gaussian: bool
) -> Iterator[str]:
    if gaussian:
        ideal = gaussian_variance(max(scale, SMALLEST_SIGMA_SQUARED))
        below = above = GAUSSIAN_TOLERANCE
        formula = "sigma_squared and the discrete Gaussian"
    else:
        ideal = laplace_variance(min(1 / scale, LARGEST_RATE))
        below, above = VARIANCE_BELOW, VARIANCE_ABOVE
        formula = "2 a / (1 - a)^2"
    if not ideal * (1 - below) <= Fraction(stated) <= ideal * (1 + above):
        yield f"{place}.variance: found {stated!r}, expected {float(ideal)!r} from {formula}"


def _sensitivity(privacy: dict[str, Any], *, squared: bool) -> int:
    """The most by which one unit changes one table: in records, or in records squared.

    All records of a unit may fall into one cell, and those that replace them into another.
    """
    unit = privacy["unit"]
    most = int(unit["max_records"]) if isinstance(unit, dict) else 1
    cells = 2 if privacy["neighbours"] == "replace-one" else 1
    return cells * (most * most if squared else most)


def exact_value(number: dict[str, str]) -> Fraction | None:
    """The exact value of a number of the manifest, or None if it is none."""
    try:
        return Fraction(number["fraction"])
    except (ValueError, ZeroDivisionError):
        return None


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
    look = accounting.get("look")
    if look is not None:
        yield from _look_findings(look, accounting, manifest["configuration"]["privacy"])
    spent_after_look = Spent(
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
    if look is None:
        yield from _total_findings("accounting.total", spent_after_look, *total)
    elif (reserved := _budget(look["reserved"])) is not None:
        place = "accounting.look.reserved"
        yield from _total_findings(place, spent_after_look, *reserved, is_exact=not reserved[1])
    if claimed is None or claimed[0] < total[0] or claimed[1] < total[1]:
        yield (
            "guarantee.privacy_parameters: promises less privacy loss than the events have in "
            f"all, epsilon {total[0]} and delta {total[1]}"
        )
    yield from _ledger_findings(accounting["ledger"], manifest["configuration"], total)


def _look_findings(
    look: dict[str, Any], accounting: dict[str, Any], privacy: dict[str, Any]
) -> Iterator[str]:
    """What is wrong with a look: its noise, or that the total is not it and what it left."""
    place = "accounting.look"
    spent = exact_value(look["epsilon"])
    sensitivity = _sensitivity(privacy, squared=False) * (2 if look["pairs"] else 1)
    if spent is None or spent <= 0:
        yield f"{place}.epsilon: is not a positive fraction"
        return
    if look["sensitivity"] != sensitivity:
        yield f"{place}.sensitivity: expected {sensitivity}"
    if exact_value(look["noise_scale_records"]) != sensitivity / spent:
        yield f"{place}.noise_scale_records: is not sensitivity / epsilon"
    yield from _variance_findings(place, look["variance"], sensitivity / spent, gaussian=False)
    total, reserved = _budget(accounting["total"]), _budget(look["reserved"])
    configured = _fraction(privacy["epsilon"]), _fraction(privacy["delta"])
    if reserved is None or total != (spent + reserved[0], reserved[1]) or total != configured:
        yield f"{place}: the total is not the look and what was reserved after it"


def _total_findings(
    place: str, spent: Spent, epsilon: Fraction, delta: Fraction, *, is_exact: bool = True
) -> Iterator[str]:
    """A total is wrong if the events need a larger delta at the epsilon that it states.

    Without Gaussian tables it is the sum, if `is_exact`.
    """
    if is_exact and not spent.rho and delta == spent.selected_delta:
        added = spent.epsilon + spent.selected_epsilon
        if epsilon != added:
            yield f"{place}.epsilon: the events add up to {added}"
        return
    needed = spent.delta_at(epsilon - spent.selected_epsilon)
    in_all = Fraction(needed) + spent.selected_delta
    if in_all > delta:
        yield (
            f"{place}.epsilon: at epsilon {rounded_up(epsilon)} the events need a delta "
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
        if ("added" in ledger) != ("series" in configuration):
            yield f"{place}.added: is for the releases of a series, and for all of them"
        added = exact_value(ledger["added"][name]) if "added" in ledger else now
        if added is None or not 0 <= added <= now:
            yield f"{place}.added.{name}: is not between nothing and the charge"
            continue
        if left != cap - before - added:
            yield f"{place}.left.{name}: found {left}, expected {cap - before - added}"
        if before + added > cap:
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
