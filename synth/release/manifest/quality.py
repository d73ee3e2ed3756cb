"""Accuracy: what was predicted before the data were opened, and the fit to the noisy tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from synth.config.types import Config
from synth.measurements import Measurements
from synth.release.manifest.fit import FIT, build_fit
from synth.release.manifest.schema_terms import basis, listing, real, record, text, whole

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from synth.plan import Forecast

QUALITY = record(
    "How accurate the release is; no figure is computed from the raw data.",
    explanation=text("How to read the figures."),
    prediction=record(
        "Errors of the noisy measurements, known before the raw data were opened.",
        noise_sd_per_cell=real("The standard deviation of the noise in one cell, in records."),
        phantom_records_if_clipped=real(
            "Records that setting negative counts to zero would have invented; not done here."
        ),
        queries=listing(
            "One entry for every table of the workload.",
            record(
                "One table of the workload, as a sum over the noisy measurements.",
                attributes=listing("The table's attributes.", text("An attribute's name.")),
                cells=whole("The number of cells.", minimum=1),
                sd_records=real("The standard deviation of one cell's noise, in records."),
                half_width_95_records=real(
                    "Half the width of a 95 % interval for one cell, in records."
                ),
                simultaneous_95_records=real(
                    "The bound that holds for all cells of the table at once with probability "
                    "95 %, in records."
                ),
            ),
        ),
        basis=basis("public"),
    ),
    fit=FIT,
)


def build_quality(
    config: Config,
    forecast: Forecast,
    measurements: Measurements,
    counts: NDArray[np.int64],
) -> dict[str, Any]:
    """The section `quality`."""
    return {
        "explanation": (
            "the prediction is about the noisy measurements, whose errors are known exactly; the "
            "published rows were fitted to them, and the fit says how far they are from them: "
            "about one standard deviation where there is noise only, less where the rows follow "
            "the measurements closely"
        ),
        "prediction": {
            "noise_sd_per_cell": forecast.noise_sd_per_cell,
            "phantom_records_if_clipped": forecast.phantom_records_if_clipped,
            "queries": [
                {
                    "attributes": list(query.attributes),
                    "cells": query.cells,
                    "sd_records": query.sd_records,
                    "half_width_95_records": query.half_width_95,
                    "simultaneous_95_records": query.simultaneous_95,
                }
                for query in forecast.queries
            ],
            "basis": "public",
        },
        "fit": build_fit(config, measurements, counts),
    }
