"""Every test that the table of hazards names exists."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLE = (ROOT / "docs" / "privacy.md").read_text().split("## Hazards, and what closes each")[1]
SOURCES = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))


def test_named_tests_and_files_exist():
    names = set(re.findall(r"`((?:test|Test)\w+)`", TABLE))
    assert len(names) > 15
    for name in names:
        assert f"def {name}(" in SOURCES or f"class {name}:" in SOURCES, name
    for place in re.findall(r"`(tests/[\w/.]+)`", TABLE):
        assert (ROOT / place).exists(), place


def test_named_mutants_exist():
    quoted = [re.findall(r'"([^"]+)"', cell) for cell in re.findall(r"mutants? (.*?) \|", TABLE)]
    names = [name for cell in quoted for name in cell]
    assert len(names) > 10
    for name in names:
        assert f'"{name}' in SOURCES, name
