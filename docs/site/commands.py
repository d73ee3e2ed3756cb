"""Writes the list of commands in `docs/commands.md`, below its marker.

    python docs/site/commands.py

Names, words and defaults come from the command line itself; a test says when to run this again.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_type_hints

from typer.models import ArgumentInfo, OptionInfo

from synth.cli import app

PAGE = Path(__file__).parents[1] / "commands.md"
MARKER = "<!-- commands -->\n"
SHARED = "Arguments of several commands"
MOST_TIMES = 2
"""What stands at more commands than that is explained once, in a section of its own."""
WORDS = {Path: "FILE", str: "TEXT", int: "NUMBER", float: "NUMBER", bool: ""}


def command_reference() -> str:
    """Markdown with every command, its arguments and its options, in order of their names."""
    found = {command.callback.__name__: command.callback for command in app.registered_commands}
    commands = {f"synth {name}": found[name] for name in sorted(found)}
    commands["synth"] = app.registered_callback.callback
    rows = {title: list(_rows(command)) for title, command in commands.items()}
    times = Counter(row for several in rows.values() for row in several)
    shared = [row for row, count in times.items() if count > MOST_TIMES]
    sections = [
        _section(title, command, rows[title], shared) for title, command in commands.items()
    ]
    return "\n".join([f"## {SHARED}", "", *_table(shared), *sections])


def _section(title: str, command: Any, rows: list[str], shared: list[str]) -> str:
    lines = [f"## `{title}`", "", inspect.getdoc(command) or "", ""]
    if named := ", ".join(row.split(" | ")[0].removeprefix("| ") for row in rows if row in shared):
        lines += [f"[As elsewhere](#{SHARED.lower().replace(' ', '-')}): {named}.", ""]
    return "\n".join(lines + _table([row for row in rows if row not in shared]))


def _table(rows: list[str]) -> list[str]:
    head = ["| argument or option | default | meaning |", "|---|---|---|"]
    return [*head, *rows, ""] if rows else []


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
