"""A second, independent reading of the ledger: what every population has spent.

The book sums `Fraction` objects over the runs it derived. This module knows neither the book
nor `Fraction`: it walks the raw payloads, keeps numerators over one common denominator, and
subtracts at a void. The two must agree, or the ledger is not used.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable

from synth.ledger.event import LedgerEvent


def recount(events: Iterable[LedgerEvent]) -> dict[str, tuple[tuple[int, int], tuple[int, int]]]:
    """For each population the spent epsilon and delta, as reduced (numerator, denominator).

    Requires: the chain of `events` holds.
    """
    epsilon: dict[str, tuple[int, int]] = {}
    delta: dict[str, tuple[int, int]] = {}
    open_charges: dict[str, tuple[tuple[int, int], tuple[int, int]]] = {}
    for event in events:
        name = event.population
        if event.kind == "reserve":
            payload = json.loads(event.payload)
            paid = (0, 1)
            for table in payload["tables"]:
                paid = _add(paid, _ratio(table["epsilon"]))
            loss = _ratio(payload["charge"]["delta"])
            open_charges[event.release_id] = (paid, loss)
            epsilon[name] = _add(epsilon.get(name, (0, 1)), paid)
            delta[name] = _add(delta.get(name, (0, 1)), loss)
        elif event.kind == "void":
            paid, loss = open_charges.pop(event.release_id)
            epsilon[name] = _add(epsilon[name], (-paid[0], paid[1]))
            delta[name] = _add(delta[name], (-loss[0], loss[1]))
    return {name: (epsilon[name], delta[name]) for name in epsilon}


def _ratio(text: str) -> tuple[int, int]:
    numerator, _, denominator = text.partition("/")
    return int(numerator), int(denominator or "1")


def _add(left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int]:
    numerator = left[0] * right[1] + right[0] * left[1]
    denominator = left[1] * right[1]
    shared = math.gcd(numerator, denominator)
    return numerator // shared, denominator // shared
