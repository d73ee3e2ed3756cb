"""The code that the page of proofs points to exists."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8")


def defined_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.ClassDef)
    return {node.name for node in ast.walk(tree) if isinstance(node, kinds)}


def test_every_named_function_exists():
    places = re.findall(r"`(synth/[\w/]+\.py):(\w+)`", PAGE)
    assert len(places) >= 30
    for file, name in places:
        assert name in defined_in(ROOT / file), f"{file}:{name}"


def test_every_named_file_exists():
    for place in re.findall(r"`((?:synth|tests|benchmarks)/[\w/.-]+)`", PAGE):
        assert (ROOT / place).exists(), place


def test_every_step_of_the_proof_is_there():
    steps = [int(number) for number in re.findall(r"^### (\d+)\. ", PAGE, re.MULTILINE)]
    assert steps == list(range(1, 13))
