"""`series.json`: all that the index says, for programs, and for the next index to start from.

Releases are put into series, in the order of their periods, and into accounts of populations.
`feed.xml` is an Atom feed (RFC 4287) with one entry for every release.
"""

from __future__ import annotations

import json
import os
import re
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from jsonschema import Draft202012Validator

from synth.catalogue.folders import MALFORMED, LeftOut, printable
from synth.catalogue.schema import RELEASE, catalogue_schema
from synth.domain.periods import Resolution, read_period
from synth.errors import DISTRIBUTION
from synth.strict_json import JsonError, parse_json

PERIOD = re.compile(r"(.+)-(\d{4}(?:-q[1-4]|-\d{2}(?:-\d{2})?)?)")
"""An id that ends in a period, as `{period}` is filled in."""

RESOLUTIONS: tuple[Resolution, ...] = ("year", "quarter", "month", "day")

Release = dict[str, Any]


@dataclass(frozen=True)
class Series:
    """Releases that continue one another, oldest first; a release by itself is a series of one."""

    name: str
    releases: tuple[Release, ...]
    periods: tuple[str, ...]
    """The period of every release; empty texts where they have none."""
    is_cumulative: bool
    """Whether every release counts all records so far, and not those of its period."""

    @property
    def last(self) -> Release:
        """The release of the last period."""
        return self.releases[-1]

    @property
    def places(self) -> tuple[int, ...]:
        """Where each release stands in time: the number of its period, else its place."""
        for resolution in RESOLUTIONS:
            numbers = [read_period(period.upper(), resolution) for period in self.periods]
            known = [number for number in numbers if number is not None]
            if len(known) == len(numbers) == len(set(known)):
                return tuple(known)
        return tuple(range(len(self.releases)))


@dataclass(frozen=True)
class Account:
    """What was spent on one population, or on a part of it, release by release as charged."""

    population: str
    part: str
    releases: tuple[Release, ...]

    @property
    def last(self) -> Release:
        """The release that was charged last."""
        return self.releases[-1]


def name_and_period(release: Release) -> tuple[str, str]:
    """The series that a release is of, and its period: as its manifest says, else by its id."""
    stated = release["series"]
    if stated is not None:
        return stated["name"], stated["period"]
    found = PERIOD.fullmatch(release["release_id"])
    return (f"{found[1]}-{{period}}", found[2]) if found else (release["release_id"], "")


def grouped_series(releases: Iterable[Release]) -> list[Series]:
    """All series: those with the newest release first."""
    members: dict[str, list[tuple[str, Release]]] = {}
    for release in releases:
        name, period = name_and_period(release)
        members.setdefault(name, []).append((period, release))
    found = [_in_order(name, each) for name, each in members.items()]
    found.sort(key=lambda series: series.name)
    return sorted(found, key=lambda series: max(map(published, series.releases)), reverse=True)


def published(release: Release) -> str:
    """The day of publication."""
    day: str = release["date_published"]
    return day


def _in_order(name: str, members: Sequence[tuple[str, Release]]) -> Series:
    def place(member: tuple[str, Release]) -> tuple[Any, ...]:
        period, release = member
        return period.upper(), published(release), release["release_id"]

    in_order = sorted(members, key=place)
    stated = in_order[-1][1]["series"]
    return Series(
        name,
        tuple(release for _, release in in_order),
        tuple(period for period, _ in in_order),
        stated is not None and stated["rows"] == "all",
    )


def accounts_of(releases: Iterable[Release]) -> list[Account]:
    """All accounts by population and part; releases in the order in which they were charged."""
    members: dict[tuple[str, str], list[Release]] = {}
    for release in releases:
        account = release["account"]
        members.setdefault((account["population"], account["part"]), []).append(release)
    return [Account(*key, tuple(sorted(members[key], key=_charged))) for key in sorted(members)]


def _charged(release: Release) -> tuple[int, str, str]:
    return release["account"]["place"], published(release), release["release_id"]


SERIES_FILE = "series.json"
CATALOGUE_VERSION = "1"
MOST_BYTES = 256 << 20
NUMBERS = ("estimates", "lows", "highs")


def earlier_document(directory: Path) -> dict[str, Any]:
    """The last index, if it is one that this version wrote; else nothing, and all is read anew."""
    try:
        descriptor = os.open(directory / SERIES_FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            found = parse_json(file.read(MOST_BYTES))
        kept: dict[str, Any] = {"feed_id": str(uuid.UUID(found["feed_id"][len("urn:uuid:") :]))}
        if (found["catalogue_version"], found["written_by"]) == (CATALOGUE_VERSION, _writer()):
            kept["releases"] = {
                each["release_id"]: each for each in found["releases"] if _is_whole(each)
            }
    except (OSError, JsonError, *MALFORMED):
        return {}
    return kept


def _is_whole(release: dict[str, Any]) -> bool:
    """Whether an entry of an earlier index is as one is written; its long lists are counted."""
    parts = [release, *([release["increment"]] if "increment" in release else [])]
    for part in parts:
        for each in (*part.get("tables", []), *([part["records"]] if "records" in part else [])):
            number = len(each.get("labels", [""]))
            for name in NUMBERS:
                if len(each[name]) != number or any(type(one) is not int for one in each[name]):
                    return False
    return _release_validator().is_valid(_shortened(release))


def _shortened(release: dict[str, Any]) -> dict[str, Any]:
    """The entry with empty lists of numbers."""
    short = dict(release)
    if "tables" in release:
        short["tables"] = [each | {name: [] for name in NUMBERS} for each in release["tables"]]
    if "increment" in release:
        short["increment"] = _shortened(release["increment"])
    return short


@cache
def _release_validator() -> Draft202012Validator:
    return Draft202012Validator({**RELEASE, "$defs": catalogue_schema()["$defs"]})


def build_document(
    releases: Sequence[Release], left_out: Iterable[LeftOut], *, feed_id: str
) -> dict[str, Any]:
    """The document in JSON values; series with the newest release first, accounts by name.

    Ensures: the same releases and id give the same document.
    """
    series, accounts = grouped_series(releases), accounts_of(releases)
    newest = newest_first(releases)
    base = next((each["base_url"] for each in newest if each["base_url"]), "")
    return {
        "catalogue_version": CATALOGUE_VERSION,
        "written_by": _writer(),
        "feed_id": f"urn:uuid:{feed_id}",
        "base_url": base if base.endswith("/") or not base else f"{base}/",
        "publisher": newest[0]["publisher"] if newest else "",
        "updated": newest[0]["date_published"] if newest else "",
        "series": [_series_plain(each) for each in series],
        "accounts": [_account_plain(each) for each in accounts],
        "releases": newest,
        "left_out": [
            {"folder": each.folder, "why": each.why} for each in left_out if each.is_public
        ],
    }


def new_feed_id(releases: Sequence[Release]) -> str:
    """An id for the feed of these releases, by the first of them; it is kept from then on."""
    oldest = newest_first(releases)[-1:]
    first = oldest[0]["manifest_sha256"] if oldest else ""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"synth/feed/{first}"))


def newest_first(releases: Iterable[Release]) -> list[Release]:
    """In the order of publication, newest first."""
    return sorted(
        releases,
        key=lambda each: (each["date_published"], each["account"]["place"], each["release_id"]),
        reverse=True,
    )


def write_document(document: dict[str, Any]) -> bytes:
    """The bytes of the file; a line for every release."""
    rest = {name: value for name, value in document.items() if name != "releases"}
    head = _json(rest)[:-1]
    lines = ",\n".join(map(_json, document["releases"]))
    return f'{head},\n"releases":[\n{lines}\n]}}\n'.encode()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _writer() -> str:
    return f"{DISTRIBUTION} {version(DISTRIBUTION)}"


def _series_plain(series: Series) -> dict[str, Any]:
    return {
        "name": series.name,
        "title": series.last["title"],
        "is_cumulative": series.is_cumulative,
        "releases": [
            {"release_id": release["release_id"], "period": period}
            for release, period in zip(series.releases, series.periods, strict=True)
        ],
    }


def _account_plain(account: Account) -> dict[str, Any]:
    last = account.last["account"]
    return {
        "population": account.population,
        "part": account.part,
        "unit": account.last["unit"],
        "neighbours": account.last["neighbours"],
        "cap": last["cap"],
        "spent": last["spent"],
        "releases": [
            {"release_id": each["release_id"], "spent": each["account"]["spent"]}
            for each in account.releases
        ],
    }


FEED_FILE = "feed.xml"
ATOM = "http://www.w3.org/2005/Atom"
MOST_ENTRIES = 500
UNKNOWN = "unknown"
NEVER = "1970-01-01"


def render_feed(document: dict[str, Any]) -> bytes:
    """The feed of a document; addresses are relative where it has no base address.

    Ensures: ids depend on manifests alone, so they stay whatever the address becomes; the bytes
    change with the releases only.
    """
    base, publisher = document["base_url"], document["publisher"]
    feed = Element("feed", {"xmlns": ATOM, "xml:lang": "en"})
    _text(feed, "id", document["feed_id"])
    _text(feed, "title", f"Synthetic data releases of {publisher}".removesuffix(" of "))
    _text(feed, "updated", _moment(document["updated"] or NEVER))
    _text(SubElement(feed, "author"), "name", publisher or UNKNOWN)
    _text(feed, "generator", DISTRIBUTION)
    if base:
        SubElement(feed, "link", rel="self", type="application/atom+xml", href=base + FEED_FILE)
    SubElement(feed, "link", rel="alternate", type="text/html", href=f"{base}index.html")
    for release in document["releases"][:MOST_ENTRIES]:
        _entry(feed, release, base)
    indent(feed, " ")
    text: str = tostring(feed, "unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'.encode()


def _entry(feed: Element, release: Release, base: str) -> None:
    name, period = name_and_period(release)
    entry = SubElement(feed, "entry")
    unique = uuid.uuid5(uuid.NAMESPACE_URL, f"synth/release/{release['manifest_sha256']}")
    _text(entry, "id", f"urn:uuid:{unique}")
    _text(entry, "title", f"{release['title']}, {period}" if period else release["title"])
    _text(entry, "updated", _moment(release["date_published"]))
    _text(entry, "published", _moment(release["date_published"]))
    _text(SubElement(entry, "author"), "name", release["publisher"] or UNKNOWN)
    address = f"{base}{release['release_id']}/{release['page']}"
    SubElement(entry, "link", rel="alternate", type="text/html", href=address)
    SubElement(entry, "category", term=name)
    _text(entry, "rights", release["license"])
    epsilon = release["privacy"]["epsilon"]["decimal"]
    _text(
        entry,
        "summary",
        f"{release['rows']:,} synthetic rows, {release['columns']:,} columns; differentially "
        f"private with epsilon {epsilon} for one {release['unit']}. {release['description']}",
    )


def _text(parent: Element, name: str, text: str) -> None:
    SubElement(parent, name).text = printable(text)


def _moment(day: str) -> str:
    """A day as a moment: releases state no time finer than the day."""
    return f"{day}T00:00:00Z"
