"""The JSON Schema of `series.json`; docs/schemas/series.schema.json holds it, by a test."""

from __future__ import annotations

from typing import Any

from synth.release.manifest.schema_terms import (
    DEFINITIONS,
    Schema,
    day,
    defined,
    flag,
    listing,
    record,
    sha256,
    text,
    whole,
)
from synth.release.manifest.series import LOSSES

RELEASE_ID = r"^[a-z0-9][a-z0-9-]*$"


def _numbers(what: str) -> dict[str, Schema]:
    """Estimates and intervals, one of each for every label."""
    return {
        "estimates": listing(f"{what}, estimated.", whole("In records.", minimum=0)),
        "lows": listing("Lower ends of the 95 % intervals.", whole("In records.", minimum=0)),
        "highs": listing("Upper ends of the 95 % intervals.", whole("In records.", minimum=0)),
    }


_TABLES = {
    "records": record("The number of records; lists of one number.", **_numbers("Records")),
    "tables": listing(
        "One table for every column that the noisy tables answer, in the order of columns.",
        record(
            "One column.",
            column=text("The column's name."),
            title=text("The column's title; may be empty."),
            level=text("The level of the column's hierarchy that is shown; empty if none is."),
            ordered=flag("Whether the values have an order."),
            labels=listing("The values, or groups of them.", text("A value or group.")),
            **_numbers("Records with each value"),
        ),
    ),
}

RELEASE = record(
    "One release: what its manifest says, and its one-way tables from its noisy measurements.",
    ("records", "tables", "increment", "why"),
    release_id=text("The release's id; also the name of its folder.", pattern=RELEASE_ID),
    title=text("The title."),
    description=text("What the data set is about."),
    language=text("The language of titles and labels, as in BCP 47."),
    version=text("The version of the release."),
    date_published=day("The day of publication (UTC)."),
    license=text("The licence of the data."),
    publisher=text("Who publishes."),
    contact=text("Where questions go."),
    supersedes=listing("The earlier releases that this one replaces.", text("A release's id.")),
    signed_by={
        "type": ["string", "null"],
        "description": "The id of the key whose signature the manifest bears; null if none.",
    },
    page=text("The file in the folder that is its page; empty if there is none."),
    base_url=text("The address of the directory of all releases, as this one states it; or empty."),
    rows=whole("The number of synthetic rows."),
    columns=whole("The number of columns."),
    unit=text("Whom the guarantee protects: a record or a person."),
    neighbours=text("The neighbouring relation."),
    privacy=defined("budget", "The guarantee of this release by itself."),
    account=record(
        "The account of its population, as its ledger stated it when the release was charged.",
        population=text("The population."),
        part=text("The part of the population that the release is about; empty if all."),
        place=whole("How many releases of the population were charged before."),
        cap=defined("budget", "The most that may ever be spent."),
        spent=defined("budget", "Spent on those whom it is about, this release included."),
    ),
    series={
        "anyOf": [
            record(
                "The series that its manifest says it is one of.",
                name=text("The series: the id with {period} in it."),
                period=text("The period of the release."),
                rows=text("`new`: the records of the period; `all`: all records so far."),
                in_words=text("The series in a line; may be empty."),
                conditions=listing(
                    "What its releases cost together, and under which condition.",
                    text("A sentence."),
                ),
                most_lost=record(
                    "What one unit loses at most.",
                    LOSSES,
                    release=defined("budget", "By one release, or all that share its charge."),
                    horizon=defined("budget", "By all releases of a horizon."),
                    window=defined("budget", "By any so many consecutive periods."),
                    for_ever=defined("budget", "By all releases that will ever be."),
                ),
            ),
            {"type": "null"},
        ]
    },
    manifest_sha256=sha256("SHA-256 of its manifest.json."),
    **_TABLES,
    increment=record(
        "Of a release of all records so far: those of its last period alone, where measured.",
        **_TABLES,
    ),
    why=text("Why there are no tables, where there are none."),
)


def catalogue_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of `series.json`."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Index of the releases in a directory",
        **record(
            "All releases of a directory, in series and accounts, from public files alone. "
            "Intervals hold the true count 95 times in 100, each by itself.",
            catalogue_version=text("The version of this schema.", pattern="^1$"),
            written_by=text("The program and its version."),
            feed_id=text("The id of feed.xml; it stays the same.", pattern="^urn:uuid:"),
            base_url=text("The address of the directory on the web, with / at its end; or empty."),
            publisher=text("Who published the newest release; empty without one."),
            updated=text("The day of the newest release; empty without one."),
            series=listing(
                "Releases that continue one another; the series of the newest release first.",
                record(
                    "One series, or a release by itself.",
                    name=text("The id of its releases, with {period} for the period."),
                    title=text("The title of its last release."),
                    is_cumulative=flag("Whether a release counts all records so far."),
                    releases=listing(
                        "Its releases, oldest period first.",
                        record(
                            "One.",
                            release_id=text("The release's id.", pattern=RELEASE_ID),
                            period=text("The period; empty if it has none."),
                        ),
                    ),
                ),
            ),
            accounts=listing(
                "What was spent on every population, as the manifests state it.",
                record(
                    "One population, or a part of it.",
                    population=text("The population."),
                    part=text("The part; empty if everybody."),
                    unit=text("Whom the guarantees protect: a record or a person."),
                    neighbours=text("The neighbouring relation."),
                    cap=defined("budget", "The most that may ever be spent."),
                    spent=defined("budget", "Spent until the last release here, it included."),
                    releases=listing(
                        "In the order in which they were charged.",
                        record(
                            "One.",
                            release_id=text("The release's id.", pattern=RELEASE_ID),
                            spent=defined("budget", "Spent until then, it included."),
                        ),
                    ),
                ),
            ),
            releases=listing("All releases, newest first.", RELEASE),
            left_out=listing(
                "Folders that look like releases and are none.",
                record("One.", folder=text("The folder."), why=text("Why it is left out.")),
            ),
        ),
        "$defs": {name: DEFINITIONS[name] for name in ("exact", "budget")},
    }
