"""The page on evaluation: its commands are run, and its limits are those of now."""

from synth.evaluation import comparisons
from tests.docs.test_signing_page import DOCS, block, run

PAGE = (DOCS / "evaluating.md").read_text(encoding="utf-8")


def test_the_command_of_the_page_writes_the_report(project):
    place = project().parent
    assert run(place, "synth run small.yaml").returncode == 0
    done = run(place, block(PAGE, "commands: evaluate"))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "evaluation.html\n"
    assert "NOT PRIVATE" in (place / "evaluation.html").read_text()


def test_the_other_command_of_the_page_says_what_fits_and_charges_nothing(project):
    path = project()
    path.write_text(path.read_text().replace("Nord", "North"), encoding="utf-8")
    done = run(path.parent, block(PAGE, "commands: inspect"))
    assert done.returncode == 0, done.stderr
    assert "PRIVATE" in done.stdout
    assert "town: 40 of 120 values fit nowhere" in done.stdout
    assert "Nord" in done.stdout
    assert not list(path.parent.rglob("*.sqlite*"))


def test_the_limits_on_the_page_are_those_of_the_code():
    for sentence in (
        f"at most {comparisons.MOST_TABLES} tables of one order",
        f"of the first {comparisons.MOST_COLUMNS}",
        f"up to {comparisons.MOST_CODES} codes, {comparisons.MOST_TARGETS} columns",
        f"tested on {comparisons.TEST_RECORDS:,} records",
        f"one half ({comparisons.NEAREST_RECORDS:,} of them)",
    ):
        assert sentence in PAGE, sentence
