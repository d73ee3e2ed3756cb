"""The checker of feeds: a valid feed has no finding, and every rule that is broken has one."""

import pytest

from tests.atom_feed import problems_of

VALID = """<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
  <id>urn:example:feed</id>
  <title>Visits</title>
  <updated>2026-02-06T03:00:00Z</updated>
  <author><name>Example Health Board</name><email>data@example.org</email></author>
  <link rel="self" href="feed.xml" type="application/atom+xml"/>
  <link href="index.html" type="text/html"/>
  <entry>
    <id>urn:example:visits-2026-01</id>
    <title type="text">January</title>
    <updated>2026-02-06T03:00:00+01:00</updated>
    <published>2026-02-06T03:00:00.5Z</published>
    <link rel="alternate" href="visits-2026-01/index.html"/>
    <category term="health"/>
    <summary type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">Some <b>rows</b></div></summary>
  </entry>
  <entry>
    <id>urn:example:visits-2026-02</id>
    <title>February</title>
    <updated>2026-03-06T03:00:00Z</updated>
    <content type="html">&lt;p&gt;Rows&lt;/p&gt;</content>
  </entry>
  <other xmlns="urn:example:other">of another name space</other>
</feed>
"""
AUTHOR = "<author><name>Example Health Board</name><email>data@example.org</email></author>"
BROKEN = {
    "not well-formed": ("</feed>", ""),
    "document type": ("<feed", "<!DOCTYPE feed><feed"),
    "another root": ("http://www.w3.org/2005/Atom", "http://purl.org/atom/ns"),
    "no id": ("<id>urn:example:feed</id>", ""),
    "two ids": ("<id>urn:example:feed</id>", "<id>urn:a:b</id><id>urn:a:c</id>"),
    "relative id": ("urn:example:visits-2026-01", "visits-2026-01"),
    "empty id": ("<id>urn:example:visits-2026-01</id>", "<id/>"),
    "id with blanks": ("urn:example:visits-2026-01", "urn:example:visits 1"),
    "no title": ("<title>February</title>", ""),
    "no time": ("<updated>2026-03-06T03:00:00Z</updated>", ""),
    "day alone": ("2026-03-06T03:00:00Z", "2026-03-06"),
    "small letters": ("2026-03-06T03:00:00Z", "2026-03-06t03:00:00z"),
    "no zone": ("2026-03-06T03:00:00Z", "2026-03-06T03:00:00"),
    "no such day": ("2026-03-06T03:00:00Z", "2026-02-30T03:00:00Z"),
    "two published": ("<published>", "<published>2026-01-01T00:00:00Z</published><published>"),
    "no author": (AUTHOR, ""),
    "author without name": ("<name>Example Health Board</name>", ""),
    "no e-mail address": ("data@example.org", "nobody"),
    "link without href": (' href="feed.xml"', ""),
    "href with blanks": ("feed.xml", "feed of all.xml"),
    "no media type": ("text/html", "html"),
    "two alternates": ("<category", '<link href="other.html"/><category'),
    "neither content nor link": ('<content type="html">&lt;p&gt;Rows&lt;/p&gt;</content>', ""),
    "content and src": ('<content type="html"', '<content src="rows.html"'),
    "text with elements": ("January", "<b>January</b>"),
    "no such type": ('type="text"', 'type="text/plain"'),
    "xhtml without div": ("div", "p"),
    "category without term": (' term="health"', ""),
    "one entry twice": (
        "urn:example:visits-2026-02</id>\n    <title>February</title>\n"
        "    <updated>2026-03-06T03:00:00Z",
        "urn:example:visits-2026-01</id>\n    <title>February</title>\n"
        "    <updated>2026-02-06T03:00:00+01:00",
    ),
    "element of no meaning": ("<category", "<keyword>a</keyword><category"),
    "subtitle of an entry": ("<category", "<subtitle>a</subtitle><category"),
}


def test_a_valid_feed_has_no_finding():
    assert problems_of(VALID.encode()) == []


@pytest.mark.parametrize("rule", BROKEN)
def test_every_rule_that_is_broken_is_found(rule):
    old, new = BROKEN[rule]
    assert old in VALID
    assert problems_of(VALID.replace(old, new).encode()) != []


def test_an_entry_may_have_the_author_instead():
    author = "<author><name>Board</name></author>"
    of_entries = VALID.replace("<category", f"{author}<category", 1).replace(
        "<content", f"{author}<content"
    )
    without = of_entries.replace(BROKEN["no author"][0], "")
    assert problems_of(without.encode()) == []
