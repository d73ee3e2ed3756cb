"""Carries out the fenced blocks of a page, from the first to the last, as their marks say.

Above every block stands a comment that says what becomes of it; a block without one is refused:

* `run`, or `run, exit 2`: a shell script, with that exit code.
* `file: NAME`: the block is written to NAME.
* `replaces in NAME`: its top-level keys take the place of those of the YAML file NAME.
* `python`: doctests; the blocks of a page share their names.
* `output`: all that the last script printed. `excerpt`: lines of that, in this order.
* `same: PLACE`: quoted from a file of the project; each line of the block is in it.
* anything else: left to the test that gives `others`.

`, noise` after `python`, `output` or `excerpt`: every number, and blanks, may differ.
"""

import contextlib
import doctest
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tests.command_line import synth
from tests.docs.test_signing_page import DOCS, run

ROOT = DOCS.parent
SCRIPT = """
import runpy, sys
script = sys.argv.pop(1)
sys.path.insert(0, script.rpartition("/")[0])
runpy.run_path(script, run_name="__main__")
sys.exit()
"""
BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>[^>]+) -->\n)?^```(?P<kind>\w*)\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
Script = Callable[[Path, str], str]
"""Carries out a block of a kind of its own; gives what it printed."""


def printed_by(script: str, *words: str) -> str:
    """The output of a script of the project, forked where its libraries are loaded."""
    done = synth(script, *words, cwd=ROOT, program=SCRIPT)
    assert done.returncode == 0, done.stderr
    return done.stdout


def blocks(page: Path) -> Iterator[tuple[str, str, str]]:
    """Mark, language and text of every fenced block."""
    for found in BLOCK.finditer(page.read_text(encoding="utf-8")):
        assert found["mark"], f"{page.name}: what becomes of this block?\n{found['text']}"
        yield found["mark"], found["kind"], found["text"]


def plain(text: str, *, noise: bool) -> list[str]:
    """The lines without blanks at their ends; with `noise`, without numbers and rules too."""
    lines = [line.rstrip() for line in text.splitlines()]
    if noise:
        lines = [re.sub(r"[\d.,]*\d", "#", re.sub(r"\s+|─+", " ", line)) for line in lines]
    return [line.strip() if noise else line for line in lines if line]


def require_excerpt(shown: list[str], printed: list[str]) -> None:
    rest = iter(printed)
    for line in shown:
        assert line in rest, f"{line!r} is not (or not here) in\n" + "\n".join(printed)


class Checker(doctest.OutputChecker):
    """Compares without numbers where a block is marked so."""

    noise = False

    def check_output(self, want: str, got: str, flags: int) -> bool:
        if self.noise:
            return plain(want, noise=True) == plain(got, noise=True)
        return super().check_output(want, got, flags)


def replace_sections(path: Path, text: str) -> None:
    """Put top-level keys in the place of those of the same name; new ones go to the end."""
    for section in re.split(r"^(?=[a-z_]+:)", text, flags=re.MULTILINE)[1:]:
        name = section.split(":")[0]
        old = path.read_text(encoding="utf-8")
        pattern = rf"^{name}:.*?(?=^[a-z_]+:|\Z)"
        if re.search(pattern, old, re.DOTALL | re.MULTILINE):
            new = re.sub(pattern, lambda _, s=section: s, old, flags=re.DOTALL | re.MULTILINE)
        else:
            new = old + section
        path.write_text(new, encoding="utf-8")


def carry_out(page: Path, place: Path, others: Mapping[str, Script] | None = None) -> list[str]:
    """Carry out every block of the page in this directory; give the marks of those."""
    marks: list[str] = []
    printed = ""
    names: dict[str, object] = {}
    checker = Checker()
    for mark, kind, text in blocks(page):
        action, noise = mark.removesuffix(", noise"), mark.endswith(", noise")
        marks.append(mark)
        if others and action in others:
            printed = others[action](place, text)
        elif ran := re.fullmatch(r"run(?:, exit (\d+))?", action):
            assert kind == "sh"
            done = run(place, f"exec 2>&1\n{text}")
            assert done.returncode == int(ran[1] or 0), f"{text}\n{done.stdout}{done.stderr}"
            printed = done.stdout
        elif action.startswith("file: "):
            (place / action.removeprefix("file: ")).write_text(text, encoding="utf-8")
        elif action.startswith("replaces in "):
            replace_sections(place / action.removeprefix("replaces in "), text)
        elif action == "python":
            checker.noise = noise
            examples = doctest.DocTestParser().get_doctest(text, names, page.name, None, 0)
            assert examples.examples
            said: list[str] = []
            with contextlib.chdir(place):
                runner = doctest.DocTestRunner(checker)
                result = runner.run(examples, out=said.append, clear_globs=False)
            names = examples.globs
            assert result.failed == 0, "".join(said)
        elif action == "output":
            assert plain(text, noise=noise) == plain(printed, noise=noise), printed
        elif action == "excerpt":
            require_excerpt(plain(text, noise=noise), plain(printed, noise=noise))
        elif action.startswith("same: "):
            quoted = (ROOT / action.removeprefix("same: ")).read_text(encoding="utf-8")
            require_excerpt(plain(text, noise=False), plain(quoted, noise=False))
        else:
            raise AssertionError(f"{page.name}: no such mark: {mark}")
    return marks
