"""What RFC 4287 (The Atom Syndication Format) asks of a feed, held against a text.

Written from the rules of the RFC alone: it shares nothing with what writes feeds.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from urllib.parse import urlsplit
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

ATOM = "{http://www.w3.org/2005/Atom}"
XHTML = "{http://www.w3.org/1999/xhtml}"
ONCE = {"feed": ("id", "title", "updated"), "entry": ("id", "title", "updated")}
"""Exactly one of each (sections 4.1.1 and 4.1.2)."""
AT_MOST_ONCE = {
    "feed": ("generator", "icon", "logo", "rights", "subtitle"),
    "entry": ("content", "published", "rights", "source", "summary"),
}
HELD = {
    "feed": {"author", "category", "contributor", "entry", "link"},
    "entry": {"author", "category", "contributor", "link"},
}
"""Elements that may come any number of times."""
PERSONS, DATES, IRIS = {"author", "contributor"}, {"updated", "published"}, {"id", "icon", "logo"}
TEXTS = {"title", "subtitle", "rights", "summary"}
DATE = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})", flags=re.ASCII)
MEDIA_TYPE = re.compile(r"[\w.+!#$&^-]+/[\w.+!#$&^-]+(;.*)?", flags=re.ASCII)
EMAIL = re.compile(r"[^@\s]+@[^@\s]+")


def problems_of(text: bytes) -> list[str]:
    """Every rule that the feed breaks, with the element that breaks it; none if it is valid."""
    if b"<!DOCTYPE" in text or b"<!ENTITY" in text:
        return ["a feed needs no document type, and readers refuse one"]
    try:
        feed = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        return [f"not well-formed: {error}"]
    if feed.tag != f"{ATOM}feed":
        return [f"the root is {feed.tag}, not a feed (4.1.1)"]
    found = list(_of_container(feed, "feed"))
    entries = feed.findall(f"{ATOM}entry")
    for number, entry in enumerate(entries):
        found += [f"entry {number}: {each}" for each in _of_container(entry, "entry")]
        if not any(each.find(f"{ATOM}author") is not None for each in (entry, feed)):
            found.append(f"entry {number}: no author, here or of the feed (4.1.2)")
    if not entries and feed.find(f"{ATOM}author") is None:
        found.append("no author (4.1.1)")
    keys = Counter((_text(each, "id"), _text(each, "updated")) for each in entries)
    found += [f"two entries of one id and time: {key} (4.1.1)" for key in keys if keys[key] > 1]
    return found


def _of_container(held: Element, kind: str) -> Iterator[str]:
    counts = Counter(child.tag.removeprefix(ATOM) for child in held if child.tag.startswith(ATOM))
    for name in ONCE[kind]:
        if counts[name] != 1:
            yield f"{counts[name]} {name}, not one"
    for name in AT_MOST_ONCE[kind]:
        if counts[name] > 1:
            yield f"{counts[name]} {name}, at most one"
    known = {*ONCE[kind], *AT_MOST_ONCE[kind], *HELD[kind]}
    yield from (f"{name} is no element of a {kind}" for name in counts if name not in known)
    for child in held:
        name = child.tag.removeprefix(ATOM)
        if child.tag.startswith(ATOM) and name != "entry":
            yield from (f"{name}: {each}" for each in _of_element(child, name))
    links = held.findall(f"{ATOM}link")
    alternate = Counter(
        (each.get("type"), each.get("hreflang"))
        for each in links
        if each.get("rel", "alternate") == "alternate"
    )
    if any(number > 1 for number in alternate.values()):
        yield "two alternate links of one type and language (4.1.1)"
    if kind == "entry":
        yield from _of_content(held, has_alternate=bool(alternate))


def _of_content(entry: Element, *, has_alternate: bool) -> Iterator[str]:
    content = entry.find(f"{ATOM}content")
    if content is None:
        if not has_alternate:
            yield "neither content nor an alternate link (4.1.2)"
        return
    if content.get("src") is not None:
        if len(content) or (content.text or "").strip():
            yield "content with src is not empty (4.1.3.2)"
        if entry.find(f"{ATOM}summary") is None:
            yield "content with src needs a summary (4.1.2)"
    elif content.get("type", "text") in ("text", "html", "xhtml"):
        yield from (f"content: {each}" for each in _of_text(content))


def _of_element(element: Element, name: str) -> Iterator[str]:
    text = element.text or ""
    if name in TEXTS:
        yield from _of_text(element)
    elif name in PERSONS:
        yield from _of_person(element)
    elif name in DATES:
        yield from _of_date(text, element)
    elif name in IRIS:
        yield from _of_iri(text, absolute=name == "id")
        if len(element):
            yield "holds elements"
    elif name == "link":
        if not element.get("href"):
            yield "no href (4.2.7.1)"
        else:
            yield from _of_iri(element.get("href", ""), absolute=False)
        if element.get("type") is not None and not MEDIA_TYPE.fullmatch(element.get("type", "")):
            yield f"type {element.get('type')} is no media type (4.2.7.3)"
        if element.get("rel") == "":
            yield "rel is empty (4.2.7.2)"
    elif name == "category" and not element.get("term"):
        yield "no term (4.2.2.1)"
    elif name == "generator" and not text.strip():
        yield "no text (4.2.4)"


def _of_text(element: Element) -> Iterator[str]:
    kind = element.get("type", "text")
    if kind not in ("text", "html", "xhtml"):
        yield f"type {kind} is none of text, html, xhtml (3.1.1)"
    elif kind == "xhtml":
        if [child.tag for child in element] != [f"{XHTML}div"]:
            yield "xhtml is not in one div (3.1.1.3)"
    elif len(element):
        yield f"{kind} holds elements (3.1.1)"


def _of_person(element: Element) -> Iterator[str]:
    counts = Counter(child.tag.removeprefix(ATOM) for child in element)
    if counts["name"] != 1 or not _text(element, "name"):
        yield "not one name (3.2.1)"
    if counts["uri"] > 1 or counts["email"] > 1:
        yield "more than one uri or email (3.2)"
    email = element.findtext(f"{ATOM}email")
    if email is not None and not EMAIL.fullmatch(email):
        yield f"{email} is no address (3.2.3)"


def _of_date(text: str, element: Element) -> Iterator[str]:
    if len(element) or not DATE.fullmatch(text):
        yield f"{text!r} is not written as RFC 3339 asks (3.3)"
        return
    try:
        datetime.fromisoformat(text)
    except ValueError:
        yield f"{text} is no day or time (3.3)"


def _of_iri(text: str, *, absolute: bool) -> Iterator[str]:
    if not text or re.search(r"[\s<>\"{}|\\^`]", text):
        yield f"{text!r} is no reference (RFC 3987)"
        return
    try:
        parts = urlsplit(text)
    except ValueError:
        yield f"{text!r} is no reference (RFC 3987)"
        return
    if absolute and not (parts.scheme and (parts.netloc or parts.path)):
        yield f"{text!r} is not absolute (4.2.6)"


def _text(element: Element, name: str) -> str:
    return (element.findtext(f"{ATOM}{name}") or "").strip()
