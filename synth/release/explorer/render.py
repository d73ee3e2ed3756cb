"""The page that answers queries, written: one file with its data, its style and its programs."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from synth.config import Config
from synth.domain.counts import Counts
from synth.estimate import Replicates
from synth.measurements import Measurements
from synth.release.explorer.content import explorer_content
from synth.release.page.render import STYLE, printable

PACKAGE = "synth.release.explorer"
TEMPLATE = "explore.html.jinja"
OWN_STYLE = "explore.css"
SCRIPTS = (
    "noise_law.js",
    "measured_counts.js",
    "intervals.js",
    "replicates.js",
    "questions.js",
    "answers.js",
    "page.js",
    "verification.js",
    "folder_form.js",
)
"""The programs in the order in which they build upon each other."""


def render_explorer(
    config: Config,
    measurements: Measurements,
    counts: Counts,
    *,
    replicates: Replicates | None = None,
    measurements_sha256: str,
) -> bytes:
    """Render the page from the configuration, the noisy tables, published counts and replicates.

    Privacy: a function of what is published beside it.
    Ensures: the same arguments give the same bytes; no text of the configuration can become markup
    or program; the page's own policy lets it load and send nothing, and run nothing but `SCRIPTS`.
    """
    environment = _environment()
    text = environment.get_template(TEMPLATE).render(
        title=config.release.title,
        release_id=config.release.id,
        has_replicates=replicates is not None,
        language=config.release.language,
        style=Markup(_style()),  # noqa: S704 (our own)
        script=Markup(scripts()),  # noqa: S704 (our own)
        content=_embedded(
            {"release_id": config.release.id, "measurements_sha256": measurements_sha256}
            | explorer_content(config, measurements, counts, replicates)
        ),
    )
    return text.encode()


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(PACKAGE, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=printable,
        keep_trailing_newline=True,
    )
    environment.filters.update(hash_source=_hash_source)
    return environment


@cache
def _style() -> str:
    """That of the release page, and what this one has more."""
    return _source(STYLE, package="synth.release.page") + _source(OWN_STYLE)


@cache
def scripts() -> str:
    """The programs as one text."""
    return "\n".join(_source(name) for name in SCRIPTS)


def _source(name: str, *, package: str = PACKAGE) -> str:
    return PackageLoader(package, "templates").get_source(_environment(), name)[0]


def _hash_source(text: str) -> str:
    """How a Content-Security-Policy names one text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _embedded(value: Any) -> Markup:
    """JSON in ASCII that no text in it can end: `<`, `>` and `&` are written as escapes."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 (escaped above)
