"""The page, rendered from the manifest and the published counts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from synth.privacy.meaning import at_least, at_most
from synth.release.contents import PAGE
from synth.release.data_card import MECHANISMS
from synth.release.manifest.figures import Figures
from synth.release.manifest.gate import gate_sentence
from synth.release.manifest.useful import is_warning, useful_sentences
from synth.release.metadata import linked_data
from synth.release.metadata.licences import licence_of
from synth.release.page.accuracy import (
    MOST_TABLES,
    errors_by_order,
    single_half_widths,
    table_errors,
)
from synth.release.page.column_plot import plot_column, shorten
from synth.release.page.summary import Summary
from synth.release.page.wording import exact, is_address, printable, size, whole

if TYPE_CHECKING:
    from jinja2 import Template

TEMPLATE = "index.html.jinja"
STYLE = "style.css"
MOST_COLUMNS = 40
"""Columns that are drawn; of the others the page gives the names."""

SHADES = 10


def render_page(manifest: dict[str, Any], summary: Summary, figures: Sequence[Figures]) -> bytes:
    """Render the page from the manifest, a summary of the published rows, and the figures.

    Privacy: a function of what is published beside it.
    Requires: the manifest has its section `files`; the entry of the page itself is not read.
    Ensures: the same arguments give the same bytes, so a verifier can render it again; no text
    of the configuration can become markup; nothing is loaded from anywhere.
    """
    columns = manifest["domain"]["columns"]
    errors = table_errors(figures, manifest["post_processing"]["rows"]["number"])
    widths = single_half_widths(errors)
    parameters = manifest["guarantee"]["privacy_parameters"]
    plots = [
        plot_column(column, counts, half_width=widths.get(column["name"]))
        for column, counts in zip(columns[:MOST_COLUMNS], summary.singles, strict=False)
    ]
    files = [entry for entry in manifest["files"] if entry["path"] != PAGE]
    text = _template().render(
        m=manifest,
        linked_data=linked_data(manifest | {"files": files}),
        licence=licence_of(manifest["identity"]["license"]).address,
        approximate=Fraction(parameters["delta"]["fraction"]) != 0,
        add_remove=manifest["guarantee"]["neighbours"] == "add-remove",
        beliefs=manifest["what_it_means"]["posteriors"],
        orders=errors_by_order(errors),
        errors=errors[:MOST_TABLES],
        more_errors=max(0, len(errors) - MOST_TABLES),
        agreement=gate_sentence(manifest["quality"]["gate"]),
        useful=useful_sentences(manifest),
        is_warning=is_warning(manifest),
        plots=plots,
        more_columns=[column["name"] for column in columns[MOST_COLUMNS:]],
        associations=_associations(summary, columns),
        tables=_tables(manifest),
        files=files,
    )
    return text.encode()


def _associations(summary: Summary, columns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines of the heat map: the name of a column, and its cells up to the diagonal."""
    return [
        {
            "name": shorten(columns[number]["name"]),
            "cells": [
                None if v is None else {"text": f"{v:.2f}", "shade": min(SHADES - 1, int(10 * v))}
                for v in line
            ],
        }
        for number, line in enumerate(summary.associations)
    ]


def _tables(manifest: dict[str, Any]) -> list[tuple[str, int]]:
    """How many noisy tables were measured with each mechanism."""
    events = manifest["accounting"]["events"]
    return list(Counter(MECHANISMS[event["mechanism"]] for event in events).items())


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    loader = PackageLoader("synth.release.page", "templates")
    environment = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        finalize=printable,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    style = loader.get_source(environment, STYLE)[0]
    environment.globals.update(style=Markup(style), data_block=_data_block)  # noqa: S704 (our own)
    environment.filters.update(
        whole=whole, size=size, exact=exact, at_most=at_most, at_least=at_least, shorten=shorten
    )
    environment.tests.update(address=is_address)
    return environment.get_template(TEMPLATE)


def _data_block(value: Any) -> Any:
    """JSON that no text in it can end: `<`, `>` and `&` are written as escapes."""
    from markupsafe import Markup

    text = json.dumps(value, ensure_ascii=False, indent=1)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 (escaped above)
