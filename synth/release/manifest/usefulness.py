"""What a release is good for, in words, and what is lost where only some cells are listed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from synth.config import Config
from synth.domain.counts import Counts
from synth.measurements import Measurements
from synth.planning import plan_schedule
from synth.planning.listed import expected_false_cells
from synth.planning.look import problem_to_plan
from synth.planning.usefulness import GOOD, NOISE, POOR, ROUGH, usefulness
from synth.release.manifest.schema_terms import basis, listing, one_of, real, record, text, whole

DIGITS = 2
"""More are not known; and last digits of an arithmetic cannot show."""

EXPLANATION = (
    "what a rough model of the fit expects of the tables that were measured, for as many records "
    "as there are rows: the share of the records that is in the wrong place, a mean over all "
    "tables of as many columns; it knows nothing of the data, and may be off by a factor of two "
    "to three, more rarely by five. See docs/planning.md"
)

USEFULNESS = record(
    "What the rows are good for, and what they are not.",
    explanation=text("How to read the figures."),
    records=whole("The number of records that is reckoned with: that of the rows."),
    tables=listing(
        "One entry for every kind of query of the workload and number of columns.",
        record(
            "Queries of one kind and number of columns.",
            kind=one_of("Which queries.", "marginal", "prefix", "range", "cells"),
            columns=whole("The number of columns.", minimum=1),
            share_misplaced=real(
                "The expected share of the records in the wrong place (total variation); of "
                "intervals the mean error of one, as a share of the records."
            ),
            verdict=one_of("The share in a word.", GOOD, ROUGH, POOR, NOISE),
            sentence=text("The same as a sentence."),
        ),
    ),
    basis=basis("post-processing"),
)

LISTING_EXPLANATION = (
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


def build_usefulness(config: Config, measurements: Measurements, rows: int) -> dict[str, Any]:
    """The part `usefulness` of the section `quality`.

    Privacy: a function of the configuration, of which tables were measured, and of the published
    number of rows.
    """
    events = measurements.table_events
    look = measurements.look
    noisy_counts = None if look is None else look.noisy_counts
    schedule = plan_schedule(config, noisy_counts)
    found = usefulness(problem_to_plan(config, noisy_counts), events, rows, schedule)
    return {
        "explanation": EXPLANATION,
        "records": rows,
        "tables": [
            {**each.to_plain(), "share_misplaced": float(f"{each.share:.{DIGITS}g}")}
            for each in found
        ],
        "basis": "post-processing",
    }


def useful_sentences(manifest: Mapping[str, Any]) -> list[str]:
    """For the top of page and data card: one sentence for every number of columns."""
    return [each["sentence"] for each in manifest["quality"]["usefulness"]["tables"]]


def is_warning(manifest: Mapping[str, Any]) -> bool:
    """Whether something that was asked for is poor or mostly noise."""
    tables = manifest["quality"]["usefulness"]["tables"]
    return any(each["verdict"] in (POOR, NOISE) for each in tables)


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
            "explanation": LISTING_EXPLANATION,
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
