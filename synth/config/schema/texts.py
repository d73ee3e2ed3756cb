"""Text and its rules: one pattern each, for the loader and the schema."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from synth.config.schema.problems import Place, Report
from synth.config.schema.scalars import TYPED_TEXT, Shape, text_of
from synth.config.schema.yaml_tree import Node

PERIOD = "{period}"


@dataclass(frozen=True)
class Rule:
    """A pattern that text must match, and the message if it does not."""

    pattern: str
    expected: str
    why: str = ""
    fix: str = ""
    found: str = ""
    """What a message shows instead of the text, where the text is nobody's business."""


@dataclass(frozen=True)
class Text(Shape):
    """Text; every rule holds."""

    rules: tuple[Rule, ...] = ()
    max_length: int = 200
    lines: bool = False
    """Prose in several lines: line ends at its end are dropped."""
    dated: bool = False
    """{period} is filled in."""

    def read(self, node: Node, path: Place, report: Report) -> str:
        """The text, checked against every rule."""
        text = text_of(node, path, report, expected="text")
        if self.lines:
            text = text.rstrip("\n")
        if len(text) > self.max_length:
            raise report.refusal(path, expected=f"text of at most {self.max_length:,} characters")
        for rule in self.rules:
            if not re.search(rule.pattern, text):
                raise report.refusal(
                    path,
                    found=rule.found or None,
                    expected=rule.expected,
                    why=rule.why,
                    fix=rule.fix,
                )
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise report.refusal(
                path, expected="text of whole characters", why="half of a pair of codes"
            )
        if any("\U000f0000" <= character <= "\U000f00ff" for character in text):
            raise report.refusal(
                path,
                expected="text without the characters U+F0000 to U+F00FF",
                why="bytes of a source that are no text are read as these",
            )
        return self._with_period(text, path, report)

    def _with_period(self, text: str, path: Place, report: Report) -> str:
        if not self.dated or PERIOD not in text:
            return text
        if report.period is None:
            if report.keeps_period and path[0] in ("release", "source"):
                return text
            fix = "give one with --period"
            raise report.refusal(path, expected="a period for {period}", fix=fix)
        return text.replace(PERIOD, report.period)

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of this place."""
        schema: dict[str, Any] = {
            "description": self.description,
            "type": TYPED_TEXT,
            "maxLength": self.max_length + (2 if self.lines else 0),
        }
        if self.rules:
            schema["allOf"] = [
                {"description": rule.expected, "pattern": rule.pattern} for rule in self.rules
            ]
        return schema


NOT_EMPTY = Rule(r"\S", "text that is not empty")

NO_BLANK_ENDS = Rule(
    r"^\S(?:[\s\S]*\S)?$",
    "text without blanks at its ends",
    why="they cannot be seen, and another spelling would be another account",
)

ONE_LINE = Rule(
    "^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069]*$",
    "one line without control characters",
    why="line ends, tabs and invisible marks break tables, or show text other than it is",
)

NO_CONTROLS = Rule(
    "^[^\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u202a-\\u202e\\u2066-\\u2069]*$",
    "text without control characters",
)

_UNSEEN = "\\s\\u200b-\\u200d\\u2060\\ufeff"
"""Blanks and marks of no width: a spreadsheet may drop them, at the start of a file at least."""

_SIGNS = "=+\\-@\\uff1d\\uff0b\\uff0d\\uff20"
"""Also in the width of East Asian letters, in which some spreadsheets read them alike."""

NO_FORMULA = Rule(
    rf"^[{_UNSEEN}]*(?:[^{_SIGNS}{_UNSEEN}]|"
    r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*$)",
    "text that does not begin with = + - or @, or a plain number",
    why="a spreadsheet that opens the published file would run it as a formula",
    fix="rename it in the source, for example with a word in front",
)


@dataclass(frozen=True)
class FilePath(Text):
    """The place of a file or folder: absolute, from the directory of the configuration."""

    rules: tuple[Rule, ...] = (NOT_EMPTY, ONE_LINE)
    max_length: int = 1_000
    follows_links: bool = False

    def read(self, node: Node, path: Place, report: Report) -> Path:  # type: ignore[override]
        """The path."""
        place = report.base / super().read(node, path, report)
        # The second way keeps symbolic links.
        return place.resolve() if self.follows_links else Path(os.path.abspath(place))  # noqa: PTH100


def line(description: str) -> Text:
    """One line of text."""
    return Text(description, rules=(NOT_EMPTY, ONE_LINE))


def people(description: str) -> Text:
    """A name of people whose budget is kept: one line that is spelled in one way."""
    return Text(description, rules=(NOT_EMPTY, ONE_LINE, NO_BLANK_ENDS))


def prose(description: str) -> Text:
    """Text that may have several lines."""
    return Text(description, rules=(NOT_EMPTY, NO_CONTROLS), max_length=10_000, lines=True)


def name(description: str) -> Text:
    """A column or level: published, so no formula."""
    return Text(description, rules=(NOT_EMPTY, ONE_LINE, NO_FORMULA))


def label(description: str) -> Text:
    """A reference to a level."""
    return Text(description, rules=(NOT_EMPTY, ONE_LINE))
