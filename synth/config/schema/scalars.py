"""The shapes of single values: each reads text into a value, and writes its JSON Schema.

Numbers are read exactly: no floating point stands between the file and the budget.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
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
