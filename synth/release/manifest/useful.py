"""What a release is good for, in words: the forecast for the published number of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from synth.config import Config
from synth.measurements import Measurements
from synth.plan.problem import problem_of
from synth.plan.usefulness import GOOD, NOISE, POOR, ROUGH, usefulness
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


def build_usefulness(config: Config, measurements: Measurements, rows: int) -> dict[str, Any]:
    """The part `usefulness` of the section `quality`.

    Privacy: a function of the configuration, of which tables were measured, and of the published
    number of rows.
    """
    events = [table.event for table in measurements.tables]
    found = usefulness(problem_of(config), events, rows)
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
