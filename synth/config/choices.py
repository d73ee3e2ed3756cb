"""The shapes of places that take one kind of value or another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from synth.config.problems import Path, Report
from synth.config.scalars import INVALID, TYPED_TEXT, Choice, Invalid, Text, Whole
from synth.config.shapes import ListOf, Record, Shape, entries, is_broken
from synth.config.tree import ListNode, MapNode, Node, TextNode


@dataclass(frozen=True)
class Either:
    """A single value, a list or a map, each of its own shape."""

    description: str
    expected: str
    single: Shape | None = None
    several: ListOf | None = None
    record: Record | None = None

    def _shapes(self) -> list[tuple[type[Node], Shape]]:
        pairs: list[tuple[type[Node], Shape | None]] = [
            (TextNode, self.single),
            (ListNode, self.several),
            (MapNode, self.record),
        ]
        return [(kind, shape) for kind, shape in pairs if shape is not None]

    def read(self, node: Node, path: Path, report: Report) -> Any:
        """The value, read by the shape that fits the node."""
        if is_broken(node):
            return INVALID
        for kind, shape in self._shapes():
            if isinstance(node, kind) and not (isinstance(node, TextNode) and node.is_blank):
                if isinstance(shape, Choice) and isinstance(node, TextNode):
                    return self._word(shape, node, path, report)
                return shape.read(node, path, report)
        report.add(path, expected=self.expected)
        return INVALID

    def _word(self, choice: Choice, node: TextNode, path: Path, report: Report) -> str | Invalid:
        """The word; a problem names the other kinds of value, too."""
        if node.text in choice.words:
            return node.text
        fix = report.suggest(node.text, choice.words)
        report.add(path, expected=self.expected, fix=fix)
        return INVALID

    def plain(self, value: Any) -> Any:
        """The value as JSON."""
        if isinstance(value, Mapping) and self.record is not None:
            return self.record.plain(value)
        if isinstance(value, list) and self.several is not None:
            return self.several.plain(value)
        return value if self.single is None else self.single.plain(value)

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of this place."""
        return {
            "description": self.description,
            "anyOf": [shape.schema() for _, shape in self._shapes()],
        }


@dataclass(frozen=True)
class WordOrWhole:
    """A known word, or a whole number."""

    description: str
    word: str
    number: Whole

    def read(self, node: Node, path: Path, report: Report) -> str | int | Invalid:
        """The word or the number."""
        if isinstance(node, TextNode) and node.text == self.word:
            return self.word
        if is_broken(node):
            return INVALID
        value = INVALID if not isinstance(node, TextNode) else self._number(node, path)
        if isinstance(value, Invalid):
            low, high = self.number.minimum, self.number.maximum
            report.add(path, expected=f"{self.word}, or a whole number from {low:,} to {high:,}")
        return value

    def _number(self, node: TextNode, path: Path) -> int | Invalid:
        return self.number.read(node, path, Report())

    def plain(self, value: str | int) -> Any:
        """The value as JSON."""
        return value

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of this place."""
        word = Choice(f"The word `{self.word}`", (self.word,))
        return {
            "description": self.description,
            "anyOf": [word.schema(), self.number.schema()],
        }


@dataclass(frozen=True)
class OneOrList:
    """One value, or a list of them; read as a list either way."""

    description: str
    item: Shape
    maximum: int

    def _list(self) -> ListOf:
        return ListOf(self.description, self.item, minimum=1, maximum=self.maximum)

    def read(self, node: Node, path: Path, report: Report) -> list[Any] | Invalid:
        """The values."""
        if isinstance(node, ListNode):
            return self._list().read(node, path, report)
        value = self.item.read(node, path, report)
        return INVALID if value is INVALID else [value]

    def plain(self, value: list[Any]) -> Any:
        """The values as JSON: always a list."""
        return [self.item.plain(item) for item in value]

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of this place."""
        return {
            "description": self.description,
            "anyOf": [self.item.schema(), self._list().schema()],
        }


@dataclass(frozen=True)
class MapOf:
    """A map with free keys, all values of one shape."""

    description: str
    value: Shape
    minimum: int = 0
    maximum: int = 1_000
    noun: str = "columns"
    example: str = "from column to level, such as {sex: Female}"
    key: Text | None = None
    """The rules of the keys; without it, what reads the map looks every key up."""

    def read(self, node: Node, path: Path, report: Report) -> dict[str, Any] | Invalid:
        """The values by key."""
        if is_broken(node):
            return INVALID
        if not isinstance(node, MapNode):
            report.add(path, expected=f"a map {self.example}")
            return INVALID
        if not self.minimum <= len(node.entries) <= self.maximum:
            report.add(path, expected=f"a map with {self.minimum} to {self.maximum:,} {self.noun}")
            return INVALID
        fine = True
        values = {}
        for entry in entries(node, path, report):
            here = (*path, entry.key)
            if self.key is not None:
                report.place(here, TextNode(entry.key, entry.line), entry.line)
                fine &= not isinstance(
                    self.key.read(TextNode(entry.key, entry.line), here, report), Invalid
                )
                report.place(here, entry.value, entry.line)
            values[entry.key] = self.value.read(entry.value, here, report)
        return values if fine else INVALID

    def plain(self, value: Mapping[str, Any]) -> Any:
        """The map as JSON."""
        return {key: self.value.plain(item) for key, item in value.items()}

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of this place."""
        schema: dict[str, Any] = {
            "description": self.description,
            "type": "object",
            "additionalProperties": self.value.schema(),
            "minProperties": self.minimum,
            "maxProperties": self.maximum,
        }
        if self.key is not None:
            # An editor may have typed a key such as 1 or true, so any type is right here.
            schema["propertyNames"] = {**self.key.schema(), "type": [*TYPED_TEXT, "null"]}
        return schema
