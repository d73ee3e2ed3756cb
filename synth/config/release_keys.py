"""The keys of `release`: what the release is called, who answers for it, and what is said of it."""

from __future__ import annotations

from synth.config.rules import COVERAGE, LANGUAGE, RELEASE_ID, WEB_ADDRESS
from synth.config.scalars import Choice, Text
from synth.config.shapes import Key, ListOf, Record
from synth.config.texts import line, prose

DATA_SOURCE_TYPES = ("Static", "Dynamic")
RELEASE_TYPES = ("One release", "Many releases")
"""The words of the OpenDP deployments registry."""


def _lines(description: str, item: str, noun: str) -> ListOf:
    return ListOf(description, line(item), minimum=1, maximum=100, noun=noun)


def _passages(description: str, item: str) -> ListOf:
    return ListOf(description, prose(item), minimum=1, maximum=100, noun="passages")


REQUIRED = (
    Key(
        "id",
        Text(
            "Name of the release and its folder: a-z, 0-9 and hyphens; may hold {period}",
            rules=(RELEASE_ID,),
            max_length=100,
        ),
        required=True,
    ),
    Key("title", line("Title for people"), required=True),
    Key("description", prose("What the published table is about"), required=True),
    Key(
        "curators",
        _lines("Who publishes", "One organisation or person", "names"),
        required=True,
    ),
    Key("contact", line("Where questions go: an address that is published"), required=True),
    Key("intended_use", prose("What the release is good for"), required=True),
    Key("region", line("The region that the records describe"), required=True),
    Key("sector", line("The field of activity, such as Government"), required=True),
    Key("license", line("The licence of the release, such as CC-BY-4.0"), required=True),
)

FINDING = (
    Key("keywords", _lines("Words to find the release by", "A keyword", "keywords")),
    Key(
        "language",
        Text("Language of titles and labels, as in BCP 47; else en", (LANGUAGE,), 35),
    ),
    Key(
        "homepage",
        Text(
            "Address of the release on the web; with / at its end, that of its folder",
            (WEB_ADDRESS,),
            1_000,
        ),
    ),
    Key("cite_as", prose("How to cite the release; else curators, year, title and id")),
    Key(
        "supersedes",
        ListOf(
            "Earlier releases that this one replaces",
            line("The id of a release"),
            minimum=1,
            maximum=100,
            noun="ids",
        ),
    ),
    Key(
        "temporal_coverage",
        Text(
            "The time that the records describe: 2020, 2020-03, 2020-03-31 or 2020/2022",
            (COVERAGE,),
            21,
        ),
    ),
)

PEOPLE = (
    Key("publisher", line("Who publishes; else the first curator")),
    Key(
        "registry_authors",
        _lines("Who filled in the record of the registry; else the curators", "A name", "names"),
    ),
    Key("approvals", _lines("Who approved the release, as is to be published", "One", "approvals")),
    Key("sources", _lines("Papers and pages about the release", "A reference", "references")),
)

USE = (
    Key("out_of_scope_use", _passages("Uses that are warned against, beside synth's own", "A use")),
    Key("limitations", _passages("Limitations, beside those of the method", "A limitation")),
    Key("biases", _passages("Biases of the raw data, beside those of the method", "A bias")),
)

ORIGIN = (
    Key("derived_from", line("Public name of the data that the release was derived from")),
    Key("collection", prose("How the raw data came to be")),
    Key(
        "personal_sensitive_information",
        prose("Which columns describe sensitive traits of persons"),
    ),
    Key(
        "data_source_type",
        Choice("Whether new records come in over time; else Static", DATA_SOURCE_TYPES),
    ),
    Key(
        "release_type",
        Choice(
            "Whether the same people are published about again; else One release", RELEASE_TYPES
        ),
    ),
    Key("preprocessing", prose("What was done with or learnt from the raw data before synth")),
)

LIFE = (
    Key("access_controls", prose("Who can reach the raw data, and what keeps others out")),
    Key("retention", prose("How long raw data that are kept remain")),
    Key("maintenance", prose("Whether and how the release is kept up")),
    Key("errata", prose("Where errors are reported and corrections announced")),
    Key("withdrawal", prose("When the release would be withdrawn, and how that is announced")),
)

RELEASE = Record(
    "What the release is called and who answers for it",
    (*REQUIRED, *FINDING, *PEOPLE, *USE, *ORIGIN, *LIFE),
)
