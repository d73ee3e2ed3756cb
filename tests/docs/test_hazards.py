"""Every test and file that a page names exists, and those of the table of hazards are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TABLE = (ROOT / "docs" / "privacy.md").read_text().split("## Hazards, and what closes each")[1]
SOURCES = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))


def test_the_table_of_hazards_names_tests():
    assert len(set(re.findall(r"`((?:test|Test)\w+)`", TABLE))) > 15


def test_named_mutants_exist():
    quoted = [re.findall(r'"([^"]+)"', cell) for cell in re.findall(r"mutants? (.*?) \|", TABLE)]
    names = [name for cell in quoted for name in cell]
    assert len(names) > 10
    for name in names:
        assert f'"{name}' in SOURCES, name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_tests_and_files_that_a_page_names_exist(page):
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r"`((?:test_|Test)\w+)`", text):
        assert f"def {name}(" in SOURCES or f"class {name}:" in SOURCES, name
    for place in re.findall(r"`((?:synth|tests|benchmarks|docs|configs)/[\w/.-]+)[`:]", text):
        assert (ROOT / place).exists(), place
    for file in re.findall(r"`(test_\w+\.py)`", text):
        assert any((ROOT / "tests").rglob(file)), file
