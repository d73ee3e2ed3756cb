"""Events of the accounting as JSON values, and back from files that are not trusted."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from synth.noise import keeps_its_delta, noise_law
from synth.privacy import SelectionEvent, TableEvent
from synth.privacy.accounting import GAUSSIAN, LAPLACE, PARTITION_SELECTION, PERMUTE_AND_FLIP

EXACT_POSITIVE = re.compile(r"[1-9][0-9]{0,99}(/[1-9][0-9]{0,99})?")
"""How `str` writes a positive fraction; bounded, because the file is not trusted."""

_BUDGET_KEYS = {
    LAPLACE: {"epsilon"},
    GAUSSIAN: {"rho", "sensitivity_l2_squared"},
    PARTITION_SELECTION: {"epsilon", "delta", "threshold"},
}


def event_to_plain(event: TableEvent) -> dict[str, Any]:
    """An event in JSON values; exact numbers as text.

    `coarsening` is left out where it is 0 for every attribute, `threshold` where every cell is
    listed. Laplace noise has `epsilon`, Gaussian noise `rho` and `sensitivity_l2_squared`, and
    partition selection `epsilon`, `delta` and `threshold`.
    """
    plain: dict[str, Any] = {
        "table": list(event.table),
        "cells": event.cells,
        "mechanism": event.mechanism,
        "sensitivity_l1": event.sensitivity_l1,
    }
    if any(event.coarsening):
        plain["coarsening"] = list(event.coarsening)
    if event.mechanism == GAUSSIAN:
        plain["rho"] = str(event.rho)
        plain["sensitivity_l2_squared"] = event.sensitivity_l2_squared
    else:
        plain["epsilon"] = str(event.epsilon)
    if event.threshold is not None:
        plain["threshold"] = event.threshold
    if event.delta is not None:
        plain["delta"] = str(event.delta)
    return plain


def event_from_plain(plain: Any) -> TableEvent:
    """Read an event back; raises KeyError, TypeError or ValueError if it is damaged.

    Ensures: `event_to_plain` of the result is `plain`; an event has one written form only.
    """
    if type(plain) is not dict:
        raise ValueError("an event is not an object")
    mechanism = plain["mechanism"]
    if mechanism not in _BUDGET_KEYS:
        raise ValueError("an event has a mechanism that is not known")
    expected = {"table", "cells", "mechanism", "sensitivity_l1", *_BUDGET_KEYS[mechanism]}
    optional = {"coarsening", "threshold"} - expected
    if plain.keys() - optional != expected:
        raise ValueError("an event has other entries than its mechanism needs")
    names, coarsening = plain["table"], plain.get("coarsening", [0] * len(plain["table"]))
    if type(names) is not list or any(type(name) is not str for name in names):
        raise ValueError("an event needs a list of attribute names")
    if type(coarsening) is not list or any(type(c) is not int or c < 0 for c in coarsening):
        raise ValueError("an event needs whole steps of coarsening")
    whole = [plain["cells"], plain["sensitivity_l1"]]
    if mechanism == GAUSSIAN:
        whole.append(plain["sensitivity_l2_squared"])
    if "threshold" in plain:
        whole.append(plain["threshold"])
    if any(type(number) is not int or number < 1 for number in whole):
        raise ValueError("an event needs whole, positive cells, sensitivity and threshold")
    event = TableEvent(
        table=tuple(names),
        cells=plain["cells"],
        sensitivity_l1=plain["sensitivity_l1"],
        epsilon=_positive(plain["epsilon"]) if "epsilon" in plain else None,
        mechanism=mechanism,
        coarsening=tuple(coarsening),
        rho=_positive(plain["rho"]) if "rho" in plain else None,
        sensitivity_l2_squared=plain.get("sensitivity_l2_squared"),
        threshold=plain.get("threshold"),
        delta=_positive(plain["delta"]) if "delta" in plain else None,
    )
    if event_to_plain(event) != plain:
        raise ValueError("an event is not written in the one form of its values")
    if not keeps_its_delta(event):
        raise ValueError("an event has a threshold too low for its delta")
    return event


def selection_to_plain(event: SelectionEvent) -> dict[str, Any]:
    """A private selection in JSON values; exact numbers as text."""
    return {
        "mechanism": event.mechanism,
        "candidates": event.candidates,
        "epsilon": str(event.epsilon),
    }


def selection_from_plain(plain: Any) -> SelectionEvent:
    """Read a selection back; raises KeyError, TypeError or ValueError if it is damaged."""
    if type(plain) is not dict:
        raise ValueError("a selection is not an object")
    if plain.keys() != {"mechanism", "candidates", "epsilon"}:
        raise ValueError("a selection has other entries than it needs")
    if plain["mechanism"] != PERMUTE_AND_FLIP:
        raise ValueError("a selection event has a mechanism that is not known")
    event = SelectionEvent(plain["candidates"], _positive(plain["epsilon"]), plain["mechanism"])
    if selection_to_plain(event) != plain:
        raise ValueError("a selection event is not written in the one form of its values")
    return event


def noise_variance(event: TableEvent) -> float:
    """The variance of the noise in one cell, in records squared.

    Raises: ValueError for noise that is never drawn, because it is too wide.
    """
    return noise_law(event).variance


def _positive(text: Any) -> Fraction:
    if type(text) is not str or not EXACT_POSITIVE.fullmatch(text):
        raise ValueError("an event needs a positive budget, an exact fraction")
    return Fraction(text)
