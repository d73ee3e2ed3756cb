"""Imports run one way, and nothing after the boundary can even name raw data."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "synth"

ORDER = [
    ["errors", "progress"],
    ["strict_json"],
    ["signatures"],
    ["domain"],
    ["config"],
    ["policy"],
    ["privacy"],
    ["noise"],
    ["planning"],
    ["measurements"],
    ["curator", "estimate"],
    ["audit"],
    ["drafting"],
    ["release"],
    ["reading"],
    ["catalogue", "evaluation"],
    ["bookkeeping"],
    ["job"],
    ["schedule"],
    ["api"],
    ["cli"],
    ["__main__", "__init__"],
]
RANK = {name: rank for rank, names in enumerate(ORDER) for name in names}


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_parts(source: str) -> set[str]:
    """The parts of `synth` that a module imports, anywhere in its text."""
    parts = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the direction"
            if node.module == "synth":
                parts |= {alias.name for alias in node.names}
            elif (node.module or "").startswith("synth."):
                parts.add(node.module.split(".")[1])
        elif isinstance(node, ast.Import):
            parts |= {a.name.split(".")[1] for a in node.names if a.name.startswith("synth.")}
    return parts


FORBIDDEN = {
    (part, "curator") for part in ("estimate", "release", "bookkeeping", "measurements", "planning")
}


def violations(part: str, source: str) -> list[str]:
    return [
        f"{part} imports {other}"
        for other in sorted(imported_parts(source) - {part})
        if other in RANK and (RANK[other] >= RANK[part] or (part, other) in FORBIDDEN)
    ]


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: part_of(p))
def test_imports_run_one_way(path):
    assert violations(part_of(path), path.read_text()) == []


@pytest.mark.parametrize(
    ("part", "source"),
    [
        ("estimate", "from synth.curator import measure"),
        ("release", "import synth.curator.measure"),
        ("release", "def f():\n    from synth import curator"),
        ("curator", "from synth.release import write_release"),
        ("curator", "from synth.estimate import estimate"),
        ("errors", "from synth.domain import Universe"),
    ],
)
def test_the_check_sees_a_wrong_import(part, source):
    assert violations(part, source)


def test_every_part_has_a_place_in_the_order():
    assert {part_of(path) for path in PACKAGE.rglob("*.py")} == set(RANK)


def test_the_noise_needs_numpy_cryptography_and_the_standard_library_only():
    allowed = set(sys.stdlib_module_names) | {"numpy", "cryptography", "synth"}
    for path in (PACKAGE / "noise").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            assert {name.split(".")[0] for name in names} <= allowed, path


def test_importing_synth_loads_no_heavy_library():
    heavy = {"pandas", "scipy", "pyarrow", "ibis", "duckdb", "matplotlib", "jinja2", "jsonschema"}
    code = "import sys, synth, synth.cli; print(' '.join(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert heavy.isdisjoint(loaded)


def functions_that_consume(path: Path) -> list[str]:
    """Every call of `consume` in a file, as module.function of the function that calls it."""
    found = []
    for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(function, ast.FunctionDef):
            calls = [
                node
                for node in ast.walk(function)
                if isinstance(node, ast.Attribute) and node.attr == "consume"
            ]
            found += [f"{path.stem}.{function.name}"] * len(calls)
    return found


def test_secrets_are_taken_out_where_the_architecture_says_and_nowhere_else():
    page = (PACKAGE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = page.split("## Types of the stages")[1].split("\n## ")[0]
    told = re.findall(r"^\| `([\w.]+)` \|", section, re.MULTILINE)
    files = [path for path in PACKAGE.rglob("*.py") if "consume" in path.read_text("utf-8")]
    rooms = {part_of(path) for path in files}
    assert rooms == {"curator", "audit"}, "an audit counts made-up records only"
    files = [path for path in files if part_of(path) == "curator"]
    assert sorted(name for path in files for name in functions_that_consume(path)) == sorted(told)
