"""The page in a browser: it shows, asks nobody for anything, reports nothing, and fits."""

import shutil

import pytest

SIZES = {"phone": (390, 844), "desktop": (1280, 900)}
BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)


@pytest.fixture
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="needs `playwright`")
    if not BROWSER:
        pytest.skip("needs Chromium on the machine")
    with playwright.sync_playwright() as running:
        started = running.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.mark.parametrize("kind", ["busy", "nasty"])
def test_the_page_shows_without_a_request_or_a_message(request, released, browser, kind):
    made = released(**request.getfixturevalue(kind))
    address = (made.folder / "index.html").as_uri()
    for width, height in SIZES.values():
        for scheme in ("light", "dark"):
            page = browser.new_page(
                viewport={"width": width, "height": height}, color_scheme=scheme
            )
            asked, told = [], []
            page.on("request", lambda request, asked=asked: asked.append(request.url))
            page.on("console", lambda message, told=told: told.append(message.text))
            page.on("pageerror", lambda error, told=told: told.append(str(error)))
            page.goto(address)
            assert asked == [address]
            assert told == []
            assert page.title() == made.config.release.title
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (ground == "rgb(255, 255, 255)") == (scheme == "light")
            page.close()


def test_the_keyboard_leads_past_the_navigation_and_opens_what_is_folded(released, browser):
    page = browser.new_page()
    page.goto((released().folder / "index.html").as_uri())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.evaluate("document.activeElement.getBoundingClientRect().left") == 0
    page.keyboard.press("Enter")
    assert page.url.endswith("#main")
    folded = page.locator("summary").first
    folded.focus()
    page.keyboard.press("Enter")
    assert page.locator("details").first.get_attribute("open") == ""


def test_in_print_nothing_is_folded_and_the_navigation_is_gone(released, browser):
    page = browser.new_page(color_scheme="dark")
    page.goto((released().folder / "index.html").as_uri())
    page.emulate_media(media="print", color_scheme="light")
    assert not page.locator("nav").is_visible()
    assert page.locator("details table").first.is_visible()
    assert len(page.pdf()) > 1000


def test_a_browser_would_report_a_request_and_a_message(tmp_path, browser):
    (tmp_path / "bad.html").write_text("<img src='gone.png'><script>console.log('told')</script>")
    page, asked, told = browser.new_page(), [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: told.append(message.text))
    page.goto((tmp_path / "bad.html").as_uri())
    assert len(asked) == 2
    assert "told" in told
