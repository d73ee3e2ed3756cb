"""A mutant: one place of the product, written otherwise."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Mutant:
    """In `file`, `old` (which stands there once) becomes `new`; one of `tests` must then fail.

    `tests` are what pytest takes: files, or `file::test`, below `tests/`.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def replaced(self, source: str) -> str:
        """The source with the new text; raises ValueError if the old one does not fit any more."""
        found = source.count(self.old)
        if found != 1:
            raise ValueError(f"{self.name}: {self.file} holds its old text {found} times, not once")
        return source.replace(self.old, self.new)

    def broken(self, source: str) -> str:
        """The same; raises ValueError, too, if nothing but the text changes."""
        changed = self.replaced(source)
        if ast.dump(ast.parse(changed)) == _dumped(source):
            raise ValueError(f"{self.name}: changes nothing")
        return changed

    @property
    def definitions(self) -> frozenset[str]:
        """The names of the functions and classes around the change."""
        source = (ROOT / self.file).read_text(encoding="utf-8")
        first, last = _changed_lines(source, self.replaced(source))
        return frozenset(
            name for name, start, end in _definitions(source) if start <= first and last <= end
        )


@cache
def _dumped(source: str) -> str:
    """The syntax tree of a file of the product; hundreds of mutants are of a few dozen files."""
    return ast.dump(ast.parse(source))


@cache
def _definitions(source: str) -> tuple[tuple[str, int, int], ...]:
    """The name of every function and class, with its first and its last line."""
    return tuple(
        (node.name, node.lineno, node.end_lineno)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.end_lineno is not None
    )


def _changed_lines(source: str, changed: str) -> tuple[int, int]:
    """The first and the last line of `source` that the change touches."""
    old, new = source.splitlines(), changed.splitlines()
    first = next(i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b)
    same = 0
    while same < min(len(old), len(new)) - first and old[-1 - same] == new[-1 - same]:
        same += 1
    return first + 1, max(first + 1, len(old) - same)


Change = tuple[str, str, str]
"""The name of a mutant, its old text and its new text."""


def broken(file: str, *changes: Change, by: tuple[str, ...]) -> tuple[Mutant, ...]:
    """Mutants of one file which the same tests must see."""
    return tuple(Mutant(name, file, old, new, by) for name, old, new in changes)
