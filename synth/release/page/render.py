"""The page, rendered from the manifest and the published counts."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from synth.domain.attribute import written
from synth.privacy.meaning import at_least, at_most
from synth.release.contents import PAGE
from synth.release.documents.data_card import MECHANISMS, exact
from synth.release.documents.facts import (
    labelled_columns,
    labelled_tables,
    licence_of,
    series_sentences,
)
from synth.release.documents.linked_data import linked_data
from synth.release.manifest.figures import Figures
from synth.release.manifest.quality import gate_sentence, is_warning, useful_sentences
from synth.release.page.accuracy import (
    CLEAR,
    MOST_TABLES,
    Crosstab,
    compared_pairs,
    each_pair,
    errors_by_order,
    single_half_widths,
    states,
    table_errors,
)
from synth.release.page.column_plot import plot_column, shorten, shown_labels
from synth.release.page.summary import Summary

TEMPLATE = "index.html.jinja"
STYLE = "style.css"
MOST_COLUMNS = 40
"""Columns that are drawn; of the others the page gives the names."""

MOST_DIGITS = 15
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
UNITS = ("kB", "MB", "GB", "TB")
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
ADDRESS = re.compile(r"[A-Za-z0-9.+_-]+@[A-Za-z0-9.-]+")


def render_page(
    manifest: dict[str, Any],
    summary: Summary,
    figures: Sequence[Figures],
    crosstabs: Sequence[Crosstab],
) -> bytes:
    """Render the page from the manifest, a summary of the published rows, figures and crosstabs.

    Privacy: a function of what is published beside it.
    Requires: the manifest has its section `files`; the entry of the page itself is not read.
    Ensures: the same arguments give the same bytes, so a verifier can render it again; no text
    of the configuration can become markup; nothing is loaded from anywhere.
    """
    columns = labelled_columns(manifest)
    errors = table_errors(figures, manifest["post_processing"]["rows"]["number"])
    widths = single_half_widths(errors)
    parameters = manifest["guarantee"]["privacy_parameters"]
    plots = [
        plot_column(column, counts, half_width=widths.get(column["name"]))
        for column, counts in zip(columns[:MOST_COLUMNS], summary.singles, strict=False)
    ]
    pairs = compared_pairs(summary, [column["name"] for column in columns], figures)
    files = [entry for entry in manifest["files"] if entry["path"] != PAGE]
    text = page_template(TEMPLATE).render(
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
        series=series_sentences(manifest),
        is_warning=is_warning(manifest),
        plots=plots,
        more_columns=[column["name"] for column in columns[MOST_COLUMNS:]],
        names=[shorten(column["name"]) for column in columns[: summary.compared]],
        pairs=pairs,
        states=states(pairs),
        clear=CLEAR,
        knows_pairs=any(pair.half_width is not None for pair in each_pair(pairs)),
        crosstabs=[_named(crosstab, columns) for crosstab in crosstabs],
        example=_example(crosstabs, columns),
        tables=_tables(manifest),
        steps=dict.fromkeys(step["description"] for step in manifest["post_processing"]["steps"]),
        files=files,
        labelled=labelled_tables(manifest),
    )
    return text.encode()


def _named(crosstab: Crosstab, columns: list[dict[str, Any]]) -> dict[str, Any]:
    """A crosstab with the names of its columns and values."""
    down, across = columns[crosstab.down], columns[crosstab.across]
    return {
        "down": shorten(down["title"] or down["name"]),
        "across": shorten(across["title"] or across["name"]),
        "heads": shown_labels(across),
        "lines": list(zip(shown_labels(down), crosstab.lines, strict=True)),
        "asked": _asked([across["name"], down["name"]]),
    }


def _example(crosstabs: Sequence[Crosstab], columns: list[dict[str, Any]]) -> str:
    """Columns to ask `synth errors` about, as it takes them on a command line."""
    if crosstabs:
        return _asked([columns[crosstabs[0].across]["name"], columns[crosstabs[0].down]["name"]])
    return _asked([columns[0]["name"]])


def _asked(names: Sequence[str]) -> str:
    return shlex.quote(",".join(map(written, names)))


def _tables(manifest: dict[str, Any]) -> list[tuple[str, int]]:
    """How many noisy tables were measured with each mechanism."""
    events = manifest["accounting"]["events"]
    return list(Counter(MECHANISMS[event["mechanism"]] for event in events).items())


@cache
def page_template(name: str) -> Template:
    """A page that is ready to be filled."""
    environment = page_environment("synth.release.page")
    environment.globals.update(data_block=_data_block)
    environment.filters.update(
        size=size, exact=exact, at_most=at_most, at_least=at_least, shorten=shorten
    )
    return environment.get_template(name)


def page_environment(package: str, *styles: str) -> Environment:
    """The templates of a package as pages: every text is escaped, and the style stands in them.

    That is the style of the release page, then those of the package itself.
    """
    environment = Environment(
        loader=PackageLoader(package, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=printable,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    sources = [("synth.release.page", STYLE), *((package, own) for own in styles)]
    style = "".join(
        PackageLoader(place, "templates").get_source(environment, name)[0]
        for place, name in sources
    )
    environment.globals.update(style=Markup(style))  # noqa: S704 (our own)
    environment.filters.update(whole=whole, sentence=sentence)
    environment.tests.update(address=is_address)
    return environment


def _data_block(value: Any) -> Any:
    """JSON that no text in it can end: `<`, `>` and `&` are written as escapes."""
    text = json.dumps(value, ensure_ascii=False, indent=1)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 (escaped above)


def sentence(text: str) -> str:
    """The text with a large first letter, the others as they are."""
    return text[:1].upper() + text[1:]


def whole(number: int) -> str:
    """A whole number with commas or, if it is very long, by its power of ten."""
    digits = str(number)
    if len(digits) <= MOST_DIGITS:
        return f"{number:,}"
    power = str(len(digits) - 1).translate(SUPERSCRIPTS)
    return f"{digits[0]}.{digits[1]} × 10{power}"


def size(size_bytes: int) -> str:
    """A size in decimal units, with two digits at least."""
    if size_bytes < 1000:
        return f"{size_bytes} bytes"
    amount, unit = Fraction(size_bytes, 1000), 0
    while amount >= 1000 and unit < len(UNITS) - 1:
        amount, unit = amount / 1000, unit + 1
    return f"{float(amount):.{1 if amount < 100 else 0}f} {UNITS[unit]}"


def printable(value: Any) -> Any:
    """Text without characters that a page may not hold; other values as they are."""
    if isinstance(value, str) and CONTROL.search(value):
        return CONTROL.sub("\N{REPLACEMENT CHARACTER}", value)
    return value


def is_address(text: str) -> bool:
    """Whether the text is nothing but an address of electronic mail."""
    return ADDRESS.fullmatch(text) is not None
