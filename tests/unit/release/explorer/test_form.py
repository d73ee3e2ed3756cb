"""What a reader does: choose, break down, take the link and the file along; and hostile labels."""

import base64
import csv
import hashlib
import io
import json
import re
from dataclasses import replace
from fractions import Fraction
from urllib.parse import quote

import html5lib
import numpy as np
import pytest

from synth.domain import Universe
from synth.domain.counts import Counts
from synth.errors import VerificationError
from synth.measurements import MeasuredTable, Measurements
from synth.measurements.intervals import Intervals
from synth.noise import noise_variance
from synth.privacy import TableEvent
from synth.reading.queries import marginal_queries, query_of
from synth.release.explorer import content as explorer
from synth.release.explorer.render import render_explorer, scripts
from synth.release.verification import verify_folder

pytestmark = pytest.mark.xdist_group("chromium")

SIZES = {"phone": (390, 844), "desktop": (1280, 900)}
HOSTILE = ("</script><script>alert(2)</script>", "<!--<script>", "\u202eright\u2066", "a\u2028b")
"""Labels that no configuration may have are among them: the page does not rely on that."""


def address(made, fragment=""):
    return (made.folder / "explore.html").as_uri() + fragment


def text_of(browser, selector):
    return browser.evaluate(f"document.querySelector({json.dumps(selector)}).textContent")


def opened(browser, address):
    """Open a page and wait for its answer."""
    browser.open(address)
    browser.evaluate(
        "new Promise(done => { const look = () => (lines.length ? done() : setTimeout(look, 10));"
        " look(); })"
    )


def settled(browser, made, fragment=""):
    opened(browser, address(made, fragment))


def rendered(place, config, measurements, counts):
    page = place / "explore.html"
    page.write_bytes(render_explorer(config, measurements, counts, measurements_sha256="0" * 64))
    return page


def download(browser):
    """The file that the button would hand over."""
    return browser.evaluate("csvOf(columns, question.by, lines)")


@pytest.mark.parametrize("kind", ["busy", "nasty"])
def test_the_page_shows_without_a_request_or_a_message(request, released, browser, kind):
    made = released(**request.getfixturevalue(kind))
    first, second = (quote(column.name) for column in made.config.universe.attributes[:2])
    for (width, height), scheme in zip(SIZES.values(), ("light", "dark"), strict=True):
        browser.look_like(width, height, scheme=scheme)
        settled(browser, made, f"#by={first}&by={second}")
        assert browser.requests == [address(made)]
        assert browser.messages == []
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
        ground = browser.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(255, 255, 255)") == (scheme == "light")
    browser.look_like(1280, 900)


def test_no_label_becomes_markup_or_steers_what_stands_beside_it(tmp_path, released, browser):
    made = released()
    universe = made.config.universe
    [*before, last] = universe.attributes
    hostile = replace(last, name=HOSTILE[0], kind="categorical", levels=HOSTILE, missing=())
    universe = Universe((*before, hostile))
    event = TableEvent(universe.names, universe.size, 1, Fraction(1))
    noisy = np.arange(universe.size)
    measurements = Measurements("test", "", (MeasuredTable(event, noisy, noise_variance(event)),))
    page = rendered(
        tmp_path,
        replace(made.config, universe=universe),
        measurements,
        Counts.of_all(noisy, universe.shape),
    )
    tree = html5lib.HTMLParser(strict=True).parse(page.read_text("utf-8"))
    names = [script.get("type") for script in tree.iter("{http://www.w3.org/1999/xhtml}script")]
    assert names == ["application/json", None]
    opened(browser, page.as_uri() + f"#by={quote(HOSTILE[0])}")
    markup = "document.querySelectorAll('script, b').length"
    before = browser.evaluate(markup)
    browser.evaluate("[...columns].forEach(() => document.getElementById('add').click())")
    assert browser.evaluate(markup) == before
    shown = text_of(browser, "main")
    assert shown.count(HOSTILE[0]) >= 3
    assert not re.search("[\u202a-\u202e\u2028\u2066-\u2069]", shown)
    lines = list(csv.DictReader(io.StringIO(download(browser), newline="")))
    assert [line[HOSTILE[0]] for line in lines] == list(HOSTILE)
    assert browser.messages == []


def test_a_breakdown_has_the_intervals_of_the_library(released, busy, browser):
    made = released(**busy)
    universe = made.config.universe
    names = (universe.names[0], universe.names[2])
    settled(browser, made, f"#by={quote(names[1])}&by={quote(names[0])}&level=0.9")
    lines = list(csv.DictReader(io.StringIO(download(browser))))
    intervals = Intervals(made.measurements, made.config)
    found = {(line[names[0]], line[names[1]]): line for line in lines}
    for query in marginal_queries(names, universe, limit=100):
        labels = (universe.attribute(name).label(query.where.codes[name][0]) for name in names)
        line = found.pop(tuple(labels))
        counted, (low, high) = intervals.measured(query.where, level=0.9)
        assert float(line["estimate"]) == counted.estimate
        assert (int(line["low"]), int(line["high"])) == (low, high)
        assert f"{low:,} to {high:,}" in text_of(browser, "#crosstab")
    assert found == {}


def test_the_form_makes_the_question_that_its_link_makes_again(released, hierarchical, browser):
    made = released(**hierarchical | {"strategy": "identity"})
    settled(browser, made)
    browser.evaluate(
        """(() => {
            const choose = (id, value) => {
                const field = document.getElementById(id);
                field.value = value;
                field.dispatchEvent(new Event("change"));
            };
            document.getElementById("add").click();
            choose("column-0", "2");
            choose("group-2", "0 1");
            document.getElementById("add").click();
            document.getElementById("level-0-5").click();
            choose("by-first", "1");
            choose("level", "0.99");
        })()"""
    )
    fragment = browser.evaluate("location.hash")
    assert "where.town=West&where.town=Ost&where.age=missing&by=sex&level=0.99" in fragment
    answer = text_of(browser, "#answer")
    assert text_of(browser, "#command").startswith(
        "synth errors . \\\n  --query 'age=missing, sex=Female, town in {West, Ost}'"
    )
    settled(browser, made, fragment)
    assert text_of(browser, "#answer") == answer
    assert browser.evaluate("document.querySelectorAll('#conditions input:checked').length") == 3
    universe = made.config.universe
    where = query_of("", {"age": (5,), "town": (2, 3)}, universe).where
    _, (low, high) = Intervals(made.measurements, made.config).measured(where, level=0.99)
    assert f"between {low:,} and {high:,}" in text_of(browser, "#sentence")


def test_a_range_of_an_ordered_column_is_two_choices(released, browser):
    years = {"name": "years", "type": "integer", "minimum": 0, "maximum": 19, "missing": ["?"]}
    made = released(domain=[years | {"out_of_domain": "missing", "source": "test"}])
    settled(browser, made, "#where.years=missing")
    browser.evaluate(
        """(() => {
            for (const [end, value] of [[0, "7"], [1, "9"], [0, ""]]) {
                const field = document.getElementById(`end-0-${end}`);
                field.value = value;
                field.dispatchEvent(new Event("change"));
            }
        })()"""
    )
    assert browser.evaluate("[...question.conditions]") == [[0, [7, 8, 9]]]
    assert "years in {7, 8, 9}" in text_of(browser, "#command")


def test_a_link_to_what_is_not_there_is_told(released, browser):
    settled(browser, released(), "#where.nobody=1&where.age=400&by=sex")
    assert "nobody=1" in text_of(browser, "#notes")
    assert "age=400" in text_of(browser, "#notes")


def test_the_keyboard_reaches_the_question_and_print_hides_the_form(released, browser):
    settled(browser, released())
    browser.press("Tab", 9)
    assert browser.evaluate("document.activeElement.className") == "skip"
    for control in browser.evaluate(
        "[...document.querySelectorAll('input, select')].map(each => each.labels.length)"
    ):
        assert control == 1
    browser.look_like(1280, 900, media="print")
    assert not browser.evaluate("document.getElementById('question').offsetHeight")
    browser.look_like(1280, 900)


def test_the_policy_of_the_page_names_its_one_program(released):
    page = (released().folder / "explore.html").read_text("utf-8")
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)
    digest = base64.b64encode(hashlib.sha256(scripts().encode()).digest()).decode()
    assert policy.startswith(
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'sha256-"
    )
    assert f"<script>{scripts()}</script>" in page
    assert not re.search(
        r"\bfetch\b|XMLHttpRequest|WebSocket|innerHTML|\beval\b|import\(", scripts()
    )


def test_a_changed_page_is_found(released):
    made = released()
    path = made.folder / "explore.html"
    path.write_bytes(path.read_bytes().replace(b"UPPER_SHARE = 0.8", b"UPPER_SHARE = 0.9"))
    with pytest.raises(VerificationError) as caught:
        verify_folder(made.folder, derivation=made.derive)
    assert "explore.html: is not the one that manifest and rows give" in caught.value.findings


def test_what_has_no_room_is_left_out_and_told(several, browser, monkeypatch, tmp_path):
    monkeypatch.setattr(explorer, "MOST_TABLE_BYTES", 60)
    monkeypatch.setattr(explorer, "MOST_ROWS_BYTES", 60)
    derived = several.derive(several.measurements, several.config)
    page = rendered(tmp_path, several.config, several.measurements, derived.counts)
    opened(browser, page.as_uri())
    assert "Of 3 noisy tables 2 are in this page" in text_of(browser, "#notes")
    assert "rows are not counted here" in text_of(browser, "#notes")
