"""`synth confirm`: the marks of a draft, asked one after the other on a terminal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

try:
    import readline
except ImportError:  # not on every system; then nothing is written in advance
    readline = None  # type: ignore[assignment]

WELCOME = """\
{count} entries are marked !CONFIRM. Compare each with a PUBLIC source: what
only the data show is not to be published. The screen shows the draft, which is
PRIVATE; no data are opened. Every answer is saved at once: q or Ctrl-C ends,
and the same command goes on from there."""


class Terminal:
    """Questions on standard output, answers from standard input."""

    def say(self, text: str) -> None:
        """Show some lines; signs of the data that would steer the terminal are written out."""
        print("".join(_visible(each) for each in text))

    def ask(self, prompt: str, written: str = "") -> str:
        """An answer of one line; where the terminal can, it begins with what is written."""
        if readline is not None:
            readline.set_startup_hook(lambda: readline.insert_text(written))
        try:
            return input(prompt)
        finally:
            if readline is not None:
                readline.set_startup_hook()


def _visible(sign: str) -> str:
    is_plain = sign.isprintable() or sign == "\n"
    return sign if is_plain else sign.encode("unicode_escape").decode()


def confirm(
    config: Annotated[
        Path, typer.Argument(metavar="CONFIG", help="The YAML configuration; it is changed.")
    ],
) -> None:
    """Ask for everything that a draft has marked, and remove the marks. Opens no data."""
    from synth.config.loader import find_problems, read_text, read_tree
    from synth.config.schema.yaml_tree import Unconfirmed
    from synth.drafting.marks import as_if_confirmed, marks, without_private_comments
    from synth.drafting.questions import confirm as ask_for_marks
    from synth.errors import CommandError, ConfigError, Problem
    from synth.job.private_file import replace_private

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise CommandError(
            "synth confirm asks questions, and this is no terminal",
            fix="start it on a terminal; or edit the file: compare every entry marked !CONFIRM "
            "with a public source, correct it, and remove the word !CONFIRM",
        )
    problems: list[Problem] = []
    read_tree(config, problems)
    if others := [each for each in problems if not isinstance(each, Unconfirmed)]:
        raise ConfigError(str(config), others)
    text = read_text(config)

    def save(before: str, after: str) -> None:
        replace_private(config, after, before=before)

    terminal = Terminal()
    if found := len(marks(text)):
        print(WELCOME.format(count=found))
        text = ask_for_marks(text, terminal, save, base=config.absolute().parent)
    left = marks(text)
    if left:
        lines = ", ".join(str(spot.line) for spot in left[:8])
        print(f"\n{len(left)} marks are left, on lines {lines}{', ...' * (len(left) > 8)}.")
        print(f"Go on with: synth confirm {config}")
        return
    print("\nNo mark is left.")
    cleaned = without_private_comments(text)
    if text.startswith("# PRIVATE") and cleaned != text:
        print("The comments at the top and beside the columns may still tell of the data.")
        if terminal.ask("Take them out now? y, n > ").strip() == "y":
            save(text, cleaned)
            text = cleaned
    if wrong := find_problems(as_if_confirmed(text), base=config.absolute().parent):
        print(ConfigError(str(config), wrong))
    print(f"Next: synth check {config}")
