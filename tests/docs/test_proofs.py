"""The code that the page of proofs points to exists, and is broken on purpose somewhere."""

import ast
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from mutant_tables import MUTANTS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8")
TESTED = [test.partition("::") for mutant in MUTANTS for test in mutant.tests]


def cited() -> list[tuple[str, str]]:
    """Every `file:function`, and the further functions of the file that follow it."""
    found = re.findall(r"`(synth/[\w/]+\.py):(\w+)`((?:, `\w+`)*)", PAGE)
    return [
        (file, name)
        for file, first, others in found
        for name in [first, *re.findall(r"\w+", others)]
    ]


def defined_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.ClassDef)
    return {node.name for node in ast.walk(tree) if isinstance(node, kinds)}


def test_every_named_function_exists():
    assert len(cited()) >= 40
    for file, name in cited():
        assert name in defined_in(ROOT / file), f"{file}:{name}"


def test_every_named_file_exists():
    for place in re.findall(r"`((?:synth|tests|benchmarks)/[\w/.-]+)`", PAGE):
        assert (ROOT / place).exists(), place


def test_every_step_of_the_proof_is_there():
    steps = [int(number) for number in re.findall(r"^### (\d+)\. ", PAGE, re.MULTILINE)]
    assert steps == list(range(1, 15))


def test_every_named_function_is_broken_by_a_mutant():
    """`benchmarks/mutants.py` shows that a test notices each; here, that none is left out."""
    broken = {(mutant.file, name) for mutant in MUTANTS for name in mutant.definitions}
    assert [place for place in cited() if place not in broken] == []


def test_mutants_have_names_of_their_own():
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) > 400


@pytest.mark.parametrize("test", sorted({file for file, _, _ in TESTED}))
def test_tests_of_mutants_exist(test):
    source = (ROOT / "tests" / test).read_text(encoding="utf-8")
    for file, _, name in TESTED:
        assert file != test or re.search(rf"(?:def|class) {name}\b", source), name
