"""What is lost where only cells above a threshold are listed."""

from __future__ import annotations

from typing import Any

from synth.config import Config
from synth.domain.counts import Counts
from synth.measurements import Measurements
from synth.plan.listed import expected_false_cells
from synth.release.manifest.schema_terms import basis, real, record, text, whole

EXPLANATION = (
    "cells whose noisy count is below the threshold are not listed. Rows in listed cells follow "
    "their noisy counts; all other rows come from a model of the smaller noisy tables: their "
    "combinations of columns that no smaller table holds together are made up"
)

LISTING = record(
    "What is lost where only cells of the universe above a threshold are listed; left out where "
    "every cell was measured.",
    explanation=text("How to read the figures."),
    event=whole("The list, as a place in `accounting.events`."),
    threshold=whole("The smallest noisy count that is listed.", minimum=1),
    expected_false_cells=real(
        "How many empty cells are listed on average, known before the data were opened."
    ),
    listed_cells=whole("The number of listed cells."),
    listed_cells_with_rows=whole(
        "The number of listed cells that have rows; the others are probably empty."
    ),
    rows_in_listed_cells=whole("The number of rows in listed cells."),
    rows_from_the_model=whole("The number of rows in all other cells."),
    basis=basis("post-processing"),
)


def build_listing(
    config: Config, measurements: Measurements, counts: Counts
) -> dict[str, Any] | None:
    """The part `listing` of the section `quality`; None if every cell was measured."""
    for number, table in enumerate(measurements.tables):
        false_cells = expected_false_cells(table.event)
        if table.codes is None or false_cells is None:
            continue
        rows = counts.at(tuple(table.codes.T), config.universe.shape)
        inside = int(rows.sum())
        return {
            "explanation": EXPLANATION,
            "event": number,
            "threshold": table.event.threshold,
            "expected_false_cells": false_cells,
            "listed_cells": len(rows),
            "listed_cells_with_rows": int((rows > 0).sum()),
            "rows_in_listed_cells": inside,
            "rows_from_the_model": counts.total - inside,
            "basis": "post-processing",
        }
    return None
