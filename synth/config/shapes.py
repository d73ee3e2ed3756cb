"""The shapes of lists and maps, built from the shapes of single values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from synth.config.problems import Path, Report
from synth.config.scalars import INVALID, Invalid, text_of
from synth.config.tree import Entry, ListNode, MapNode, Node, TextNode


class Shape(Protocol):
    """One place of the configuration: read by the loader, described by the schema."""

    @property
    def description(self) -> str:
        """One sentence for the reference and the schema."""

    def read(self, node: Node, path: Path, report: Report) -> Any:
        """The value, or INVALID after every problem below this place was reported."""

    def plain(self, value: Any) -> Any:
        """A value as JSON, in its one normal form."""

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of this place."""


def is_broken(node: Node) -> bool:
    """Whether a problem was already reported for this node."""
    return isinstance(node, TextNode) and node.broken


def entries(node: MapNode, path: Path, report: Report) -> Iterator[Entry]:
    """The entries of a map, each key once; repeated keys are reported."""
    first: dict[str, int | None] = {}
    for entry in node.entries:
        if entry.key in first:
            before = first[entry.key]
            report.add(
                (*path, entry.key),
                found="the key a second time" + (f" (first on line {before})" if before else ""),
                expected="every key once",
                line=entry.line,
            )
            continue
        first[entry.key] = entry.line
        report.place((*path, entry.key), entry.value, entry.line)
        yield entry


@dataclass(frozen=True)
class Key:
    """One key of a record."""

    name: str
    shape: Shape
    required: bool = False
    default: Any = None
    private: bool = False
    """Says where something lies, and stays on the curator's machine: no part of the public form,
    so neither hashed, nor approved, nor published. Every other key is all three."""
    derived: bool = False
    """Stands in the public form alone, where it is made from private keys."""
    unless: tuple[str, ...] = ()
    """Not missed when one of these keys is there."""

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the value, with its default."""
        schema = self.shape.schema()
        if self.default is not None:
            schema["default"] = self.shape.plain(self.default)
        return schema


@dataclass(frozen=True)
class Record:
    """A map with known keys."""

    description: str
    keys: tuple[Key, ...]

    def read(self, node: Node, path: Path, report: Report) -> dict[str, Any] | Invalid:
        """One value per key: read, default, or INVALID."""
        known = {
            key.name: key
            for key in self.keys
            if not (key.private if report.public else key.derived)
        }
        if is_broken(node):
            return INVALID
        if not isinstance(node, MapNode):
            report.add(path, expected="a map with the keys: " + ", ".join(known))
            return INVALID
        values: dict[str, Any] = {name: key.default for name, key in known.items()}
        seen = set()
        for entry in entries(node, path, report):
            here = (*path, entry.key)
            seen.add(entry.key)
            if entry.key in known:
                values[entry.key] = known[entry.key].shape.read(entry.value, here, report)
            else:
                meant = report.closest(entry.key, known)
                seen.add(meant)
                report.add(
                    here,
                    found="unknown key",
                    expected="one of: " + ", ".join(sorted(known)),
                    fix=f"did you mean `{meant}`?" if meant else "",
                )
        for name, key in known.items():
            missed = name not in seen and not seen.intersection(key.unless)
            if key.required and missed:
                report.add(
                    (*path, name), found="nothing", expected=f"the key `{name}`", fix=_hint(key)
                )
        return {
            name: INVALID if key.required and values[name] is None else values[name]
            for name, key in known.items()
        }

    def plain(self, value: Mapping[str, Any]) -> Any:
        """The public keys that have a value, as JSON, in declared order."""
        return {
            key.name: key.shape.plain(value[key.name])
            for key in self.keys
            if not key.private and value[key.name] is not None
        }

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of this place."""
        written = [key for key in self.keys if not key.derived]
        schema: dict[str, Any] = {
            "description": self.description,
            "type": "object",
            "properties": {key.name: key.schema() for key in written},
            "required": [key.name for key in written if key.required and not key.unless],
            "additionalProperties": False,
        }
        for key in written:
            if key.required and key.unless:
                schema["oneOf"] = [
                    {"description": f"With `{name}`", "required": [name]}
                    for name in (key.name, *key.unless)
                ]
        return schema


def _hint(key: Key) -> str:
    return f"add `{key.name}`: {key.shape.description[0].lower()}{key.shape.description[1:]}"


@dataclass(frozen=True)
class Variants:
    """A record whose keys depend on the word under `type`."""

    description: str
    records: dict[str, Record] = field(default_factory=dict)

    def read(self, node: Node, path: Path, report: Report) -> dict[str, Any] | Invalid:
        """The values of the record that `type` names."""
        if is_broken(node):
            return INVALID
        if not isinstance(node, MapNode):
            report.add(path, expected="a map with `name`, `type` and more")
            return INVALID
        by_key = {entry.key: entry for entry in reversed(node.entries)}
        name = by_key.get("name")
        if name is not None and isinstance(name.value, TextNode) and name.value.text:
            report.entitle(path, name.value.text)
        words = ", ".join(self.records)
        if "type" not in by_key:
            report.add((*path, "type"), found="nothing", expected=f"one of: {words}")
            return INVALID
        entry = by_key["type"]
        report.place((*path, "type"), entry.value, entry.line)
        expected = f"one of: {words}"
        kind = text_of(entry.value, (*path, "type"), report, expected=expected)
        if isinstance(kind, Invalid):
            return INVALID
        if kind not in self.records:
            fix = report.suggest(kind, self.records)
            report.add((*path, "type"), expected=expected, fix=fix)
            return INVALID
        return self.records[kind].read(node, path, report)

    def plain(self, value: Mapping[str, Any]) -> Any:
        """The record as JSON."""
        return self.records[value["type"]].plain(value)

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of this place."""
        return {
            "description": self.description,
            "oneOf": [record.schema() for record in self.records.values()],
        }


@dataclass(frozen=True)
class ListOf:
    """A list of one shape."""

    description: str
    item: Shape
    minimum: int = 0
    maximum: int = 100_000
    noun: str = "values"

    def read(self, node: Node, path: Path, report: Report) -> list[Any] | Invalid:
        """The items; an INVALID one keeps its position."""
        if is_broken(node):
            return INVALID
        expected = f"a list of {self.minimum:,} to {self.maximum:,} {self.noun}"
        if not isinstance(node, ListNode):
            report.add(path, expected=expected)
            return INVALID
        if not self.minimum <= len(node.items) <= self.maximum:
            report.add(path, found=f"a list of {len(node.items):,}", expected=expected)
            return INVALID
        values = []
        for index, item in enumerate(node.items):
            report.place((*path, index), item, item.line)
            values.append(self.item.read(item, (*path, index), report))
        return values

    def plain(self, value: Sequence[Any]) -> Any:
        """The items as JSON."""
        return [self.item.plain(item) for item in value]

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of this place."""
        return {
            "description": self.description,
            "type": "array",
            "items": self.item.schema(),
            "minItems": self.minimum,
            "maxItems": self.maximum,
        }
