"""The budget, recomputed from the listed events by code that shares nothing with the writer.

Only the manifest's own text goes in; no function of `synth.privacy` is used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

VARIANCE_TOLERANCE = 1e-9
"""Relative: the stated variance is that of alpha rounded up in its last binary digits."""


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
        expected = _variance(float(epsilon / sensitivity))
        if not math.isclose(event["variance"], expected, rel_tol=VARIANCE_TOLERANCE):
            yield (
                f"{place}.variance: found {event['variance']!r}, expected {expected!r} from "
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


def _variance(rate: float) -> float:
    """2 a / (1 - a)^2 with a = exp(-rate), written so that a small rate loses no digits."""
    return 1 / (2 * math.sinh(rate / 2) ** 2)


def _value(number: dict[str, str]) -> Fraction | None:
    return _fraction(number["fraction"])


def _fraction(written: Any) -> Fraction | None:
    try:
        return Fraction(str(written))
    except (ValueError, ZeroDivisionError):
        return None
