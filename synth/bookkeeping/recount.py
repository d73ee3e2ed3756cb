"""A second, independent reading of the ledger: what every population has spent.

The book sums `Fraction` objects over the runs it derived. This module knows neither the book
nor `Fraction`: it walks the raw payloads, keeps numerators over one common denominator, and
subtracts at a void. The two must agree, or the ledger is not used. Where noise was Gaussian, the
book computes epsilon from rho and delta; here delta is computed from rho and the charged epsilon.
What partition selection costs, an epsilon and a delta, is added up beside everything else, and
so is what is reserved for after a look.
Charges to disjoint parts are summed part by part; the largest part is added to what is charged to
everybody. Of a series every part counts once, and by its rule the largest parts, the largest window
or all.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from synth.bookkeeping.file import LedgerEvent

Ratio = tuple[int, int]
SLACK = 1e-6
"""By how much the logarithm of delta may be off in floating point."""
_EXPONENTS = range(-40, 1000)


def recount(events: Iterable[LedgerEvent]) -> dict[str, tuple[Ratio, Ratio]]:
    """For each population the spent epsilon and delta, as reduced (numerator, denominator).

    Requires: the chain of `events` holds.
    Raises: ValueError if a charge is too small for its Gaussian tables.
    """
    sums: dict[tuple[str, str | None], list[Ratio]] = {}
    open_charges: dict[str, tuple[str | None, tuple[Ratio, Ratio]]] = {}
    of_series: dict[str, dict[str, tuple[Mapping[str, Any], tuple[Ratio, Ratio]]]] = {}
    for event in events:
        name = event.population
        if event.kind == "reserve":
            payload = json.loads(event.payload)
            if "series" in payload:
                sums.setdefault((name, None), [(0, 1), (0, 1)])
                paid = of_series.setdefault(name, {})
                paid[event.release_id] = payload["series"], _charge(payload)
                continue
            part = payload["disjoint_part"]["name"] if "disjoint_part" in payload else None
            open_charges[event.release_id] = part, _charge(payload)
            account = sums.setdefault((name, part), [(0, 1), (0, 1)])
            account[:] = map(_add, account, open_charges[event.release_id][1])
        elif event.kind == "void" and event.release_id in of_series.get(name, {}):
            del of_series[name][event.release_id]
        elif event.kind == "void":
            part, charge = open_charges.pop(event.release_id)
            account = sums[name, part]
            account[:] = map(_less, account, charge)
    return {
        name: (
            _add(_in_all(sums, name, 0), _all_series(of_series.get(name, {}), 0)),
            _add(_in_all(sums, name, 1), _all_series(of_series.get(name, {}), 1)),
        )
        for name, _ in sums
    }


def _all_series(
    paid: Mapping[str, tuple[Mapping[str, Any], tuple[Ratio, Ratio]]], which: int
) -> Ratio:
    """What the open charges of all series of a population come to."""
    found: Ratio = (0, 1)
    for name in {series["name"] for series, _ in paid.values()}:
        of_it = [
            (series, charge[which]) for series, charge in paid.values() if series["name"] == name
        ]
        found = _add(found, _one_series(of_it))
    return found


def _one_series(charges: Sequence[tuple[Mapping[str, Any], Ratio]]) -> Ratio:
    """The charges of one series, each part once, by its rule."""
    once = {int(series["part"]): charge for series, charge in charges}
    if any(once[int(series["part"])] != charge for series, charge in charges):
        raise ValueError("a part of a series is charged in two ways")
    rule, most = charges[0][0]["rule"], charges[0][0]["most"]
    groups: list[list[Ratio]] = [list(once.values())]
    if rule == "window":
        groups = [
            [once[each] for each in range(start, start + most) if each in once] for start in once
        ]
    totals = []
    for group in groups:
        total: Ratio = (0, 1)
        left = list(group)
        for _ in range(len(left) if rule != "largest" else min(most, len(left))):
            largest = max(left, key=_Comparable)
            left.remove(largest)
            total = _add(total, largest)
        totals.append(total)
    return max(totals, key=_Comparable)


class _Comparable:
    """Orders ratios without dividing."""

    def __init__(self, ratio: Ratio) -> None:
        self.ratio = ratio

    def __lt__(self, other: _Comparable) -> bool:
        return _less(self.ratio, other.ratio)[0] < 0


def _in_all(
    sums: Mapping[tuple[str, str | None], Sequence[Ratio]], population: str, which: int
) -> Ratio:
    """What everybody was charged, and on top of it the part that was charged most."""
    whole: Ratio = (0, 1)
    largest: Ratio = (0, 1)
    for (name, part), account in sums.items():
        if name != population:
            continue
        if part is None:
            whole = account[which]
        elif _less(account[which], largest)[0] > 0:
            largest = account[which]
    return _add(whole, largest)


def _charge(payload: Mapping[str, Any]) -> tuple[Ratio, Ratio]:
    """What one reservation costs: the sums of its events, or the charge if that is enough."""
    pure: Ratio = (0, 1)
    selected: Ratio = (0, 1)
    selected_delta: Ratio = (0, 1)
    rho = squares = 0.0
    for event in payload["tables"]:
        if "rho" in event:
            rho += _float(_ratio(event["rho"]))
        elif "delta" in event:
            selected = _add(selected, _ratio(event["epsilon"]))
            selected_delta = _add(selected_delta, _ratio(event["delta"]))
        else:
            pure = _add(pure, _ratio(event["epsilon"]))
            squares += _float(_ratio(event["epsilon"])) ** 2
    if not rho:
        return _add(pure, selected), selected_delta
    charged, loss = _ratio(payload["charge"]["epsilon"]), _ratio(payload["charge"]["delta"])
    for_the_others = _less(charged, selected)
    left = _less(loss, selected_delta)
    if left[0] <= 0:
        raise ValueError("a charge leaves no delta for its Gaussian tables")
    rest = _float(_less(for_the_others, pure))
    log_delta = math.log(left[0]) - math.log(left[1])
    reached = min(
        _log_delta(rho, rest) if rest > 0 else math.inf,
        _log_delta(rho + squares / 2, _float(for_the_others)),
    )
    if reached > log_delta + SLACK:
        raise ValueError("a charge is too small for its Gaussian tables")
    return charged, loss


def _log_delta(rho: float, epsilon: float) -> float:
    """The logarithm of the smallest delta of rho-zCDP at this epsilon.

    ln(delta) = (a - 1) (a rho - epsilon) - ln(a - 1) + a ln(1 - 1/a), at the best a > 1
    (Canonne, Kamath, Steinke 2020, corollary 13).
    """

    def at(exponent: float) -> float:
        x = math.exp(exponent)
        return x * ((x + 1) * rho - epsilon) - exponent - (x + 1) * math.log1p(1 / x)

    best = min((exponent / 2 for exponent in _EXPONENTS), key=at)
    low, high = best - 0.5, best + 0.5
    for _ in range(60):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if at(left) < at(right) else (left, high)
    return at(low)


def _float(ratio: Ratio) -> float:
    return ratio[0] / ratio[1]


def _ratio(text: str) -> Ratio:
    numerator, _, denominator = text.partition("/")
    return int(numerator), int(denominator or "1")


def _less(left: Ratio, right: Ratio) -> Ratio:
    return _add(left, (-right[0], right[1]))


def _add(left: Ratio, right: Ratio) -> Ratio:
    numerator = left[0] * right[1] + right[0] * left[1]
    denominator = left[1] * right[1]
    shared = math.gcd(numerator, denominator)
    return numerator // shared, denominator // shared
