"""`synth confirm` on a terminal that a test holds: whole, interrupted, resumed, refused."""

import os
import pty
import select
import stat
import sys

import pytest

from synth.drafting.marks import marks
from tests.command_line import synth, words_of_synth
from tests.terminal import INTERRUPT, answered

CANARY = "canary-4711"
ANSWERS = {
    "release.id": "visits-2024", "release.title": "Visits", "release.description": "Visits",
    "release.curators": "Test Office", "release.contact": "data@example.org",
    "release.intended_use": "Teaching", "release.region": "Examplia", "release.sector": "Health",
    "source.disposal_reason": "kept by law", "privacy.justification": "made-up records",
    "ledger.population": "made-up people", "source > ": "codebook of 2024",
}  # fmt: skip
"""To all else the answer is y."""


def held(config, *, stop_at=""):
    """Answer on a terminal until the end; with `stop_at`, Ctrl-C instead of that answer.

    What is to be stopped is executed, so that the terminal itself stops it.
    """

    def answer(key):
        stops = stop_at and key == stop_at
        return INTERRUPT if stops else (ANSWERS.get(key, "y") + "\n").encode()

    program = [sys.executable, "-m", "synth"] if stop_at else words_of_synth()
    return answered([*program, "confirm", config.name], config.parent, answer)


@pytest.fixture
def config(tmp_path):
    rows = [f"{n % 6},{[1, 2, 3, 9][n % 4]},{CANARY}-{n}" for n in range(120)]
    (tmp_path / "visits.csv").write_text("\n".join(["children,smokes,note", *rows]) + "\n")
    path = tmp_path / "visits.yaml"
    done = synth("draft", "visits.csv", "-o", path, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "visits.csv").unlink()  # from here on no data are opened
    return path


def test_a_draft_is_confirmed_on_a_terminal_and_accepted(config):
    before = {path.name for path in config.parent.iterdir()}
    config.chmod(0o644)
    code, shown = held(config, stop_at="privacy.epsilon")
    assert (code, "interrupted" in shown) == (130, True), shown
    left = marks(config.read_text())
    assert left[0].place == ("privacy", "epsilon"), "what was answered is kept"
    assert {path.name for path in config.parent.iterdir()} == before
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    code, shown = held(config)
    assert code == 0, shown
    assert "release.id" not in shown, "it goes on where it was left"
    assert "No mark is left." in shown
    assert "Next: synth check visits.yaml" in shown
    assert "one of these levels: 1, 2, 3" in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert {path.name for path in config.parent.iterdir()} == before
    text = config.read_text()
    assert "left out" not in text, "private comments go, if so wished"
    assert "# What this release spends." in text
    done = synth("check", config)
    assert done.returncode == 0, done.stderr
    code, shown = held(config)
    assert (code, "No mark is left." in shown) == (0, True)


def test_without_a_terminal_it_says_what_to_do_and_changes_nothing(config):
    before = config.read_bytes()
    done = synth("confirm", config)
    assert done.returncode == 2
    assert "no terminal" in done.stderr
    assert "remove the word !CONFIRM" in done.stderr
    assert config.read_bytes() == before


def test_a_change_by_somebody_else_is_not_written_over(config):
    mine = config.read_text().replace("marginals: 3", "marginals: 2")
    command = [*words_of_synth(), "confirm", str(config)]
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(command[0], command)
    shown = ""
    while not shown.endswith("> "):
        assert select.select([terminal], [], [], 60)[0], shown
        shown += os.read(terminal, 1 << 16).decode()
    config.write_text(mine)
    os.write(terminal, b"visits-2024\n")
    try:
        while select.select([terminal], [], [], 60)[0]:
            shown += os.read(terminal, 1 << 16).decode()
    except OSError:
        pass  # the end, as Linux says it
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 1
    assert "was changed by somebody else" in shown
    assert config.read_text() == mine


@pytest.mark.parametrize("content", ["a: [1", ""])
def test_what_is_no_configuration_is_refused_before_any_question(tmp_path, content):
    path = tmp_path / "odd.yaml"
    path.write_text(content)
    code, shown = held(path)
    assert path.read_text() == content
    assert "Traceback" not in shown
    assert code == 2 or "expected" in shown
