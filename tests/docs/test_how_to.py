"""The tutorial and the how-to pages: every block is carried out, and prints what they show."""

import math
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from synth.config import load_config
from tests.command_line import synth
from tests.docs.carried_out import ROOT, carry_out
from tests.docs.test_readme import block as readme_block
from tests.docs.test_signing_page import DOCS

HOW_TO = DOCS / "how-to"
ELSEWHERE = {"postgresql.md", "spark.md", "statistics-with-errors.md", "worked-study.md"}
"""Carried out in tests/engines, in tests/end_to_end and in modules of their own."""
ON_ADULT = {"choosing-epsilon.md", "reading-a-release.md"}
pytestmark = pytest.mark.xdist_group("adult-pages")


def require_installed_by_the_readme(_place: Path, text: str) -> str:
    """The lines are those of the README's main command, which is run from a clean clone."""
    main = readme_block("command: main")
    extra = re.search(r"'\.\[(\w+)\]'", text)
    if extra:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        assert extra[1] in project["optional-dependencies"]
    assert text.strip().replace(extra[0] if extra else ".", ".") in main
    return ""


def run_in_r(place: Path, text: str) -> str:
    """Where there is R the lines are run; anywhere they name files and columns that are there."""
    (path, header) = re.findall(r'"(outputs/[^"]+)"|c\((\w+) = ', text)
    columns = (place / path[0]).read_text(encoding="utf-8").splitlines()[0].split(",")
    assert {header[1], *re.findall(r"\$(\w+)", text)} == set(columns)
    if shutil.which("Rscript") is None:
        return ""
    command = ["Rscript", "-e", text]
    return subprocess.run(command, cwd=place, check=True, capture_output=True, text=True).stdout


INSTALL = {"install": require_installed_by_the_readme}


@pytest.fixture(scope="module")
def clone(clone_after_tutorial) -> Path:
    """The files that a clone would hold and the tutorial needs, after the tutorial."""
    return clone_after_tutorial


def test_the_tutorial_publishes_a_page_that_can_be_opened(clone):
    page = (clone / "outputs" / "adult-1994" / "index.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "Adult income extract, synthetic" in page


@pytest.mark.parametrize("name", sorted(ON_ADULT))
def test_pages_that_begin_where_the_tutorial_ends(clone, name):
    assert carry_out(HOW_TO / name, clone, {"in R": run_in_r})


@pytest.mark.parametrize(
    "page",
    [*sorted({path.name for path in HOW_TO.glob("*.md")} - ELSEWHERE - ON_ADULT), "../method.md"],
)
def test_pages_that_need_nothing(tmp_path, page):
    marks = carry_out(HOW_TO / page, tmp_path, INSTALL)
    assert marks or page == "index.md"


def test_every_how_to_page_is_listed_and_has_an_example():
    pages = {path.name for path in HOW_TO.glob("*.md")} - {"index.md"}
    listed = re.findall(r"\]\(([\w-]+\.md)\)", (HOW_TO / "index.md").read_text())
    assert set(listed) == pages
    assert pages > ELSEWHERE | ON_ADULT


def test_the_rule_of_thumb_of_epsilon_is_the_bound():
    text = (HOW_TO / "choosing-epsilon.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\d.]+) \| .* \| ([\d.]+) % \|$", text, re.MULTILINE)
    assert len(rows) == 5
    for epsilon, largest in rows:
        odds = math.exp(float(epsilon)) / 9
        assert f"{math.ceil(1000 * odds / (1 + odds)) / 10:.1f}" == largest, "rounded up"


def test_the_commands_of_the_page_on_errors_answer(clone):
    """Replicates are asked in test_errors_page.py; this release has none."""
    commands = re.findall(
        r"^    (synth errors .*)$", (DOCS / "errors.md").read_text(), re.MULTILINE
    )
    assert len(commands) == 4
    for command in commands:
        _, *words = shlex.split(command.replace("--method both", "--method measured"))
        done = synth(*words, cwd=clone)
        assert done.returncode == 0, done.stderr
        assert "measured" in done.stdout


@pytest.mark.parametrize("page", ["sources.md", "sources-spark.md", "ledger.md"])
def test_sections_in_the_reference_are_accepted(project, page):
    text = (DOCS / page).read_text(encoding="utf-8")
    series = {
        "release": {"id": "small-{period}"},
        "series": {"every": "month", "first": "2026-01", "rows": "new", "horizon": 2},
    }
    for section in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL):
        (name,) = yaml.safe_load(section)
        path = project(**{name: None}, **(series if "within: period" in section else {}))
        if "disposal" not in section and name == "source":
            section += "  disposal: keep\n  disposal_reason: it is in use\n"
        path.write_text(path.read_text() + section, encoding="utf-8")
        load_config(path, without_period="first")
