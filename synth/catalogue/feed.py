"""`feed.xml`: an Atom feed (RFC 4287) with one entry for every release."""

from __future__ import annotations

import uuid
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from synth.catalogue.folders import printable
from synth.catalogue.grouping import Release, name_and_period
from synth.errors import DISTRIBUTION

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
