"""What reads raw data without noise is reached by three commands alone, through one door each."""

import ast
import subprocess
import sys

from tests.secrecy.test_imports import PACKAGE

DOORS = {
    "synth.curator.not_private": {
        "api/keeper.py", "drafting/records.py", "evaluation/evaluate.py",
    },
    "synth.drafting.records": {"api/keeper.py", "cli/keeper_commands.py"},
    "synth.evaluation.evaluate": {
        "api/keeper.py", "evaluation/page.py"
    },
}  # fmt: skip


def modules_imported(source):
    """Every module that a text may import, with the names taken from it."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            found |= {node.module or ""} | {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def test_only_their_commands_go_through_the_doors():
    """Who imports from a room, or a module, of those that are not in it."""
    imported = {path: modules_imported(path.read_text()) for path in PACKAGE.rglob("*.py")}
    users = {
        door: {
            path.relative_to(PACKAGE).as_posix()
            for path, modules in imported.items()
            if any(f"{name}.".startswith(f"{door}.") for name in modules)
            and (PACKAGE.parent / door.replace(".", "/")) not in path.parents
        }
        for door in DOORS
    }
    assert users == DOORS


def test_the_check_sees_every_way_to_import():
    for text in (
        "import synth.curator.not_private.inference",
        "from synth.curator.not_private import inference",
        "def f():\n    from synth.curator.not_private.inference import infer",
    ):
        assert "synth.curator.not_private.inference" in modules_imported(text)


def test_a_draft_of_a_codebook_loads_nothing_that_could_open_data(tmp_path):
    (tmp_path / "schema.json").write_text('{"fields": [{"name": "a"}]}')
    code = (
        "import sys\n"
        "from synth.cli import app\n"
        "app(['draft', '--from-datapackage', 'schema.json'], standalone_mode=False)\n"
        "print([m for m in sys.modules if m.startswith(('synth.curator', 'duckdb', 'pyarrow'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
