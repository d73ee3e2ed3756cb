"""The data card: README.md of a release, rendered from its manifest alone."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from scipy.special import stdtrit

from synth.domain import MISSING
from synth.domain.attribute import with_value_label
from synth.privacy.concentrated import decimal
from synth.privacy.meaning import significant_up
from synth.release.documents.facts import labelled_columns, labelled_tables, series_sentences
from synth.release.documents.snippets import load_snippets, replicate_snippets, table_snippets
from synth.release.manifest.quality import gate_sentence, useful_sentences

TEMPLATE = "data_card.md.jinja"
SHOWN_LABELS = 8
SHOWN_MEANINGS = 100
"""Of a column whose values have labels, so many are shown: that list is what readers look up."""
SHOWN_TABLES = 20
SHOWN_ORDERS = 3
SHOWN_DIGITS = 9
MECHANISMS = {
    "discrete-laplace": "discrete Laplace",
    "discrete-gaussian": "discrete Gaussian",
    "partition-selection": "discrete Laplace on filled cells",
}


def render_data_card(manifest: dict[str, Any]) -> bytes:
    """Render the card from every section of the manifest; of `files` from the noisy tables alone.

    Ensures: the same manifest gives the same bytes, so a verifier can render it again.
    """
    prediction = manifest["quality"]["prediction"]
    columns = manifest["domain"]["columns"]
    replicates = manifest["post_processing"].get("replicates")
    formats = manifest["configuration"]["output"]["formats"]
    labelled = labelled_tables(manifest)
    delta = manifest["guarantee"]["privacy_parameters"]["delta"]
    text = _template().render(
        m=manifest,
        approximate=Fraction(delta["fraction"]) != 0,
        add_remove=manifest["guarantee"]["neighbours"] == "add-remove",
        tables=[_table(n, event) for n, event in enumerate(manifest["accounting"]["events"])],
        shown_tables=SHOWN_TABLES,
        look=_look(manifest["accounting"].get("look")),
        columns=labelled_columns(manifest),
        snippets=load_snippets(columns, formats),
        table=table_snippets(max(labelled, key=lambda each: each["rows"])) if labelled else None,
        labelled=labelled,
        with_errors=replicates and replicate_snippets(columns, replicates),
        orders=[each for each in prediction["queries"] if each["columns"] <= SHOWN_ORDERS],
        useful=useful_sentences(manifest),
        series=series_sentences(manifest),
        agreement=gate_sentence(manifest["quality"]["gate"]),
        ranges=prediction["ranges"],
        replicates=_replicates(manifest["post_processing"].get("replicates")),
    )
    return text.encode()


@cache
def _template() -> Template:
    environment = Environment(  # noqa: S701 (Markdown, escaped by `cell` and `line`)
        loader=PackageLoader("synth.release.documents", "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(cell=_cell, line=_line, values=_values, short=_short, exact=exact)
    return environment.get_template(TEMPLATE)


def _line(text: str) -> str:
    """Text of the configuration inside a paragraph: no markup of its own, no line ends."""
    escaped = " ".join(text.split())
    for character in "\\`*_[]<>#|":
        escaped = escaped.replace(character, "\\" + character)
    return escaped


def _cell(text: str) -> str:
    """Text inside a cell of a table, as code where that is possible."""
    flat = " ".join(text.split()) or " "
    if "`" in flat:
        return _line(flat)
    return "`" + flat.replace("|", "\\|") + "`"


def _values(column: dict[str, Any]) -> str:
    labels = column["labels"][: column["codes"] - column["has_missing"]]
    meanings = column["value_labels"]
    most = SHOWN_MEANINGS if meanings else SHOWN_LABELS
    said = [_described(label, meanings) for label in labels]
    shown = said if len(said) <= most else [*said[:3], "...", *said[-2:]]
    missing = with_value_label(" or missing", _line(meanings.get(MISSING, "")))
    return ", ".join(shown) + (missing if column["has_missing"] else "")


def _described(label: str, meanings: dict[str, str]) -> str:
    return with_value_label(_cell(label), _line(meanings.get(label, "")))


def exact(number: dict[str, str]) -> str:
    """The decimal form where it is exact, else the fraction."""
    decimal, fraction = number["decimal"], number["fraction"]
    return decimal if Fraction(decimal) == Fraction(fraction) else fraction


def _short(value: float) -> str:
    return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def _table(number: int, event: dict[str, Any]) -> dict[str, Any]:
    """A noisy table as the card shows it."""
    budget = "rho" if "rho" in event else "epsilon"
    resolutions = zip(event["table"], event["resolutions"], event["coarsening"], strict=True)
    return {
        "number": number,
        "parts": [
            {"name": name, "resolution": resolution if coarsening else ""}
            for name, resolution, coarsening in resolutions
        ],
        "cells": event["cells"],
        "listed": event.get("listed_cells"),
        "threshold": event.get("threshold"),
        "noise": f"{MECHANISMS[event['mechanism']]}, {budget} {_brief(event[budget])}",
        "sd": math.sqrt(event["variance"]),
    }


def _replicates(section: dict[str, Any] | None) -> dict[str, Any] | None:
    """The section of the replicates, with the quantile of Student's law for their intervals."""
    if section is None:
        return None
    return section | {"quantile": f"{stdtrit(section['number'], 0.975):.2f}"}


def _look(look: dict[str, Any] | None) -> list[str]:
    """The noisy counts of a look, in words; none where there was no look."""
    if look is None:
        return []
    firsts = look["first_places"]
    ends = [f"to {later - 1:,} of their cell" for later in firsts[1:]] + ["on"]
    counts = look["noisy_counts"]
    classes = [
        f"{count:,} records in places {first:,} {end}"
        if end != "on"
        else f"{count:,} in places from {first:,} on"
        for count, first, end in zip(counts, firsts, ends, strict=False)
    ]
    if not look["pairs"]:
        return classes
    pairs = len(look["pairs"])
    mean = f", a mean of {pairs:,} pairs of columns" if pairs > 1 else ""
    apart = f"{2 * counts[-1]:,} in the wrong cells if columns were independent{mean}"
    return [*classes, apart]


def _brief(number: dict[str, str]) -> str:
    """The exact number if it is short, else six digits of it, rounded up."""
    short = exact(number)
    if len(short) <= SHOWN_DIGITS:
        return short
    return f"{significant_up(decimal(Fraction(number['fraction']))):g}"
