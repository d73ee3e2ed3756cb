"""Draws `docs/images/rooms.svg`: the rooms of `synth/` and which of them import which.

    python docs/site/rooms.py

The arrows come from the code, the places from the table below. An arrow that follows from two
others is left out, and so are those to the ground, on which every room stands. A test says when to
run this again.
"""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "images" / "rooms.svg"
CODE = runpy.run_path(str(ROOT / "tests" / "secrecy" / "test_imports.py"))

PLACES = {
    "cli": (1.8, 0, "the commands"),
    "synth": (4.2, 0, "from Python"),
    "api": (2.8, 1, "the commands as functions"),
    "drafting": (0, 2, "begin a configuration"),
    "audit": (1, 2, "try to refute"),
    "schedule": (1.6, 1, "series, unattended"),
    "job": (2.6, 2, "the whole job"),
    "evaluation": (3.8, 2, "beside the raw data"),
    "catalogue": (5.1, 2, "all releases, listed"),
    "reading": (5.4, 3, "a release opened"),
    "bookkeeping": (2.4, 4, "what was spent"),
    "policy": (3.6, 4, "what is allowed"),
    "release": (4.9, 4, "written, verified"),
    "curator": (0.6, 5, "SECRET: raw data"),
    "estimate": (4.4, 5, "whole counts"),
    "measurements": (2.4, 6, "noisy tables"),
    "noise": (2, 7, "exact draws"),
    "planning": (3.3, 7, "what to measure"),
    "privacy": (2, 8, "sensitivity, budgets"),
    "config": (2.6, 9, "YAML to values"),
    "domain": (2.6, 10, "the universe"),
}
"""Column, row and words of every room; `synth` is its `__init__`."""

WIDE, HIGH = 132, 42
STEP_RIGHT, STEP_DOWN = 152, 74
MARGIN = 8
COLOURS = {"curator": "#f8c9c4", "estimate": "#d5ebd2", "release": "#d5ebd2"}
COLOURS |= dict.fromkeys(("reading", "catalogue"), "#d5ebd2")


def imports() -> dict[str, set[str]]:
    """What every room imports, the ground left out."""
    found: dict[str, set[str]] = {}
    for path in sorted(CODE["PACKAGE"].rglob("*.py")):
        room = {"__init__": "synth"}.get(CODE["part_of"](path), CODE["part_of"](path))
        if room != "__main__" and room not in ground():
            others = CODE["imported_parts"](path.read_text(encoding="utf-8")) - ground()
            found.setdefault(room, set()).update(others - {room, "__init__"})
    return {room: others & found.keys() for room, others in found.items()}


def ground() -> set[str]:
    """The modules beside the rooms."""
    return {path.stem for path in CODE["PACKAGE"].glob("*.py") if not path.stem.startswith("__")}


def arrows() -> list[tuple[str, str]]:
    """The imports that do not follow from others, each from the room that imports."""
    direct = imports()

    def reached(room: str) -> set[str]:
        return direct[room].union(*(reached(other) for other in direct[room]))

    return [
        (room, other)
        for room in sorted(direct)
        for other in sorted(direct[room])
        if not any(other in reached(between) for between in direct[room] - {other})
    ]


def picture() -> str:
    """The drawing; rooms and arrows carry their names, for whoever reads it by program."""
    bottom = 1 + max(row for _, row, _ in PLACES.values())
    wide = 2 * MARGIN + int(5.4 * STEP_RIGHT) + WIDE
    high = 2 * MARGIN + bottom * STEP_DOWN + HIGH
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" '
        f'width="{wide}" height="{high}" font-family="sans-serif" text-anchor="middle">',
        "<title>The rooms of synth; an arrow leads to what a room imports</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#667"/></marker></defs>',
        f'<rect width="{wide}" height="{high}" rx="8" fill="#ffffff"/>',
    ]
    lines += [_arrow(*pair) for pair in arrows()]
    lines += [_room(name) for name in PLACES]
    floor = " · ".join(sorted(ground()))
    lines += [
        f'<rect data-ground="{" ".join(sorted(ground()))}" x="{MARGIN}" '
        f'y="{MARGIN + bottom * STEP_DOWN}" width="{wide - 2 * MARGIN}" height="{HIGH}" rx="6" '
        'fill="#ececec" stroke="#889"/>',
        f'<text x="{wide / 2:g}" y="{MARGIN + bottom * STEP_DOWN + 26}" font-size="14" '
        f'fill="#223">{floor}: the ground on which every room stands</text>',
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _corner(name: str) -> tuple[float, float]:
    column, row, _ = PLACES[name]
    return MARGIN + column * STEP_RIGHT, MARGIN + row * STEP_DOWN


def _room(name: str) -> str:
    left, top = _corner(name)
    middle = left + WIDE / 2
    return (
        f'<rect data-room="{name}" x="{left:g}" y="{top}" width="{WIDE}" height="{HIGH}" rx="6" '
        f'fill="{COLOURS.get(name, "#dfe7f5")}" stroke="#557"/>'
        f'<text x="{middle:g}" y="{top + 18}" font-size="15" font-weight="bold" fill="#112">'
        f'{name}</text><text x="{middle:g}" y="{top + 34}" font-size="11" fill="#334">'
        f"{PLACES[name][2]}</text>"
    )


def _arrow(room: str, other: str) -> str:
    (x, y), (to_x, to_y) = _corner(room), _corner(other)
    x, to_x, y = x + WIDE / 2, to_x + WIDE / 2, y + HIGH
    half = (y + to_y) / 2
    return (
        f'<path data-from="{room}" data-to="{other}" d="M{x:g} {y:g} C{x:g} {half:g} '
        f'{to_x:g} {half:g} {to_x:g} {to_y:g}" fill="none" stroke="#667" stroke-width="1.4" '
        'marker-end="url(#tip)"/>'
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
