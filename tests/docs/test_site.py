"""The documentation site: its strict build, its links, and that it asks nobody for anything."""

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml

from tests.docs.carried_out import ROOT
from tests.docs.test_signing_page import DOCS

LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
"""What a browser fetches by itself, whoever reads the page."""


class Page(HTMLParser):
    """Addresses and anchors of one page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag in LOADS and given.get("rel") != "canonical":
            self.loaded.append(given.get(LOADS[tag], ""))
        if tag == "a" and "href" in given:
            self.links.append(given["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The site, built from a copy of `docs/`."""
    pytest.importorskip("material", reason="needs mkdocs-material: pip install '.[docs]'")
    place = tmp_path_factory.mktemp("site")
    shutil.copytree(DOCS, place / "docs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    built = subprocess.run(
        [*command, "--config-file", str(place / "docs" / "site" / "mkdocs.yml")],
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (built.returncode, built.stdout + built.stderr) == (0, "")
    return place / "build" / "site"


@pytest.fixture(scope="module")
def pages(site) -> dict[Path, Page]:
    return {path: Page(path) for path in site.rglob("*.html")}


def test_every_page_of_docs_is_a_page_of_the_site(site, pages):
    for page in DOCS.rglob("*.md"):
        assert (site / page.relative_to(DOCS)).with_suffix(".html") in pages
    assert not list(site.rglob("*.py"))
    assert not list(site.rglob("mkdocs.yml"))


def test_no_page_loads_anything_from_elsewhere(site, pages):
    for path, page in pages.items():
        assert page.loaded
        for address in page.loaded:
            assert urlsplit(address).scheme in ("", "data"), (path, address)
            assert urlsplit(address).netloc == "", (path, address)
        # The only thing that the theme's script would fetch from elsewhere is for diagrams.
        assert "mermaid" not in path.read_text(encoding="utf-8"), path
    for style in site.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        assert not re.search(r"""(?:@import\s+|url\()\s*["']?(?:https?:)?//""", text), style


def test_every_link_leads_somewhere(pages):
    inner = 0
    for path, page in pages.items():
        if path.name == "404.html":
            continue  # its links begin at the root of the server, wherever that is
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            assert target.is_file(), (path.name, link)
            if parts.fragment and target in pages:
                assert unquote(parts.fragment) in pages[target].anchors, (path.name, link)
            inner += 1
    assert inner > 1000


def test_the_shown_code_has_no_marks_of_the_tests(site):
    text = (site / "tutorial.html").read_text(encoding="utf-8")
    shown = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    assert "synth" in shown
    assert "excerpt" not in shown


def test_no_list_is_read_as_a_sentence(pages):
    """A list needs an empty line before it; without one its stars stay in the text."""
    code = re.compile(r"<(pre|code|script)\b.*?</\1>", re.DOTALL)
    left = re.compile(r"^\s*(?:[*-]|\d+\.) |\*\*|\]\(", re.MULTILINE)
    for path in pages:
        text = code.sub("code", path.read_text(encoding="utf-8"))
        for sentence in re.findall(r"<p>(.*?)</p>", text, re.DOTALL):
            assert not left.search(sentence), (path.name, sentence)


def test_the_site_is_built_by_ci_and_ignored_by_git():
    command = "mkdocs build --strict --config-file docs/site/mkdocs.yml"
    assert command in (ROOT / ".ci" / "run").read_text()
    written = yaml.safe_load(
        re.sub(r"!(?!/)\S+", "", (DOCS / "site" / "mkdocs.yml").read_text(encoding="utf-8"))
    )
    target = (DOCS / "site" / written["site_dir"]).resolve()
    assert target == ROOT / "build" / "site"
    assert "build/" in (ROOT / ".gitignore").read_text().split()
