"""Accuracy: what was predicted before the data were opened, and the fit to the noisy tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from synth.config import Config
from synth.domain.counts import Counts
from synth.measurements import Measurements
from synth.plan import Forecast
from synth.release.manifest.figures import (
    COLUMNS,
    MARGINAL,
    NOISY_TABLE,
    RANGE_KINDS,
    UNANSWERED,
    Figures,
    best_and_worst,
)
from synth.release.manifest.gate import GATE, GATE_DEFINITIONS, build_gate
from synth.release.manifest.listed import LISTING, build_listing
from synth.release.manifest.schema_terms import (
    Schema,
    attributes,
    basis,
    defined,
    listing,
    one_of,
    real,
    record,
    text,
    whole,
)
from synth.release.manifest.useful import USEFULNESS, build_usefulness

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


_ERROR = ("sd_records", "half_width_95_records", "simultaneous_95_records", "law")
_RESIDUAL = ("event", "rms_residual_records")
_RESIDUAL_IN_SD = (*_RESIDUAL, "rms_residual_in_sd")

_TERMS: dict[str, Schema] = {
    "cells": whole(COLUMNS["cells"][1], minimum=1),
    "law": one_of(COLUMNS["law"][1], "exact", "scaled", "normal"),
    "event": whole(COLUMNS["event"][1]),
    "half_width_95_records": whole(COLUMNS["half_width_95_records"][1]),
    "simultaneous_95_records": whole(COLUMNS["simultaneous_95_records"][1]),
}


def _line(description: str, *names: str) -> Schema:
    """Some figures of one line of `quality.parquet`."""
    terms = {name: _TERMS.get(name, real(COLUMNS[name][1])) for name in names}
    return record(description, attributes=attributes(COLUMNS["attributes"][1]), **terms)


QUALITY_DEFINITIONS = {
    "predicted": _line("What was predicted of one table or set of ranges.", "cells", *_ERROR),
    "fitted_query": _line("How far one table of the workload is from the noisy one.", *_RESIDUAL),
    "fitted_table": _line("How far the counts are from one noisy table.", *_RESIDUAL_IN_SD),
    **GATE_DEFINITIONS,
}


def _by_columns(description: str, of: str, figure: str, **more: Schema) -> Schema:
    """The best and the worst by number of columns; `quality.parquet` has all of them."""
    return listing(
        f"One entry for every number of columns{description}; quality.parquet has all, one by one.",
        record(
            "Those of one number of columns.",
            **more,
            columns=whole("The number of columns."),
            number=whole("How many there are.", minimum=1),
            best=defined(of, f"The one of the least `{figure}`; of equal ones the first."),
            worst=defined(of, f"The one of the largest `{figure}`; of equal ones the first."),
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
        queries=_by_columns(
            " of the workload's tables that the noisy tables answer", "predicted", "sd_records"
        ),
        ranges=_by_columns(
            " and kind of the workload's sets of range queries that the noisy tables answer",
            "predicted",
            "sd_records",
            kind=one_of("Which intervals.", *RANGE_KINDS),
        ),
        unanswered=whole(
            "The number of tables and range queries of the workload that no sum of the noisy "
            "tables answers: what the rows say of them comes from the model, without a figure for "
            "its error; quality.parquet names them."
        ),
        basis=basis("public"),
    ),
    usefulness=USEFULNESS,
    fit=record(
        "How far the published counts are from the noisy measurements.",
        tables=_by_columns(
            " of the noisy tables; of a table with a threshold only the listed cells count",
            "fitted_table",
            "rms_residual_in_sd",
        ),
        queries=_by_columns(
            " of the workload's tables that are sums over one noisy table",
            "fitted_query",
            "rms_residual_records",
        ),
        basis=basis("post-processing"),
    ),
    gate=GATE,
    listing=LISTING,
)


def build_quality(
    config: Config,
    forecast: Forecast,
    measurements: Measurements,
    counts: Counts,
    gate: Mapping[str, Any],
    figures: Sequence[Figures],
) -> dict[str, Any]:
    """The section `quality`."""
    listing = build_listing(config, measurements, counts)
    return {
        "explanation": EXPLANATION + (AFTER_CHOICES if measurements.selections else ""),
        "prediction": build_prediction(forecast, figures),
        "usefulness": build_usefulness(config, measurements, counts.total),
        "fit": build_fit(figures),
        "gate": build_gate(gate),
        **({} if listing is None else {"listing": listing}),
    }


def build_prediction(forecast: Forecast, figures: Sequence[Figures]) -> dict[str, Any]:
    """The part `prediction` of the section; figures that do not exist are left out."""
    single = {
        "noise_sd_per_cell": forecast.noise_sd_per_cell,
        "phantom_records_if_clipped": forecast.phantom_records_if_clipped,
    }
    marginals = [each for each in figures if each.kind == MARGINAL]
    ranges = [each for each in figures if each.kind in RANGE_KINDS]
    names = ("attributes", "cells", *_ERROR)
    return {
        **{name: value for name, value in single.items() if value is not None},
        "queries": [told for _, told in best_and_worst(marginals, *names, by="sd_records")],
        "ranges": [
            {"kind": kind, **told} for kind, told in best_and_worst(ranges, *names, by="sd_records")
        ],
        "unanswered": sum(each.kind == UNANSWERED for each in figures),
        "basis": "public",
    }


def build_fit(figures: Sequence[Figures]) -> dict[str, Any]:
    """The part `fit` of the section."""
    tables = [each for each in figures if each.kind == NOISY_TABLE]
    queries = [each for each in figures if each.kind == MARGINAL and each.event is not None]
    in_sd, in_records = _RESIDUAL_IN_SD[-1], _RESIDUAL[-1]
    return {
        "tables": [
            told for _, told in best_and_worst(tables, "attributes", *_RESIDUAL_IN_SD, by=in_sd)
        ],
        "queries": [
            told for _, told in best_and_worst(queries, "attributes", *_RESIDUAL, by=in_records)
        ],
        "basis": "post-processing",
    }
