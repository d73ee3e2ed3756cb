"""The index in a browser: it shows, asks nobody for anything, reports nothing, and fits."""

import pytest

from synth.catalogue import rebuild
from tests.unit.catalogue.conftest import rewrite
from tests.unit.release.page.conftest import NASTY

pytestmark = pytest.mark.xdist_group("chromium")

SIZES = {"phone": (390, 844), "desktop": (1280, 900)}


@pytest.mark.parametrize("word", [NASTY, "x" * 300])
def test_the_index_shows_without_a_request_or_a_message(directory, browser, word):
    def change(manifest):
        manifest["identity"] |= {"name": word, "description": word, "license": word}
        manifest["people"]["publisher"] = word
        manifest["accounting"]["ledger"]["population"] = word

    for folder in directory.iterdir():
        rewrite(folder, change)
    rebuild(directory)
    address = (directory / "index.html").as_uri()
    for width, height in SIZES.values():
        for scheme in ("light", "dark"):
            browser.look_like(width, height, scheme=scheme)
            browser.open(address)
            assert browser.requests == [address]
            assert browser.messages == []
            assert browser.evaluate("document.querySelector('h2').textContent") == word
            assert browser.evaluate("document.documentElement.scrollWidth") <= width
            ground = browser.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (ground == "rgb(255, 255, 255)") == (scheme == "light")


def test_trends_are_drawn_and_read_aloud(directory, browser):
    rebuild(directory)
    browser.look_like(1280, 900)
    browser.open((directory / "index.html").as_uri())
    boxes = browser.evaluate(
        "[...document.querySelectorAll('details[open] .panel svg')].map(each => "
        "[each.getBoundingClientRect().width, each.getBoundingClientRect().height,"
        " each.getAttribute('role'), each.getAttribute('aria-label')])"
    )
    assert len(boxes) >= 8
    for width, height, role, words in boxes:
        assert width > 150
        assert height > 50
        assert role == "img"
        assert " in 2026-04" in words


def test_a_series_can_be_folded_open_by_keyboard(directory, browser):
    rebuild(directory)
    browser.open((directory / "index.html").as_uri())
    closed = "document.querySelectorAll('details.trends:not([open])').length"
    before = browser.evaluate(closed)
    browser.evaluate("document.querySelector('details.trends:not([open]) > summary').focus()")
    browser.press("Enter", 13)
    assert browser.evaluate(closed) == before - 1
