"""The rules of RFC 4287 that a feed like ours can break, each with its section."""

import re
from collections import Counter
from datetime import datetime
from xml.etree.ElementTree import Element, fromstring

ATOM = "{http://www.w3.org/2005/Atom}"
MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})")
IRI = re.compile(r"[a-z][a-z0-9+.-]*:\S+")
REFERENCE = re.compile(r"\S+")
KNOWN = {
    *("author", "category", "content", "contributor", "generator", "icon", "id", "link", "logo"),
    *("published", "rights", "source", "subtitle", "summary", "title", "updated", "entry"),
}


def problems(content: bytes) -> list[str]:
    """What is wrong with a feed; empty if nothing is."""
    feed = fromstring(content)
    if feed.tag != f"{ATOM}feed":
        return ["4.1.1: the root is no feed"]
    found = [*of_parts(feed, "feed"), *of_links(feed)]
    ids = Counter(entry.findtext(f"{ATOM}id") for entry in feed.iter(f"{ATOM}entry"))
    found += [f"4.1.2: the id {each} stands twice" for each, times in ids.items() if times > 1]
    has_author = feed.find(f"{ATOM}author") is not None
    for entry in feed.findall(f"{ATOM}entry"):
        found += [*of_parts(entry, "entry"), *of_links(entry)]
        if not has_author and entry.find(f"{ATOM}author") is None:
            found.append("4.1.1: an entry has no author")
        links = [each for each in entry.findall(f"{ATOM}link") if each.get("rel") == "alternate"]
        if entry.find(f"{ATOM}content") is None and not links:
            found.append("4.1.2: an entry has neither content nor alternate link")
    return found


def of_parts(node: Element, name: str) -> list[str]:
    found = []
    for child in node:
        if child.tag.removeprefix(ATOM) not in KNOWN:
            found.append(f"4.2: {name} holds {child.tag}")
    for part in ("id", "title", "updated"):
        if len(node.findall(ATOM + part)) != 1:
            found.append(f"4.1: {name} has not one {part}")
    for part in ("published", "rights", "summary", "subtitle", "generator"):
        if len(node.findall(ATOM + part)) > 1:
            found.append(f"4.1: {name} has several {part}")
    if not IRI.fullmatch(node.findtext(f"{ATOM}id") or ""):
        found.append(f"4.2.6: the id of {name} is no whole IRI")
    for part in ("updated", "published"):
        for each in node.findall(ATOM + part):
            if not MOMENT.fullmatch(each.text or ""):
                found.append(f"3.3: {part} of {name} is no moment")
            else:
                datetime.fromisoformat(str(each.text))
    for each in node.findall(f"{ATOM}author"):
        if not (each.findtext(f"{ATOM}name") or "").strip():
            found.append("3.2.1: an author has no name")
    for each in node.findall(f"{ATOM}category"):
        if not each.get("term"):
            found.append("4.2.2.1: a category has no term")
    return found


def of_links(node: Element) -> list[str]:
    found, seen = [], set()
    for link in node.findall(f"{ATOM}link"):
        if not REFERENCE.fullmatch(link.get("href", "")):
            found.append("4.2.7.1: a link leads nowhere")
        key = link.get("rel"), link.get("type"), link.get("hreflang")
        if link.get("rel") == "alternate" and key in seen:
            found.append("4.1.1: two alternate links of one type and language")
        seen.add(key)
    return found
