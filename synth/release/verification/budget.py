"""The budget, recomputed from the listed events by code that shares nothing with the writer.

Only the manifest's own text goes in; no function of `synth.privacy` is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

LARGEST_RATE = Fraction(256)
"""With epsilon / sensitivity above this, the noise of 256 is added: more than was promised."""

SMALLEST_RATE = Fraction(1, 10**12)
"""No noise is drawn for less epsilon per record."""

VARIANCE_BELOW = Fraction(1, 2**53)
VARIANCE_ABOVE = Fraction(1, 2**51)
"""Relative. With r = epsilon / sensitivity the ideal variance is 2 a / (1 - a)^2, a = exp(-r),
and grows by the factor r coth(r / 2) <= r + 2 of any relative decrease of r. The mechanism rounds
a up so that r decreases by less than 2^-62, so for r <= 256 the variance grows by less than
258 * 2^-62 < 2^-53. The nearest double is within 2^-53 on either side. Together: at least
1 - 2^-53, at most (1 + 2^-53)^2 < 1 + 2^-51."""

DIGITS = Context(prec=80)
"""1 - a keeps at least 67 digits: far beyond the tolerance."""


def budget_findings(manifest: dict[str, Any]) -> Iterator[str]:
    """Every place where the manifest's accounting contradicts itself or its configuration."""
    accounting = manifest["accounting"]
    privacy = manifest["configuration"]["privacy"]
    sensitivity = 2 if privacy["neighbours"] == "replace-one" else 1
    if isinstance(privacy["unit"], dict):
        sensitivity *= int(privacy["unit"]["max_records"])
    epsilons = []
    for number, event in enumerate(accounting["events"]):
        place = f"accounting.events[{number}]"
        epsilon, scale = _value(event["epsilon"]), _value(event["noise_scale_records"])
        if event["sensitivity"] != sensitivity:
            yield (
                f"{place}.sensitivity: found {event['sensitivity']}, expected {sensitivity} from "
                "the unit and the neighbours of the configuration"
            )
        if epsilon is None or epsilon <= 0:
            yield f"{place}.epsilon: is not a positive fraction"
            continue
        epsilons.append(epsilon)
        if scale != sensitivity / epsilon:
            yield f"{place}.noise_scale_records: is not sensitivity / epsilon"
        rate = epsilon / sensitivity
        if rate < SMALLEST_RATE:
            yield f"{place}.epsilon: is too small for any noise that synth adds"
            continue
        ideal = _variance(min(rate, LARGEST_RATE))
        stated = Fraction(event["variance"])
        if not ideal * (1 - VARIANCE_BELOW) <= stated <= ideal * (1 + VARIANCE_ABOVE):
            yield (
                f"{place}.variance: found {event['variance']!r}, expected {float(ideal)!r} from "
                "2 a / (1 - a)^2"
            )
    total = sum(epsilons, Fraction(0))
    if _value(accounting["total"]["epsilon"]) != total:
        yield f"accounting.total.epsilon: the events add up to {total}"
    claimed = _value(manifest["guarantee"]["privacy_parameters"]["epsilon"])
    if claimed is None or claimed < total:
        yield (
            "guarantee.privacy_parameters.epsilon: promises less privacy loss than the events "
            f"have in all, {total}"
        )
    yield from _ledger_findings(accounting["ledger"], manifest["configuration"]["ledger"], total)


def _ledger_findings(
    ledger: dict[str, Any], configured: dict[str, Any], total: Fraction
) -> Iterator[str]:
    place = "accounting.ledger"
    if ledger["population"] != configured["population"]:
        yield f"{place}.population: is not that of the configuration"
    for name, spent in (("epsilon", total), ("delta", Fraction(0))):
        cap, before, now, left = (
            _value(ledger[key][name]) for key in ("cap", "spent_before", "spent_now", "left")
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
        if left < 0:
            yield f"{place}: more {name} was spent than the cap allows"
        if before and not ledger["earlier_release_ids"]:
            yield f"{place}.spent_before.{name}: is not zero, but no earlier release is listed"


def _variance(rate: Fraction) -> Fraction:
    """2 a / (1 - a)^2 with a = exp(-rate), to more digits than a float has."""
    exponent = DIGITS.divide(Decimal(-rate.numerator), Decimal(rate.denominator))
    a = Fraction(DIGITS.exp(exponent))
    return 2 * a / (1 - a) ** 2


def _value(number: dict[str, str]) -> Fraction | None:
    return _fraction(number["fraction"])


def _fraction(written: Any) -> Fraction | None:
    try:
        return Fraction(str(written))
    except (ValueError, ZeroDivisionError):
        return None
