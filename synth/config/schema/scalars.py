"""The shapes of single values: each reads text into a value, and writes its JSON Schema.

Numbers are read exactly: no floating point stands between the file and the budget. Text has rules,
each one pattern for the loader and the schema.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from synth.config.schema.problems import Place, Refused, Report
from synth.config.schema.yaml_tree import Node, TextNode
from synth.domain import format_number

TYPED_TEXT = ["string", "number", "boolean"]
"""What an editor may make of unquoted text such as `12` or `yes`, before our schema sees it."""


@dataclass(frozen=True)
class Shape(ABC):
    """One place of the configuration: read by the loader, described by the schema."""

    description: str
    """One sentence for the reference and the schema."""

    @abstractmethod
    def read(self, node: Node, path: Place, report: Report) -> Any:
        """The value. Raises: Refused after every problem at and below this place was reported."""

    def plain(self, value: Any) -> Any:
        """A value as JSON, in its one normal form."""
        return value

    def is_absent(self, value: Any) -> bool:
        """Whether a value stands for a key that is not written: the public form leaves it out."""
        return value is None

    @abstractmethod
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of this place."""


def text_of(node: Node, path: Place, report: Report, *, expected: str) -> str:
    """The text of a scalar. Raises: Refused after reporting what stands there instead."""
    if isinstance(node, TextNode) and node.broken:
        raise Refused
    if not isinstance(node, TextNode):
        raise report.refusal(path, expected=expected, fix="quote text that begins with [ or {")
    if node.is_blank:
        fix = f'quote it if it is meant as text: "{node.text}"' if node.text else ""
        raise report.refusal(path, found=node.text or "nothing", expected=expected, fix=fix)
    return node.text


@dataclass(frozen=True)
class Choice(Shape):
    """One of a few words."""

    words: tuple[str, ...]

    def read(self, node: Node, path: Place, report: Report) -> str:
        """The word."""
        expected = self.words[0] if len(self.words) == 1 else "one of: " + ", ".join(self.words)
        text = text_of(node, path, report, expected=expected)
        if text not in self.words:
            raise report.refusal(path, expected=expected, fix=report.suggest(text, self.words))
        return text

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of this place."""
        return {"description": self.description, "enum": list(self.words)}


@dataclass(frozen=True)
class Named(Shape):
    """A value that has other names: each is read as that value, which has one normal form."""

    value: Shape
    names: Mapping[str, str]

    def read(self, node: Node, path: Place, report: Report) -> Any:
        """The value, by whichever name."""
        if isinstance(node, TextNode) and node.text in self.names:
            return self.names[node.text]
        return self.value.read(node, path, report)

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of this place."""
        return {
            "description": self.description,
            "anyOf": [
                {"description": "Another name", "enum": list(self.names)},
                self.value.schema(),
            ],
        }


def named(value: Shape, names: Mapping[str, str]) -> Named:
    """A value with other names."""
    return Named(value.description, value, names)


NO_NUMBER = "that is no exact number: digits, a decimal point, an exponent of at most 30"


@dataclass(frozen=True)
class Whole(Shape):
    """A whole number within bounds."""

    minimum: int
    maximum: int
    zero_is_absent: bool = False
    """Nothing says as much as zero."""

    def is_absent(self, value: Any) -> bool:
        """Whether there is no number."""
        return value is None or (self.zero_is_absent and value == 0)

    def read(self, node: Node, path: Place, report: Report) -> int:
        """The number."""
        bounds = f"from {self.minimum:,} to {self.maximum:,}"
        if self.minimum == self.maximum:
            bounds = str(self.minimum)
        text = text_of(node, path, report, expected=f"a whole number: {bounds}")
        value = whole(text)
        if value is None or not self.minimum <= value <= self.maximum:
            raise report.refusal(path, expected=f"a whole number: {bounds}")
        return value

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of this place."""
        return {
            "description": self.description,
            "type": ["integer", "string"],
            "minimum": self.minimum,
            "maximum": self.maximum,
            "pattern": WHOLE_PATTERN,
        }


@dataclass(frozen=True)
class Exact(Shape):
    """An exact number: decimal, and where `ratios` also a fraction such as 1/3."""

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

    def read(self, node: Node, path: Place, report: Report) -> Fraction:
        """The exact value."""
        text = text_of(node, path, report, expected=self.expected)
        value = ratio(text) if self.ratios else decimal(text)
        if value is None:
            point = text.replace(",", ".")
            is_comma = point != text and decimal(point) is not None
            fix = f"write the comma as a point: {point}" if is_comma else ""
            raise report.refusal(path, expected=self.expected, why=NO_NUMBER, fix=fix)
        if (
            not self.minimum <= value <= self.maximum
            or (self.below_maximum and value == self.maximum)
            or (self.above_minimum and value == self.minimum)
        ):
            raise report.refusal(path, expected=self.expected, why=self.why)
        return value

    def plain(self, value: Fraction) -> Any:
        """The value as JSON: text, because a JSON number may lose digits."""
        return format_number(value)

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of this place."""
        patterns = [DECIMAL_PATTERN, *([RATIO_PATTERN] if self.ratios else [])]
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
class Flag(Shape):
    """`true` or `false`."""

    def read(self, node: Node, path: Place, report: Report) -> bool:
        """The truth value."""
        text = text_of(node, path, report, expected="true or false")
        if text not in {"true", "false"}:
            raise report.refusal(path, expected="true or false")
        return text == "true"

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of this place."""
        return {"description": self.description, "enum": [True, False, "true", "false"]}


MAX_DIGITS = 40
MAX_EXPONENT = 30

DECIMAL_PATTERN = r"^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
RATIO_PATTERN = r"^\+?[0-9]+/[0-9]+$"
WHOLE_PATTERN = r"^[+-]?(?:0|[1-9][0-9]*)$"


def whole(text: str) -> int | None:
    """A whole number without leading zeros (`012` is octal to some readers), or None."""
    if len(text) > MAX_DIGITS or not re.fullmatch(WHOLE_PATTERN[1:-1], text):
        return None
    return int(text)


def decimal(text: str) -> Fraction | None:
    """The exact value of a decimal number (`-1.5`, `1e-9`), or None.

    At most 40 digits and exponents up to 30: enough for every measurement, and no text of a
    few bytes can ask for a number of a billion digits.
    """
    if not re.fullmatch(DECIMAL_PATTERN[1:-1], text):
        return None
    mantissa, _, exponent = text.lower().partition("e")
    if len(mantissa) > MAX_DIGITS + 2 or len(exponent) > 4:
        return None
    if exponent and abs(int(exponent)) > MAX_EXPONENT:
        return None
    return Fraction(mantissa) * Fraction(10) ** int(exponent or 0)


def ratio(text: str) -> Fraction | None:
    """The exact value of a decimal number or a fraction (`1/3`), or None."""
    if not re.fullmatch(RATIO_PATTERN[1:-1], text):
        return decimal(text)
    if len(text) > 2 * MAX_DIGITS:
        return None
    top, _, bottom = text.partition("/")
    return Fraction(int(top), int(bottom)) if int(bottom) else None


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


MOST_OF_A_NAME = 1_000
"""Characters: exports of questionnaires have whole questions for names."""


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
    """A column or level, a whole question of a form at times: published, so no formula."""
    return Text(description, rules=(NOT_EMPTY, ONE_LINE, NO_FORMULA), max_length=MOST_OF_A_NAME)


def label(description: str) -> Text:
    """A reference to a level."""
    return Text(description, rules=(NOT_EMPTY, ONE_LINE), max_length=MOST_OF_A_NAME)
