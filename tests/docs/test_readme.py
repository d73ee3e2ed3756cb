"""The README's commands do what it says, and what it quotes is what they print."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.command_line import synth
from tests.conftest import PEOPLE
from tests.end_to_end.test_confirm import ANSWERS, held
from tests.unit.audit.conftest import SIZES

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def block(mark: str) -> str:
    """The fenced block that follows a marker comment."""
    found = re.search(rf"<!-- {re.escape(mark)} -->\n```\w*\n(.*?)```", README, re.DOTALL)
    assert found, f"the README has no block marked {mark!r}"
    return found[1]


@pytest.fixture(scope="module")
def clone(tmp_path_factory) -> Path:
    """The files that a clone would hold and a run needs."""
    place = tmp_path_factory.mktemp("clone")
    for part in ("configs", "data"):
        shutil.copytree(ROOT / part, place / part)
    return place


AUDIT = f"""
import importlib
from synth.cli import main
for name, sizes in { ({module.__name__: sizes for module, sizes in SIZES.items()})!r}.items():
    vars(importlib.import_module(name)).update(sizes)
main()
"""
"""With as many canaries as the tests of the audit have: a whole one takes a quarter of a minute."""


def words_of(line: str) -> list[str]:
    words = shlex.split(line)
    assert words[0].removeprefix(".venv/bin/") == "synth"
    return words[1:]


def test_the_main_command_installs_and_runs():
    *setup, run = block("command: main").strip().removesuffix("\n").split(" && ")
    assert setup[0].startswith("python3 -m venv")
    assert "pip install" in setup[1]
    assert run.split()[-3:] == ["synth", "run", "configs/nltcs.yaml"] or run.endswith(
        "synth run configs/nltcs.yaml"
    )


@pytest.fixture(scope="module")
def main_run(clone) -> subprocess.CompletedProcess[str]:
    """The main command, carried out in the clone; `.ci/run` executes it."""
    run = block("command: main").strip().split(" && ")[-1]
    return synth(*words_of(run), cwd=clone)


def test_the_run_prints_what_the_readme_quotes(main_run):
    assert main_run.returncode == 0, main_run.stderr
    assert (main_run.stderr + main_run.stdout).splitlines() == block("output: main").splitlines()


IN_THE_TUTORIAL = (
    "check configs/",
    "plan configs/adult.yaml\n",
    "explain configs/",
    "verify outputs/",
)
"""How the commands begin that the tutorial carries out, on Adult, and compares with its words."""


@pytest.mark.usefixtures("main_run")
def test_every_other_command_works_on_that_release(clone):
    for line in block("commands: more").splitlines():
        command = line.split("#")[0].strip()
        if command and not f"{command}\n".startswith(tuple(f"synth {c}" for c in IN_THE_TUTORIAL)):
            words = words_of(command)
            finished = synth(*words, cwd=clone, program=AUDIT if words[0] == "audit" else "")
            assert finished.returncode == 0, f"{command}\n{finished.stderr}"


def test_the_tutorial_carries_out_what_is_left_out_here():
    page = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    ran = re.findall(r"<!-- run -->\n```sh\n(.*?)```", page, re.DOTALL)
    for command in IN_THE_TUTORIAL:
        assert any(script.startswith(f"synth {command}") for script in ran), command


def test_a_file_of_ones_own_goes_from_a_draft_to_a_release(tmp_path):
    (tmp_path / "people.csv").write_text(PEOPLE)
    draft, confirm, *later = (line.split("#")[0] for line in block("commands: own").splitlines())
    assert [words_of(line)[0] for line in later] == ["inspect", "plan", "rehearse", "run"]
    drafted = synth(*words_of(draft), cwd=tmp_path)
    assert drafted.returncode == 0, drafted.stderr
    config = tmp_path / "people.yaml"
    assert "!CONFIRM" in config.read_text()
    for line in later:
        refused = synth(*words_of(line), cwd=tmp_path)
        assert refused.returncode == 2
        assert "!CONFIRM" in refused.stderr
    assert words_of(confirm) == ["confirm", config.name]
    code, shown = held(config)
    assert code == 0, shown
    for line in later:
        done = synth(*words_of(line), cwd=tmp_path)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
    assert (tmp_path / "outputs" / ANSWERS["release.id"] / "index.html").is_file()
