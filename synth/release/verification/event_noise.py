"""The noise of one listed event: its sensitivity, scale and variance, computed again."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from synth.release.verification.ideal_variance import (
    gaussian_variance,
    laplace_variance,
    threshold_suffices,
)

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
