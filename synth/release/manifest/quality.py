"""How accurate a release is, and what it is good for, in figures and in words.

What the gate found: whether the published counts agree with the noisy tables. What is lost where
only some cells are listed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from synth.config import Config
from synth.domain.counts import Counts
from synth.measurements import Measurements
from synth.planning import Forecast, plan_schedule
from synth.planning.listed import expected_false_cells
from synth.planning.look import problem_to_plan
from synth.planning.usefulness import GOOD, NOISE, POOR, ROUGH, usefulness
from synth.release.manifest.figures import (
    COLUMNS,
    MARGINAL,
    NOISY_TABLE,
    RANGE_KINDS,
    UNANSWERED,
    Figures,
    best_and_worst,
)
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

DIGITS = 2
"""More are not known; and last digits of an arithmetic cannot show."""

USEFULNESS_EXPLANATION = (
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
        "explanation": USEFULNESS_EXPLANATION,
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


KINDS = {
    "sum": "a count or a sum of counts",
    "spread": "all counts of a table together",
    "listed cell": "a listed cell without rows",
    "listed cells": "the number of listed cells without rows",
}

GATE_EXPLANATION = (
    "the whole counts, as published, against the noisy tables: if they were the true counts, noise "
    "would pass the limits in fewer than one of a million releases. See docs/estimation.md"
)

GATE_DEFINITIONS = {
    "disagreement": record(
        "One comparison of published counts with a noisy table.",
        kind=one_of("What was compared.", *KINDS),
        event=whole("The noisy table, as a place in `accounting.events`."),
        attributes=attributes("The attributes of the sums; none for the total."),
        in_sd=real(
            "How far off, in standard deviations of the noise of the sum; for all counts of a "
            "table together the mean over them."
        ),
        in_limits=real("The same as a part of the limit: above 1 is a contradiction."),
    )
}

_VERDICT = {
    "comparisons": whole("How many sums were compared."),
    "contradicted": whole("In how many tables and sums of tables a limit was passed."),
    "largest": defined("disagreement", "What came nearest to its limit, or furthest beyond it."),
}

GATE = record(
    "Whether the published counts agree with the noisy tables that they were fitted to.",
    ("before", "largest"),
    explanation=text("How to read the figures."),
    outcome=one_of(
        "`agree`: the counts agreed as they were estimated. `raked`: they did not, and were scaled "
        "until they did. `rebuilt`: they were made anew from the sums of the noisy tables. "
        "`public knowledge`: they do not agree, because public totals or impossible cells "
        "contradict the noisy tables themselves, and these hold exactly.",
        "agree",
        "raked",
        "rebuilt",
        "public knowledge",
    ),
    **_VERDICT,
    before=record(
        "The same for the counts as they were estimated; left out if these are published.",
        ("largest",),
        **_VERDICT,
    ),
    basis=basis("post-processing"),
)

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
AFTER_LOOK = (
    "; the prediction is about the tables that were measured, and these were planned by a noisy "
    "look, so they were not known before it"
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


def build_gate(report: Mapping[str, Any]) -> dict[str, Any]:
    """The part `gate` of the section `quality`."""
    return {"explanation": GATE_EXPLANATION, **report, "basis": "post-processing"}


def gate_sentence(gate: Mapping[str, Any]) -> str:
    """One sentence for the page and the data card."""
    largest = gate.get("largest")
    if largest is None:
        return "Nothing was measured that the rows could contradict."
    where = " x ".join(largest["attributes"]) or "the total"
    nearest = (
        f"What came nearest to its limit, {KINDS[largest['kind']]} ({where}), is off by "
        f"{largest['in_sd']:.1f} standard deviations of the noise, "
        f"{largest['in_limits']:.2g} of what is allowed."
    )
    return f"{_OUTCOMES[gate['outcome']].format(gate['comparisons'])} {nearest}"


_OUTCOMES = {
    "agree": "The rows agree with the noisy tables in all of {:,} comparisons.",
    "raked": "The rows agree with the noisy tables in all of {:,} comparisons, after they were "
    "scaled to sums that the first estimate contradicted.",
    "rebuilt": "The rows agree with the noisy tables in all of {:,} comparisons, but the first "
    "estimate did not: they were made anew from the sums of the noisy tables, and combinations of "
    "many columns are made up.",
    "public knowledge": "Careful: the public totals or the impossible cells contradict the noisy "
    "tables. The rows keep to them, and contradict the noisy tables in some of {:,} comparisons.",
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
        "explanation": EXPLANATION
        + (AFTER_CHOICES if measurements.selections else "")
        + (AFTER_LOOK if measurements.look is not None else ""),
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
