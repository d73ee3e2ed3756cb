"""What was spent: one event per noisy table, their total, and the population's ledger."""

from __future__ import annotations

from typing import Any

from synth.measurements import LedgerPosition, Measurements
from synth.privacy import total_budget
from synth.release.manifest.exact_numbers import exact_budget, exact_number
from synth.release.manifest.schema_terms import (
    Schema,
    basis,
    exact,
    listing,
    one_of,
    real,
    record,
    text,
    whole,
)


def _budget(description: str) -> Schema:
    return record(
        description,
        epsilon=exact("The parameter epsilon."),
        delta=exact("The parameter delta."),
    )


ACCOUNTING = record(
    "Every use of the privacy budget.",
    composition=text("How the events add up."),
    events=listing(
        "One event for every noisy table.",
        record(
            "One noisy table.",
            table=listing("The attributes of the table.", text("An attribute's name.")),
            cells=whole("The number of cells; each got its own noise.", minimum=1),
            mechanism=one_of("The mechanism.", "discrete-laplace"),
            sensitivity_norm=one_of("The norm in which sensitivity is measured.", "L1"),
            sensitivity=whole("The most by which one unit changes the table, in records."),
            epsilon=exact("The privacy loss of the event."),
            delta=exact("The failure probability of the event."),
            noise_scale_records=exact("Sensitivity divided by epsilon."),
            variance=real("The variance of the noise in one cell, in records squared."),
        ),
    ),
    total=_budget("The sum over all events."),
    preprocessing_and_hyperparameter_tuning=text(
        "What was chosen by looking at the raw data before the noise, and what it cost."
    ),
    ledger=record(
        "The ledger of the population when this release was charged, as the curator attests.",
        population=text("The population that the ledger is about."),
        cap=_budget("The most that may ever be spent on the population."),
        spent_before=_budget("Spent by earlier releases."),
        spent_now=_budget("Charged for this release."),
        left=_budget("What is left after this release."),
        earlier_release_ids=listing("The releases charged before.", text("A release's id.")),
    ),
    basis=basis("public"),
)


def build_accounting(measurements: Measurements, ledger: LedgerPosition) -> dict[str, Any]:
    """The section `accounting`."""
    events = [table.event for table in measurements.tables]
    return {
        "composition": "sequential: the epsilons of all events add up, in exact fractions",
        "events": [
            {
                "table": list(event.table),
                "cells": event.cells,
                "mechanism": event.mechanism,
                "sensitivity_norm": "L1",
                "sensitivity": event.sensitivity_l1,
                "epsilon": exact_number(event.epsilon),
                "delta": exact_number(0 * event.epsilon),
                "noise_scale_records": exact_number(event.noise_scale_records),
                "variance": table.variance,
            }
            for event, table in zip(events, measurements.tables, strict=True)
        ],
        "total": exact_budget(total_budget(events)),
        "preprocessing_and_hyperparameter_tuning": (
            "none: the domain, the tables and the split of the budget follow from the "
            "configuration alone, and nothing was tuned on the raw data"
        ),
        "ledger": {
            "population": ledger.population,
            "cap": exact_budget(ledger.cap),
            "spent_before": exact_budget(ledger.spent_before),
            "spent_now": exact_budget(ledger.spent_now),
            "left": exact_budget(ledger.left),
            "earlier_release_ids": list(ledger.earlier_releases),
        },
        "basis": "public",
    }
