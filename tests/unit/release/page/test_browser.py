"""The page in a browser: it shows, asks nobody for anything, reports nothing, and fits."""

import pytest

pytestmark = pytest.mark.xdist_group("chromium")

SIZES = {"phone": (390, 844), "desktop": (1280, 900)}
TAB, ENTER = ("Tab", 9), ("Enter", 13)


@pytest.mark.parametrize(
    ("kind", "name", "title"),
    [
        ("busy", "index.html", ""),
        ("nasty", "index.html", ""),
        ("nasty", "assessment.html", "Self-assessment: "),
    ],
)
def test_the_page_shows_without_a_request_or_a_message(
    request, released, browser, kind, name, title
):
    made = released(**request.getfixturevalue(kind))
    address = (made.folder / name).as_uri()
    for (width, height), scheme in zip(SIZES.values(), ("light", "dark"), strict=True):
        browser.look_like(width, height, scheme=scheme)
        browser.open(address)
        assert browser.requests == [address]
        assert browser.messages == []
        assert browser.evaluate("document.title") == title + made.config.release.title
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
        ground = browser.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(255, 255, 255)") == (scheme == "light")
    browser.look_like(1280, 900)


def test_the_keyboard_leads_past_the_navigation_and_opens_what_is_folded(released, browser):
    browser.open((released().folder / "index.html").as_uri())
    browser.press(*TAB)
    assert browser.evaluate("document.activeElement.className") == "skip"
    assert browser.evaluate("document.activeElement.getBoundingClientRect().left") == 0
    browser.press(*ENTER)
    assert browser.evaluate("location.hash") == "#main"
    browser.evaluate("document.querySelector('summary').focus()")
    browser.press(*ENTER)
    assert browser.evaluate("document.querySelector('details').open")


def test_in_print_nothing_is_folded_and_the_navigation_is_gone(released, browser):
    browser.open((released().folder / "index.html").as_uri())
    browser.look_like(1280, 900, media="print")
    height = "document.querySelector('{}').getBoundingClientRect().height"
    assert not browser.evaluate(height.format("nav"))
    assert browser.evaluate(height.format("details table"))
    browser.look_like(1280, 900)


def test_a_browser_would_report_a_request_and_a_message(tmp_path, browser):
    (tmp_path / "bad.html").write_text("<img src='gone.png'><script>console.log('told')</script>")
    browser.open((tmp_path / "bad.html").as_uri())
    assert len(browser.requests) == 2
    assert "['told']" in browser.messages
