"""Writes the list of commands in `docs/commands.md`, below its marker.

    python docs/site/commands.py

Names, words and defaults come from the command line itself; a test says when to run this again.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_type_hints

from typer.models import ArgumentInfo, OptionInfo

from synth.cli import app

PAGE = Path(__file__).parents[1] / "commands.md"
MARKER = "<!-- commands -->\n"
WORDS = {Path: "FILE", str: "TEXT", int: "NUMBER", float: "NUMBER", bool: ""}


def command_reference() -> str:
    """Markdown with every command, its arguments and its options, in order of their names."""
    commands = {found.callback.__name__: found.callback for found in app.registered_commands}
    sections = [_section(f"synth {name}", commands[name]) for name in sorted(commands)]
    return "\n".join([*sections, _section("synth", app.registered_callback.callback)])


def _section(title: str, command: Any) -> str:
    lines = [f"## `{title}`", "", inspect.getdoc(command) or "", ""]
    rows = list(_rows(command))
    if rows:
        lines += ["| argument or option | default | meaning |", "|---|---|---|", *rows, ""]
    return "\n".join(lines)


def _rows(command: Any) -> Iterator[str]:
    hints = get_type_hints(command, include_extras=True)
    for name, parameter in inspect.signature(command).parameters.items():
        annotation, info = get_args(hints[name])
        if info.hidden:
            continue
        required = parameter.default is inspect.Parameter.empty
        default = "required" if required else _default(parameter.default)
        yield f"| `{_written(name, annotation, info)}` | {default} | {_help(annotation, info)} |"


def _written(name: str, annotation: Any, info: ArgumentInfo | OptionInfo) -> str:
    """How it stands on a command line."""
    if isinstance(info, ArgumentInfo):
        return info.metavar or f"[{name.upper()}]"
    declared = (info.default, *(info.param_decls or ()))
    options = [word for word in declared if isinstance(word, str) and word.startswith("-")]
    options = options or [f"--{name.replace('_', '-')}"]
    value = info.metavar or WORDS.get(_kind(annotation), "CHOICE")
    return ", ".join(f"{option} {value}".strip() for option in options)


def _kind(annotation: Any) -> Any:
    """The type of one value: without None, and without the list of a repeated option."""
    for part in get_args(annotation):
        if part is not type(None):
            return _kind(part)
    return annotation


def _default(value: Any) -> str:
    value = value.value if isinstance(value, Enum) else value
    return "" if value in (None, False, "") else f"`{value}`"


def _help(annotation: Any, info: ArgumentInfo | OptionInfo) -> str:
    kind, text = _kind(annotation), info.help or ""
    if isinstance(kind, type) and issubclass(kind, Enum):
        text += " One of: " + ", ".join(f"`{choice.value}`" for choice in kind) + "."
    if info.min is not None or info.max is not None:
        text += f" From {info.min} to {info.max:,}." if info.max else f" At least {info.min}."
    return text.replace("|", r"\|").replace("{", "`{").replace("}", "}`")


if __name__ == "__main__":
    head, _ = PAGE.read_text(encoding="utf-8").split(MARKER)
    PAGE.write_text(f"{head}{MARKER}\n{command_reference()}", encoding="utf-8")
