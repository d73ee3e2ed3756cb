"""What a release is called and what is said of it, and the form in which it is written."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal, Self, get_args

from synth.config.schema.problems import Place, Report, quoted
from synth.config.schema.scalars import (
    NOT_EMPTY,
    ONE_LINE,
    Choice,
    FilePath,
    Rule,
    Text,
    Whole,
    line,
    prose,
)
from synth.config.schema.shapes import Key, ListOf, WordOrWhole, record
from synth.config.strategy import Strategy, cells_in_words
from synth.domain import DENSE_LIMIT_CELLS, Universe

DataSourceType = Literal["Static", "Dynamic"]
ReleaseType = Literal["One release", "Many releases"]
DATA_SOURCE_TYPES, RELEASE_TYPES = get_args(DataSourceType), get_args(ReleaseType)
"""The words of the OpenDP deployments registry."""
Format = Literal["csv", "parquet"]
MOST_REPLICATES = 200
Bins = Literal["uniform", "interval", "midpoint"]

RELEASE_ID = Rule(
    r"^(?:[a-z0-9]|\{period\})(?:[a-z0-9-]|\{period\})*$",
    "small letters a-z, digits and hyphens, not beginning with a hyphen; may hold {period}",
    why="the id names the release folder, the same on every system",
)

WEB_ADDRESS = Rule(
    r"^https?://[A-Za-z0-9.-]+(?::[0-9]+)?(?:/[A-Za-z0-9._~!$&()*+,;=:@%/-]*)?$",
    "an address such as https://example.org/data/people-2020/",
    why="it is published as a link, so it holds no blanks, quotes or queries",
)

LANGUAGE = Rule(
    "^[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$", "a language tag of BCP 47, such as en or pt-BR"
)

_DAY = r"[0-9]{4}(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12][0-9]|3[01]))?)?"
COVERAGE = Rule(
    rf"^{_DAY}(?:/{_DAY})?$",
    "a year, month or day, or two with / between, such as 2020-01/2020-12",
)


def _lines(description: str, item: str, noun: str) -> ListOf:
    return ListOf(description, line(item), minimum=1, maximum=100, noun=noun)


def _passages(description: str, item: str) -> ListOf:
    return ListOf(description, prose(item), minimum=1, maximum=100, noun="passages")


@dataclass(frozen=True)
class ReleaseConfig:
    """What the release is called and who answers for it."""

    id: Annotated[
        str,
        Text(
            "Name of the release and its folder: a-z, 0-9 and hyphens; may hold {period}",
            (RELEASE_ID,),
            100,
            dated=True,
        ),
    ]
    title: Annotated[str, line("Title for people")]
    description: Annotated[str, prose("What the published table is about")]
    curators: Annotated[
        tuple[str, ...], _lines("Who publishes", "One organisation or person", "names")
    ]
    contact: Annotated[str, line("Where questions go: an address that is published")]
    intended_use: Annotated[str, prose("What the release is good for")]
    region: Annotated[str, line("The region that the records describe")]
    sector: Annotated[str, line("The field of activity, such as Government")]
    license: Annotated[str, line("The licence of the release, such as CC-BY-4.0")]

    keywords: Annotated[
        tuple[str, ...], _lines("Words to find the release by", "A keyword", "keywords")
    ] = ()
    language: Annotated[
        str | None, Text("Language of titles and labels, as in BCP 47; else en", (LANGUAGE,), 35)
    ] = None
    homepage: Annotated[
        str | None,
        Text(
            "Address of the release on the web; with / at its end, that of its folder",
            (WEB_ADDRESS,),
            1_000,
        ),
    ] = None
    cite_as: Annotated[
        str | None, prose("How to cite the release; else curators, year, title and id")
    ] = None
    supersedes: Annotated[
        tuple[str, ...],
        _lines("Earlier releases that this one replaces", "The id of a release", "ids"),
    ] = ()
    temporal_coverage: Annotated[
        str | None,
        Text(
            "The time that the records describe: 2020, 2020-03, 2020-03-31 or 2020/2022",
            (COVERAGE,),
            21,
        ),
    ] = None

    publisher: Annotated[str | None, line("Who publishes; else the first curator")] = None
    registry_authors: Annotated[
        tuple[str, ...],
        _lines("Who filled in the record of the registry; else the curators", "A name", "names"),
    ] = ()
    approvals: Annotated[
        tuple[str, ...],
        _lines("Who approved the release, as is to be published", "One", "approvals"),
    ] = ()
    sources: Annotated[
        tuple[str, ...], _lines("Papers and pages about the release", "A reference", "references")
    ] = ()

    out_of_scope_use: Annotated[
        tuple[str, ...], _passages("Uses that are warned against, beside synth's own", "A use")
    ] = ()
    limitations: Annotated[
        tuple[str, ...], _passages("Limitations, beside those of the method", "A limitation")
    ] = ()
    biases: Annotated[
        tuple[str, ...], _passages("Biases of the raw data, beside those of the method", "A bias")
    ] = ()

    derived_from: Annotated[
        str | None, line("Public name of the data that the release was derived from")
    ] = None
    collection: Annotated[str | None, prose("How the raw data came to be")] = None
    personal_sensitive_information: Annotated[
        str | None, prose("Which columns describe sensitive traits of persons")
    ] = None
    data_source_type: Annotated[
        DataSourceType | None,
        Choice(
            "Whether new records come in over time; else Static, Dynamic in a series",
            DATA_SOURCE_TYPES,
        ),
    ] = None
    release_type: Annotated[
        ReleaseType | None,
        Choice(
            "Whether the same people are published about again; else One, in a series Many",
            RELEASE_TYPES,
        ),
    ] = None
    preprocessing: Annotated[
        str | None, prose("What was done with or learnt from the raw data before synth")
    ] = None

    access_controls: Annotated[
        str | None, prose("Who can reach the raw data, and what keeps others out")
    ] = None
    retention: Annotated[str | None, prose("How long raw data that are kept remain")] = None
    maintenance: Annotated[str | None, prose("Whether and how the release is kept up")] = None
    errata: Annotated[str | None, prose("Where errors are reported and corrections announced")] = (
        None
    )
    withdrawal: Annotated[
        str | None, prose("When the release would be withdrawn, and how that is announced")
    ] = None


PLACES_OF_DELIVERY = ("{folder}", "{directory}", "{release}")
"""What stands in a command of delivery for the folder of the release, the directory that it is in,
and its id."""


@dataclass(frozen=True)
class DeliverConfig:
    """What is started once a release is published, to bring it to where the public finds it."""

    command: Annotated[
        tuple[str, ...],
        ListOf(
            "A program and its arguments; no shell reads them, and {folder}, {directory} and "
            "{release} stand for the folder of the release, the folder of releases and the id",
            Text("One word of it", (NOT_EMPTY, ONE_LINE), 1_000),
            minimum=1,
            maximum=100,
            noun="words",
        ),
    ]
    timeout: Annotated[int, Whole("Seconds after which it is stopped", 1, 10**6)] = 600

    def checked(self, path: Place, report: Report) -> Self:
        """Only what is filled in stands in braces, and not where the program is named."""
        for index, word in enumerate(self.command):
            known = () if index == 0 else PLACES_OF_DELIVERY
            unknown = [each for each in re.findall(r"\{[a-z_]+\}", word) if each not in known]
            if unknown:
                report.add(
                    (*path, "command", index),
                    expected="in braces only " + ", ".join(known) if known else "a program",
                    why=f"nothing is filled in for {unknown[0]} here",
                )
        return self


@dataclass(frozen=True)
class OutputConfig:
    """Where the release goes and how its rows are written."""

    directory: Annotated[
        Path | None, Key(FilePath("The folder of releases, relative to this file"), private=True)
    ]
    """None when the configuration was read back from a manifest."""
    formats: Annotated[
        tuple[Format, ...],
        ListOf(
            "The data files",
            Choice("One format", get_args(Format)),
            minimum=1,
            maximum=2,
            noun="formats",
        ),
    ] = ("csv", "parquet")
    rows: Annotated[
        int | None,
        WordOrWhole(
            "How many rows: estimated from the noisy counts, or a declared number",
            "estimated",
            Whole("A declared number of rows", 0, 10**10),
        ),
    ] = None
    """A declared number of rows, or None for `estimated`."""
    bins: Annotated[
        Bins,
        Choice(
            "What a row shows of a bin: a number drawn from it, the interval, the midpoint",
            get_args(Bins),
        ),
    ] = "uniform"
    replicates: Annotated[
        int,
        Whole(
            "How many replicates of the counts beside the rows, for standard errors; else none",
            0,
            MOST_REPLICATES,
            zero_is_absent=True,
        ),
    ] = 0
    base_url: Annotated[
        str | None,
        Text(
            "Address of the folder of releases on the web, for links in feed.xml; else relative",
            (WEB_ADDRESS,),
            1_000,
        ),
    ] = None
    signing_key: Annotated[
        Path | None,
        Key(
            FilePath("The private key that signs the release: a PEM file, relative to this file"),
            private=True,
        ),
    ] = None
    deliver: Annotated[DeliverConfig | None, Key(record(DeliverConfig), private=True)] = None

    def checked(self, path: Place, report: Report) -> Self:
        """Each data file once, in a fixed order."""
        if len(set(self.formats)) < len(self.formats):
            report.add((*path, "formats"), expected="every format once")
        return replace(self, formats=tuple(sorted(self.formats)))


COUNT = "release_count"
"""The column with the published number of rows of a cell: in `replicates.parquet`, and of the
release before in `previous.parquet`."""
REPLICATE = "release_replicate_"
"""How the columns of the replicates begin; from 1 on."""

MOST_COUNTS = 1 << 31
"""Of the release and all replicates together, in every cell of a universe that is passed over.
Where rows are drawn, replicates have no more cells than the release has rows."""


def count_columns(replicates: int) -> list[str]:
    """The columns beside those of the table: the published count and that of every replicate."""
    return [COUNT, *(f"{REPLICATE}{number}" for number in range(1, replicates + 1))]


def check_count_column(universe: Universe, report: Report) -> None:
    """Refuse a column of the name that the counts of the release before have in their file."""
    _refuse_names(
        universe,
        re.compile(COUNT),
        report,
        expected=f"another name than {COUNT}",
        why="previous.parquet holds the counts of the release before in a column of it",
        fix="rename the column in the source",
    )


def _refuse_names(
    universe: Universe, taken: re.Pattern[str], report: Report, *, expected: str, why: str, fix: str
) -> None:
    for position, name in enumerate(universe.names):
        if taken.fullmatch(name):
            here = ("domain", position, "name")
            report.add(here, found=quoted(name), expected=expected, why=why, fix=fix)


def check_replicates(
    universe: Universe, strategy: Strategy, replicates: int, report: Report
) -> None:
    """Refuse columns whose names the file of replicates needs, and more replicates than it holds.

    How many cells have rows is not known before the raw data are counted; that no more than all
    have is.
    """
    if not replicates:
        return
    _refuse_names(
        universe,
        re.compile(rf"{COUNT}|{REPLICATE}[0-9]+"),
        report,
        expected=f"another name than {COUNT} and {REPLICATE}1, {REPLICATE}2, ...",
        why="replicates.parquet holds the counts of the release in columns of these names",
        fix="rename the column in the source, or leave output.replicates out",
    )
    most = MOST_COUNTS // universe.size - 1
    is_drawn = universe.size > DENSE_LIMIT_CELLS or strategy == "sparse"
    if replicates > most and not is_drawn:
        some = f"replicates: {most}, or " if most > 0 else ""
        report.add(
            ("output", "replicates"),
            found=f"{replicates} for {cells_in_words(universe)}",
            expected=f"{f'at most {most}' if most > 0 else 'none'} for so many cells",
            why=f"every replicate may fill every cell: with the release that is more than "
            f"{MOST_COUNTS:,} counts",
            fix=f"write {some}leave the key out; or merge levels and bins",
        )
