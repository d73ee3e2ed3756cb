"""The page as a document: valid, closed, escaped, complete, and the same whenever it is made."""

import json
import re
from copy import deepcopy
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import html5lib
import numpy as np
import pytest

from synth.domain.counts import Counts
from synth.errors import VerificationError
from synth.privacy.meaning import at_least, at_most
from synth.release.contents import checksum_lines
from synth.release.page.accuracy import crosstabs
from synth.release.page.render import MOST_COLUMNS, is_address, render_page, size, whole
from synth.release.page.summary import MOST_COMPARED, summarise
from synth.release.verification import verify_folder
from tests.release_folder import files_of

from .conftest import NASTY

HTML = "{http://www.w3.org/1999/xhtml}"
SECTIONS = {
    "index.html": [
        *("what", "use", "protection", "accuracy", "columns", "associations", "making"),
        *("files", "verify"),
    ],
    "assessment.html": ["short", "nist", "bias", "europe", "uncovered", "publisher", "sources"],
}
PAGES = pytest.mark.parametrize("name", SECTIONS)
MOST_BYTES = 1_000_000


def parsed(page):
    """The page as a tree. Raises: html5lib's ParseError at the first fault."""
    return html5lib.HTMLParser(strict=True).parse(page.decode("utf-8"))


def text_of(element):
    return " ".join("".join(element.itertext()).split())


def rendered(manifest, derived):
    tabs = crosstabs(
        derived.config,
        derived.measurements,
        derived.counts,
        summary=derived.summary,
        figures=derived.figures,
    )
    return render_page(manifest, derived.summary, derived.figures, tabs)


def page_of(made, name="index.html"):
    return (made.folder / name).read_bytes()


class Balance(HTMLParser):
    """Every element that was opened is closed in turn: html5lib closes some by itself."""

    VOID = frozenset({"meta", "link", "br"})

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        assert len(dict(attrs)) == len(attrs)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert len(dict(attrs)) == len(attrs), tag

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(params=["busy", "nasty"])
def made(request, released):
    return released(**request.getfixturevalue(request.param))


@PAGES
def test_the_page_is_valid_and_its_elements_nest(made, name):
    page = page_of(made, name)
    parsed(page)
    balance = Balance()
    balance.feed(page.decode())
    assert balance.open == []
    assert len(page) < MOST_BYTES


def test_a_reader_of_html_that_is_not_valid_says_so():
    with pytest.raises(html5lib.html5parser.ParseError):
        parsed(b"<!DOCTYPE html><html><head><title>x</title></head><body><p></b></p></body></html>")


@PAGES
def test_headings_links_and_names_hold_together(made, name):
    tree = parsed(page_of(made, name))
    ids = [element.get("id") for element in tree.iter() if element.get("id")]
    assert len(set(ids)) == len(ids)
    headings = [element for element in tree.iter() if re.fullmatch(f"{HTML}h[1-6]", element.tag)]
    levels = [int(element.tag[-1]) for element in headings]
    assert levels.count(1) == 1
    assert all(after - level <= 1 for level, after in pairwise(levels))
    assert [element.get("id") for element in headings if element.tag == f"{HTML}h2"] == SECTIONS[
        name
    ]
    for link in tree.iter(f"{HTML}a"):
        target = link.get("href")
        assert text_of(link)
        assert not target.startswith("#") or target[1:] in ids
    for section in tree.iter(f"{HTML}section"):
        assert section.get("aria-labelledby") in ids
    assert tree.get("lang") == "en"


def test_every_drawing_has_words_beside_it_or_a_name(made):
    for drawing in parsed(page_of(made)).iter("{http://www.w3.org/2000/svg}svg"):
        assert drawing.get("aria-hidden") == "true" or drawing.get("aria-label")


@PAGES
def test_every_table_says_what_it_shows(made, name):
    for table in parsed(page_of(made, name)).iter(f"{HTML}table"):
        assert table[0].tag == f"{HTML}caption"
        assert text_of(table[0])


def test_no_step_of_the_making_is_told_twice(released, manifest_of):
    made = released()
    manifest = manifest_of(made)
    steps = manifest["post_processing"]["steps"]
    steps[:0] = [steps[0]] * 2
    derived = made.derive(made.measurements, made.config)
    tree = parsed(render_page(manifest, derived.summary, derived.figures, ()))
    told = [text_of(item) for item in tree.iter(f"{HTML}li")]
    assert told.count(steps[0]["description"]) == 1


@PAGES
def test_whoever_has_only_a_keyboard_reaches_what_scrolls(made, name):
    for element in parsed(page_of(made, name)).iter(f"{HTML}div"):
        if element.get("class") == "scroll":
            assert element.get("tabindex") == "0"
            assert element.get("role") == "region"
            assert element.get("aria-label")


@PAGES
def test_nothing_is_loaded_and_nothing_runs(made, name):
    tree = parsed(page_of(made, name))
    names = set(files_of(made.folder))
    for element in tree.iter():
        for key, value in element.items():
            assert not key.startswith("on"), key
            assert key not in ("src", "srcset", "data", "action", "background", "style"), key
            if key == "href" and element.tag == f"{HTML}link":
                assert value == "data:,"
            elif key == "href":
                own = value[:1] == "#" or value in names or value.startswith("mailto:")
                assert own or element.get("rel") == "license", value
    types = [block.get("type") for block in tree.iter(f"{HTML}script")]
    assert types == (["application/ld+json"] if name == "index.html" else [])
    [style] = tree.iter(f"{HTML}style")
    assert not re.search(r"url\(|@import", style.text)
    [policy] = (m for m in tree.iter(f"{HTML}meta") if m.get("http-equiv"))
    assert "default-src 'none'" in policy.get("content")


def test_words_of_the_configuration_stay_words(released, nasty):
    made = released(**nasty)
    tree = parsed(page_of(made))
    assert not list(tree.iter(f"{HTML}img"))
    assert not list(tree.iter(f"{HTML}b"))
    assert text_of(next(tree.iter(f"{HTML}h1"))) == NASTY
    assert text_of(next(tree.iter(f"{HTML}title"))) == NASTY
    cells = [text_of(cell) for cell in tree.iter(f"{HTML}th")]
    for label in ("<script>alert(2)</script>", "<!--", "]]>", '" onload="x'):
        assert any(cell == label or cell == f"{label} ≈ noise" for cell in cells), label
    [block] = tree.iter(f"{HTML}script")
    described = json.loads(block.text)
    assert described["name"] == NASTY
    assert described["variableMeasured"][1]["name"] == "<img src=x>"
    other = parsed(page_of(made, "assessment.html"))
    assert text_of(next(other.iter(f"{HTML}h1"))) == NASTY
    assert not [*other.iter(f"{HTML}img"), *other.iter(f"{HTML}b"), *other.iter(f"{HTML}script")]
    verify_folder(made.folder, derivation=made.derive)


def test_characters_that_no_page_may_hold_are_replaced(released, manifest_of):
    made = released()
    manifest = manifest_of(made)
    manifest["identity"]["name"] = "a\x00b\x1bc"
    derived = made.derive(made.measurements, made.config)
    page = render_page(manifest, derived.summary, derived.figures, ())
    assert text_of(next(parsed(page).iter(f"{HTML}h1"))) == "a\ufffdb\ufffdc"


def test_the_page_answers_in_the_words_and_numbers_of_the_manifest(released, busy, manifest_of):
    made = released(**busy)
    manifest, text = manifest_of(made), text_of(parsed(page_of(made)))
    for posterior in manifest["what_it_means"]["posteriors"]:
        assert f"{at_least(posterior['smallest'])}" in text
        assert f"{at_most(posterior['largest'])}" in text
    for words in (
        manifest["identity"]["statement"],
        manifest["identity"]["cite_as"],
        "epsilon = 1",
        "Small counts are mostly noise.",
        "synth verify",
        "sha256sum --check SHA256SUMS",
        *manifest["what_it_means"]["not_promised"],
        *manifest["purpose"]["limitations"],
    ):
        assert " ".join(words.split()) in text
    for entry in manifest["files"]:
        in_one_line = entry["path"] == "index.html" or "event" in entry
        assert (entry["sha256"] in text) == (not in_one_line)
        assert entry["path"] in text or entry["path"] == "index.html"
    for order in manifest["quality"]["prediction"]["queries"]:
        assert f"± {whole(order['worst']['half_width_95_records'])}" in text
    assert whole(manifest["post_processing"]["rows"]["number"]) in text


def test_the_bounds_of_delta_are_told_where_there_is_one(several):
    text = text_of(parsed(page_of(several)))
    assert "delta = 0.000000001" in text
    assert "The exception: for any two neighbouring data sets" in text


def test_the_same_release_gives_the_same_bytes_and_verify_compares_them(released, manifest_of):
    made = released()
    derived = made.derive(made.measurements, made.config)
    assert rendered(manifest_of(made), derived) == page_of(made)
    changed = page_of(made).replace(b"synthetic", b"authentic", 1)
    (made.folder / "index.html").write_bytes(changed)
    with pytest.raises(VerificationError) as caught:
        verify_folder(made.folder, derivation=made.derive)
    assert "index.html: is not the one that manifest and rows give" in caught.value.findings


def test_the_page_depends_on_the_rows(released, manifest_of):
    made = released()
    derived = made.derive(made.measurements, made.config)
    values = derived.counts.values.copy()
    values[0] += 1
    other = replace(derived, counts=Counts(derived.counts.columns, values))
    assert rendered(manifest_of(made), other) != page_of(made)


def widened(manifest, columns, codes):
    """The manifest with made-up columns in place of its own."""
    manifest = deepcopy(manifest)
    [first, *_] = manifest["domain"]["columns"]
    manifest["domain"]["columns"] = [
        first
        | {"name": f"column {number} {'with a long name ' * 6}", "codes": codes, "edges": []}
        | {"labels": [f"label {'wide ' * 30}{code}" for code in range(codes)]}
        | {"has_missing": False, "stride": codes ** (columns - 1 - number)}
        for number in range(columns)
    ]
    manifest["domain"]["universe_size"] = codes**columns
    manifest["configuration"]["domain"] = [{} for _ in range(columns)]
    return manifest


@pytest.mark.parametrize(("columns", "codes"), [(1, 3), (30, 10), (60, 40)])
def test_any_number_of_columns_and_any_universe(released, manifest_of, columns, codes):
    manifest = widened(manifest_of(released()), columns, codes)
    generator = np.random.default_rng(5)
    cells = np.unique(generator.integers(0, codes, (3, 500))[:, :2].T, axis=0)
    first, second = cells[:, 0], cells[:, -1]
    drawn = [generator.integers(0, codes, len(first)) for _ in range(max(0, columns - 2))]
    columns_of_cells = (first, second, *drawn)[:columns]
    if columns == 1:
        columns_of_cells = (np.arange(codes),)
    counts = Counts(
        tuple(codes_.astype(np.uint32) for codes_ in columns_of_cells),
        np.ones(len(columns_of_cells[0]), dtype=np.int64),
    )
    page = render_page(manifest, summarise(counts, (codes,) * columns), [], ())
    tree = parsed(page)
    assert len(page) < MOST_BYTES
    drawn_columns = sum(1 for _ in tree.iter(f"{HTML}article"))
    assert drawn_columns == min(columns, MOST_COLUMNS)
    lines = [t for t in tree.iter(f"{HTML}table") if t.get("class") == "heat"]
    assert len(lines) == (columns > 1)
    text = text_of(tree)
    assert whole(codes**columns) in text
    assert ("Not drawn: " in text) == (columns > MOST_COLUMNS)
    assert (f"The first {MOST_COMPARED} columns are compared" in text) == (columns > MOST_COMPARED)


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (48880, "48,880"), (10**15 - 1, "999,999,999,999,999"), (10**30, "1.0 × 10³⁰")],
)
def test_whole_numbers_in_words(number, text):
    assert whole(number) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (161_816, "162 kB"),
        (2_680_713, "2.7 MB"),
        (3 * 10**15, "3000 TB"),
    ],
)
def test_sizes_in_words(number, text):
    assert size(number) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [("data@example.org", True), ("ask data@example.org", False), ("a@b?cc=c@d", False)],
)
def test_only_an_address_becomes_a_link(text, expected):
    assert is_address(text) is expected


def test_a_page_without_predictions_says_so(released, manifest_of):
    made = released()
    manifest = manifest_of(made)
    manifest["quality"]["prediction"] |= {"queries": [], "unanswered": 2}
    summary = made.derive(made.measurements, made.config).summary
    text = text_of(parsed(render_page(manifest, summary, [], ())))
    assert "No table has a predicted error." in text
    assert "Of 2 tables that were asked for, no noisy table gives a figure" in text


def test_checksums_cover_the_page(released):
    made = released()
    listed = (made.folder / "SHA256SUMS").read_text()
    assert re.search(r"^[0-9a-f]{64}  index\.html$", listed, flags=re.MULTILINE)
    assert checksum_lines({"a": "0" * 64}) == b"0" * 64 + b"  a\n"
