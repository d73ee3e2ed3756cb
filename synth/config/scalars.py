"""The shapes of single values: each reads text into a value, and writes its JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from synth.config import exact
from synth.config.problems import Path, Report
from synth.config.tree import Node, TextNode
from synth.domain import format_number


class Invalid:
    """Stands for a value whose problem was reported already."""


INVALID: Final = Invalid()

TYPED_TEXT = ["string", "number", "boolean"]
"""What an editor may make of unquoted text such as `12` or `yes`, before our schema sees it."""


def text_of(node: Node, path: Path, report: Report, *, expected: str) -> str | Invalid:
    """The text of a scalar, or INVALID after reporting what stands there instead."""
    if isinstance(node, TextNode) and node.broken:
        return INVALID
    if not isinstance(node, TextNode):
        report.add(path, expected=expected, fix="quote text that begins with [ or {")
        return INVALID
    if node.is_blank:
        fix = f'quote it if it is meant as text: "{node.text}"' if node.text else ""
        report.add(path, found=node.text or "nothing", expected=expected, fix=fix)
        return INVALID
    return node.text


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
class Text:
    """Text; every rule holds."""

    description: str
    rules: tuple[Rule, ...] = ()
    max_length: int = 200
    lines: bool = False
    """Prose in several lines: line ends at its end are dropped."""

    def read(self, node: Node, path: Path, report: Report) -> str | Invalid:
        """The text, checked against every rule."""
        text = text_of(node, path, report, expected="text")
        if isinstance(text, Invalid):
            return INVALID
        if self.lines:
            text = text.rstrip("\n")
        if len(text) > self.max_length:
            report.add(path, expected=f"text of at most {self.max_length:,} characters")
            return INVALID
        for rule in self.rules:
            if not re.search(rule.pattern, text):
                report.add(
                    path,
                    found=rule.found or None,
                    expected=rule.expected,
                    why=rule.why,
                    fix=rule.fix,
                )
                return INVALID
        if any("\ud800" <= character <= "\udfff" for character in text):
            report.add(path, expected="text of whole characters", why="half of a pair of codes")
            return INVALID
        if any("\U000f0000" <= character <= "\U000f00ff" for character in text):
            report.add(
                path,
                expected="text without the characters U+F0000 to U+F00FF",
                why="bytes of a source that are no text are read as these",
            )
            return INVALID
        return text

    def plain(self, value: str) -> Any:
        """The value as JSON."""
        return value

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


@dataclass(frozen=True)
class Choice:
    """One of a few words."""

    description: str
    words: tuple[str, ...]

    def read(self, node: Node, path: Path, report: Report) -> str | Invalid:
        """The word."""
        expected = self.words[0] if len(self.words) == 1 else "one of: " + ", ".join(self.words)
        text = text_of(node, path, report, expected=expected)
        if isinstance(text, Invalid):
            return INVALID
        if text not in self.words:
            report.add(path, expected=expected, fix=report.suggest(text, self.words))
            return INVALID
        return text

    def plain(self, value: str) -> Any:
        """The value as JSON."""
        return value

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of this place."""
        return {"description": self.description, "enum": list(self.words)}


@dataclass(frozen=True)
class Named:
    """A value that has other names: each is read as that value, which has one normal form."""

    value: Text | Choice
    names: Mapping[str, str]

    @property
    def description(self) -> str:
        """That of the value."""
        return self.value.description

    def read(self, node: Node, path: Path, report: Report) -> str | Invalid:
        """The value, by whichever name."""
        if isinstance(node, TextNode) and node.text in self.names:
            return self.names[node.text]
        return self.value.read(node, path, report)

    def plain(self, value: str) -> Any:
        """The value as JSON."""
        return value

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of this place."""
        return {
            "description": self.description,
            "anyOf": [
                {"description": "Another name", "enum": list(self.names)},
                self.value.schema(),
            ],
        }


NO_NUMBER = "that is no exact number: digits, a decimal point, an exponent of at most 30"


@dataclass(frozen=True)
class Whole:
    """A whole number within bounds."""

    description: str
    minimum: int
    maximum: int

    def read(self, node: Node, path: Path, report: Report) -> int | Invalid:
        """The number."""
        bounds = f"from {self.minimum:,} to {self.maximum:,}"
        if self.minimum == self.maximum:
            bounds = str(self.minimum)
        text = text_of(node, path, report, expected=f"a whole number: {bounds}")
        if isinstance(text, Invalid):
            return INVALID
        value = exact.whole(text)
        if value is None or not self.minimum <= value <= self.maximum:
            report.add(path, expected=f"a whole number: {bounds}")
            return INVALID
        return value

    def plain(self, value: int) -> Any:
        """The value as JSON."""
        return value

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of this place."""
        return {
            "description": self.description,
            "type": ["integer", "string"],
            "minimum": self.minimum,
            "maximum": self.maximum,
            "pattern": exact.WHOLE_PATTERN,
        }


@dataclass(frozen=True)
class Exact:
    """An exact number: decimal, and where `ratios` also a fraction such as 1/3."""

    description: str
    minimum: Fraction
    maximum: Fraction
    ratios: bool = True
    below_maximum: bool = False
    above_minimum: bool = False
    why: str = ""

    @property
    def expected(self) -> str:
        """What a message says about the bounds."""
        low = format_number(self.minimum)
        high = f"{'below' if self.below_maximum else 'at most'} {format_number(self.maximum)}"
        kind = "a decimal number or a fraction" if self.ratios else "a decimal number"
        return f"{kind}, {'above' if self.above_minimum else 'at least'} {low} and {high}"

    def read(self, node: Node, path: Path, report: Report) -> Fraction | Invalid:
        """The exact value."""
        text = text_of(node, path, report, expected=self.expected)
        if isinstance(text, Invalid):
            return INVALID
        value = exact.ratio(text) if self.ratios else exact.decimal(text)
        if value is None:
            point = text.replace(",", ".")
            is_comma = point != text and exact.decimal(point) is not None
            fix = f"write the comma as a point: {point}" if is_comma else ""
            report.add(path, expected=self.expected, why=NO_NUMBER, fix=fix)
            return INVALID
        if (
            not self.minimum <= value <= self.maximum
            or (self.below_maximum and value == self.maximum)
            or (self.above_minimum and value == self.minimum)
        ):
            report.add(path, expected=self.expected, why=self.why)
            return INVALID
        return value

    def plain(self, value: Fraction) -> Any:
        """The value as JSON: text, because a JSON number may lose digits."""
        return format_number(value)

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of this place."""
        patterns = [exact.DECIMAL_PATTERN, *([exact.RATIO_PATTERN] if self.ratios else [])]
        return {
            "description": self.description,
            "type": ["number", "string"],
            "exclusiveMinimum" if self.above_minimum else "minimum": _json_number(self.minimum),
            "exclusiveMaximum" if self.below_maximum else "maximum": _json_number(self.maximum),
            "pattern": "|".join(patterns),
        }


def _json_number(value: Fraction) -> int | float:
    return value.numerator if value.denominator == 1 else float(value)


@dataclass(frozen=True)
class Flag:
    """`true` or `false`."""

    description: str

    def read(self, node: Node, path: Path, report: Report) -> bool | Invalid:
        """The truth value."""
        text = text_of(node, path, report, expected="true or false")
        if isinstance(text, Invalid):
            return INVALID
        if text not in {"true", "false"}:
            report.add(path, expected="true or false")
            return INVALID
        return text == "true"

    def plain(self, value: bool) -> Any:
        """The value as JSON."""
        return value

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of this place."""
        return {"description": self.description, "enum": [True, False, "true", "false"]}
