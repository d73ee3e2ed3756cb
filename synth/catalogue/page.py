"""`index.html`: all releases of a directory for people; one file without a script."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from functools import cache
from typing import Any

from jinja2 import Environment

from synth.catalogue.charts import (
    INCREMENT,
    MOST_POINTS,
    MOST_SHOWN,
    ColumnTrends,
    Trend,
    column_trends,
    period_names,
    places_of,
    records_trend,
    spending,
)
from synth.catalogue.document import FEED_FILE, Release, Series, accounts_of, grouped_series
from synth.release.page.render import page_environment

PAGE_FILE = "index.html"
PACKAGE = "synth.catalogue"
TEMPLATE = "index.html.jinja"
OWN_STYLE = "catalogue.css"

OPEN_COLUMNS = 2
"""Columns whose trends are unfolded when the page opens."""

MOST_LISTED = 12
"""Releases of a series that its table shows unfolded."""

LOSSES = {
    "release": "one release",
    "horizon": "all until the horizon",
    "window": "any window of periods",
    "for_ever": "all for ever",
}
"""What a manifest says of a series, in words; in this order."""

DECIMALS = Decimal("0.0001")


def render_page(document: dict[str, Any]) -> bytes:
    """Render the page from the document of the index.

    Ensures: the same document gives the same bytes; no text in it can become markup; nothing is
    loaded from anywhere, no program is in it.
    """
    every = grouped_series(document["releases"])
    replaced = {
        old: release["release_id"]
        for release in reversed(document["releases"])
        for old in release["supersedes"]
    }
    text = (
        _environment()
        .get_template(TEMPLATE)
        .render(
            d=document,
            feed=FEED_FILE,
            series=[_shown(each) for each in every if len(each.releases) > 1],
            singles=[each.last for each in every if len(each.releases) == 1],
            accounts=[spending(each) for each in accounts_of(document["releases"])],
            replaced=replaced,
            losses=list(LOSSES.items()),
            open_columns=OPEN_COLUMNS,
            most_listed=MOST_LISTED,
        )
    )
    return text.encode()


def _shown(series: Series) -> dict[str, Any]:
    """What the template needs of a series of several releases."""
    names = period_names(series)
    first, last = places_of(series)
    return {
        "series": series,
        "last": series.last,
        "first_period": names[0],
        "last_period": names[-1],
        "drawn_from": names[-MOST_POINTS:][0],
        "has_trend": first != last,
        "records": records_trend(series),
        "columns": column_trends(series),
        "new_records": records_trend(series, INCREMENT),
        "new_columns": column_trends(series, INCREMENT),
        "periods": names[-MOST_SHOWN:],
        "lines": list(zip(names, series.releases, strict=True))[::-1],
        "without": _without_tables(series),
    }


def _without_tables(series: Series) -> list[tuple[str, str]]:
    """Releases without tables in the index, and why; the newest first."""
    return [
        (release["release_id"], release["why"])
        for release in reversed(series.releases)
        if "why" in release
    ]


@cache
def _environment() -> Environment:
    environment = page_environment(PACKAGE, OWN_STYLE)
    environment.filters.update(
        exact=shown_number, interval=interval, address=address, heading=heading
    )
    return environment


def shown_number(exact: dict[str, str]) -> str:
    """An exact number in few digits; marked, and rounded up, where these are not all."""
    value = Fraction(exact["fraction"])
    number = Decimal(exact["decimal"]).quantize(DECIMALS, rounding=ROUND_CEILING)
    text = f"{number.normalize():f}"
    return text if Fraction(text) == value else f"≤ {text}"


def interval(trend: Trend) -> str:
    """The interval of the newest estimate."""
    return f"{trend.last.low:,} to {trend.last.high:,}"


def heading(column: ColumnTrends) -> str:
    """What a column is called above its trends."""
    return column.title or column.column


def address(release: Release) -> str:
    """Where the page of a release is, from the index."""
    return f"{release['release_id']}/{release['page']}"
