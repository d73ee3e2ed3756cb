"""The report: every problem of one configuration, each at its line and path."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path

from synth.config.schema.yaml_tree import Node, TextNode, printable, render
from synth.errors import Problem

Place = tuple[str | int, ...]
"""Keys and list positions from the top of the file, such as ("domain", 3, "edges")."""

COMPARISON_BUDGET = 20_000
"""How many candidates are compared for suggestions in one file: keeps refusals quick."""


def quoted(text: str) -> str:
    """Text of the file inside a sentence: in backticks, printable and not too long."""
    return f"`{printable(text[:80])}`"


class Refused(Exception):  # noqa: N818 - no error of its own: the report holds what is wrong
    """Ends the reading of a place whose problem was reported."""


class Report:
    """Collects problems while a configuration is read; knows where each value stands."""

    def __init__(
        self,
        problems: Iterable[Problem] = (),
        *,
        public: bool = False,
        base: Path = Path(),
        period: str | None = None,
        keeps_period: bool = False,
    ) -> None:
        """Start with the problems of the text; `public` reads the form of the manifest.

        `base` is the directory that files are relative to; `period` replaces {period}. With
        `keeps_period` and no period, {period} stays in the names of the release and its source.
        """
        self.public, self.base, self.period = public, base, period
        self.keeps_period = keeps_period
        self._problems = list(problems)
        self._nodes: dict[Place, Node] = {}
        self._lines: dict[Place, int | None] = {}
        self._titles: dict[Place, str] = {}
        self._comparisons_left = COMPARISON_BUDGET

    def place(self, path: Place, node: Node, line: int | None) -> None:
        """Remember what stands at a path, and where."""
        self._nodes[path] = node
        self._lines[path] = line

    def is_written(self, path: Place) -> bool:
        """Whether the file has this key or item."""
        return path in self._nodes

    def text_at(self, path: Place) -> str:
        """The text at a path as it is written, before {period} is filled in; empty if none."""
        node = self._nodes.get(path)
        return node.text if isinstance(node, TextNode) else ""

    def entitle(self, path: Place, title: str) -> None:
        """Give the item of a list a name that its path shows."""
        self._titles[path] = title

    def add(
        self,
        path: Place,
        *,
        expected: str,
        found: str | None = None,
        why: str = "",
        fix: str = "",
        line: int | None = None,
    ) -> None:
        """Report a problem; without `found` it shows what stands at the path."""
        if found is None:
            found = render(self._nodes[path]) if path in self._nodes else "nothing"
        at = line if line is not None else self._line(path)
        self._problems.append(Problem(at, self.name(path), found, expected, why, fix))

    def refusal(
        self, path: Place, *, expected: str, found: str | None = None, why: str = "", fix: str = ""
    ) -> Refused:
        """Report a problem, and give what ends the reading of this place."""
        self.add(path, expected=expected, found=found, why=why, fix=fix)
        return Refused()

    @property
    def count(self) -> int:
        """How many problems there are by now."""
        return len(self._problems)

    def problems(self) -> tuple[Problem, ...]:
        """All problems in the order of the file; those without a line come last."""
        far = float("inf")
        return tuple(sorted(self._problems, key=lambda p: far if p.line is None else p.line))

    def name(self, path: Place) -> str:
        """The path in words: `privacy.epsilon`, `domain[3] "age" → edges`."""
        text = ""
        joint = ""
        for depth, part in enumerate(path, start=1):
            if isinstance(part, int):
                title = self._titles.get(path[:depth])
                text += f"[{part}]" + ("" if title is None else f' "{printable(title[:80])}"')
                joint = "." if title is None else " → "
            else:
                text += joint + printable(part[:80])
                joint = "."
        return text or "the file"

    def closest(self, word: str, candidates: Iterable[str]) -> str:
        """The candidate most like the word; empty if none is alike."""
        if not self._comparisons_left or len(word) > 100:
            return ""
        known = list(candidates)
        if len(known) > self._comparisons_left:
            self._comparisons_left = 0  # so that no later word even lists its candidates
            return ""
        self._comparisons_left -= len(known)
        close = difflib.get_close_matches(word, known, n=1)
        return close[0] if close else ""

    def suggest(self, word: str, candidates: Iterable[str]) -> str:
        """Advice that names the candidate most like the word, or no advice."""
        meant = self.closest(word, candidates)
        return f"did you mean {quoted(meant)}?" if meant else ""

    def _line(self, path: Place) -> int | None:
        while path not in self._lines and path:
            path = path[:-1]
        return self._lines.get(path) if path else None
