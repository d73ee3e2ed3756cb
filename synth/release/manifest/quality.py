"""Accuracy: what was predicted before the data were opened, and the fit to the noisy tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from synth.config.types import Config
from synth.measurements import Measurements
from synth.release.manifest.fit import FIT, build_fit
from synth.release.manifest.gate import GATE, build_gate
from synth.release.manifest.listed import LISTING, build_listing
from synth.release.manifest.schema_terms import (
    Schema,
    basis,
    listing,
    one_of,
    real,
    record,
    text,
    whole,
)
from synth.release.manifest.useful import USEFULNESS, build_usefulness
from synth.release.rows import RowCounts, count_rows

if TYPE_CHECKING:
    from synth.plan import Forecast, QueryForecast

EXPLANATION = (
    "the prediction is about the noisy measurements, whose errors are known exactly; the "
    "published rows were fitted to them, and the fit says how far they are from them: "
    "about one standard deviation where there is noise only, less where the rows follow "
    "the measurements closely"
)
AFTER_CHOICES = (
    "; the prediction is about the tables that were measured, and some of them were chosen "
    "by private choices, so which queries it covers was not known before"
)


def _errors(description: str, *, one: str, **fields: Schema) -> Schema:
    """The predicted errors of queries that are asked together."""
    return record(
        description,
        attributes=listing("The attributes.", text("An attribute's name.")),
        **fields,
        sd_records=real(f"The standard deviation of the error of {one}, in records."),
        half_width_95_records=real(f"Half the width of a 95 % interval for {one}, in records."),
        simultaneous_95_records=real(
            "The bound that holds for all of them at once with probability 95 %, in records."
        ),
        law=one_of(
            "Whether the bounds come from the exact law of the noise, from the law of the noise "
            "in the best table scaled to the variance of all tables together, or from a normal law "
            "with the same variance.",
            "exact",
            "scaled",
            "normal",
        ),
    )


QUALITY = record(
    "How accurate the release is; no figure is computed from the raw data.",
    ("listing",),
    explanation=text("How to read the figures."),
    prediction=record(
        "Errors of the best unbiased sums of the noisy measurements, known before the raw data "
        "were opened.",
        ("noise_sd_per_cell", "phantom_records_if_clipped"),
        noise_sd_per_cell=real(
            "The standard deviation of the noise in one cell of the universe, in records; left "
            "out if the universe is not measured."
        ),
        phantom_records_if_clipped=real(
            "Records that setting negative counts of the universe to zero would have invented; "
            "not done here. Left out if the universe is not measured with Laplace noise."
        ),
        queries=listing(
            "One entry for every table of the workload that the noisy tables answer.",
            _errors(
                "One table of the workload, as the best linear estimate from all noisy tables.",
                one="one cell",
                cells=whole("The number of cells.", minimum=1),
            ),
        ),
        ranges=listing(
            "One entry for every set of range queries that the noisy tables answer.",
            _errors(
                "One set of range queries; the standard deviation is the root of the mean "
                "variance over all of them.",
                one="one interval",
                kind=one_of("Which intervals.", "prefix", "range"),
                intervals=whole("The number of intervals.", minimum=1),
            ),
        ),
        unanswered=listing(
            "Tables and range queries of the workload that no sum of the noisy tables answers: "
            "what the rows say of them comes from the model, without a figure for its error.",
            listing("The attributes.", text("An attribute's name.")),
        ),
        basis=basis("public"),
    ),
    usefulness=USEFULNESS,
    fit=FIT,
    gate=GATE,
    listing=LISTING,
)


def build_quality(
    config: Config,
    forecast: Forecast,
    measurements: Measurements,
    counts: RowCounts,
    gate: Mapping[str, Any],
) -> dict[str, Any]:
    """The section `quality`."""
    listing = build_listing(config, measurements, counts)
    return {
        "explanation": EXPLANATION + (AFTER_CHOICES if measurements.selections else ""),
        "prediction": build_prediction(forecast),
        "usefulness": build_usefulness(config, measurements, count_rows(counts)),
        "fit": build_fit(config, measurements, counts),
        "gate": build_gate(gate),
        **({} if listing is None else {"listing": listing}),
    }


def build_prediction(forecast: Forecast) -> dict[str, Any]:
    """The part `prediction` of the section; figures that do not exist are left out."""
    single = {
        "noise_sd_per_cell": forecast.noise_sd_per_cell,
        "phantom_records_if_clipped": forecast.phantom_records_if_clipped,
    }
    return {
        **{name: value for name, value in single.items() if value is not None},
        "queries": [
            {"attributes": list(query.attributes), "cells": query.cells, **_bounds(query)}
            for query in forecast.queries
        ],
        "ranges": [
            {
                "attributes": list(query.attributes),
                "kind": query.kind,
                "intervals": query.cells,
                **_bounds(query),
            }
            for query in forecast.ranges
        ],
        "unanswered": [list(attributes) for attributes in forecast.unanswered],
        "basis": "public",
    }


def _bounds(query: QueryForecast) -> dict[str, Any]:
    return {
        "sd_records": query.sd_records,
        "half_width_95_records": query.half_width_95,
        "simultaneous_95_records": query.simultaneous_95,
        "law": query.law,
    }
