"""What the gate found: whether the published counts agree with the noisy tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from synth.release.manifest.schema_terms import (
    attributes,
    basis,
    defined,
    one_of,
    real,
    record,
    text,
    whole,
)

KINDS = {
    "sum": "a count or a sum of counts",
    "spread": "all counts of a table together",
    "listed cell": "a listed cell without rows",
    "listed cells": "the number of listed cells without rows",
}

EXPLANATION = (
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


def build_gate(report: Mapping[str, Any]) -> dict[str, Any]:
    """The part `gate` of the section `quality`."""
    return {"explanation": EXPLANATION, **report, "basis": "post-processing"}


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
