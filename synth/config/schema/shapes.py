"""The shapes of lists and maps, and of places that take one kind of value or another."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, get_type_hints

from synth.config.schema.problems import Place, Refused, Report
from synth.config.schema.scalars import TYPED_TEXT, Choice, Shape, Text, Whole, text_of
from synth.config.schema.yaml_tree import Entry, ListNode, MapNode, Node, TextNode


def _refuse_broken(node: Node) -> None:
    """Raises: Refused if a problem was already reported for this node."""
    if isinstance(node, TextNode) and node.broken:
        raise Refused


def entries(node: MapNode, path: Place, report: Report) -> Iterator[Entry]:
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
    """One key of a record: what the annotation of a field says of it.

    A field `title: Annotated[str, line("Title for people")]` is the key `title`, required because
    the field has no default; more than the shape is said by `Annotated[..., Key(shape, ...)]`.
    """

    shape: Shape
    name: str = ""
    """Else that of the field."""
    private: bool = False
    """Says where something lies, and stays on the curator's machine: no part of the public form,
    so neither hashed, nor approved, nor published. Every other key is all three."""
    derived: bool = False
    """Stands in the public form alone, where it is made from private keys."""
    required: bool = False
    """Although the field has a default, for where the key is neither written nor looked for."""
    unless: tuple[str, ...] = ()
    """Not missed when one of these keys is there."""
    field: str = ""
    default: Any = None

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the value, with its default."""
        schema = self.shape.schema()
        if not self.required and not self.shape.is_absent(self.default):
            schema["default"] = self.shape.plain(self.default)
        return schema


def _keys(into: type[Any]) -> Iterator[Key]:
    hints = get_type_hints(into, include_extras=True)
    for field in dataclasses.fields(into):
        for said in getattr(hints[field.name], "__metadata__", ()):
            key = said if isinstance(said, Key) else Key(said)
            has_default = field.default is not dataclasses.MISSING
            yield dataclasses.replace(
                key,
                name=key.name or field.name,
                field=field.name,
                required=key.required or not has_default,
                default=field.default if has_default else None,
            )


@dataclass(frozen=True)
class Record(Shape):
    """A map with known keys, read into a frozen dataclass whose fields declare them.

    Where that class has a method `checked(path, report)`, it holds the rules that relate its
    keys: it reports what breaks them, and gives the value in its normal form.
    """

    keys: tuple[Key, ...]
    into: type[Any]

    def read_keys(self, node: Node, path: Place, report: Report) -> dict[str, Any]:
        """The values of the fields whose keys have no problem: as read, or the default.

        Raises: Refused if this is no map.
        """
        known = {
            key.name: key
            for key in self.keys
            if not (key.private if report.public else key.derived)
        }
        _refuse_broken(node)
        if not isinstance(node, MapNode):
            raise report.refusal(path, expected="a map with the keys: " + ", ".join(known))
        values = {key.field: key.default for key in self.keys}
        seen, meant = set(), set()
        for entry in entries(node, path, report):
            here = (*path, entry.key)
            seen.add(entry.key)
            if entry.key in known:
                key = known[entry.key]
                del values[key.field]
                with suppress(Refused):
                    values[key.field] = key.shape.read(entry.value, here, report)
                continue
            closest = report.closest(entry.key, known)
            meant.add(closest)
            report.add(
                here,
                found="unknown key",
                expected="one of: " + ", ".join(sorted(known)),
                fix=f"did you mean `{closest}`?" if closest else "",
            )
        for name, key in known.items():
            if not key.required or name in seen or seen.intersection(key.unless):
                continue
            del values[key.field]
            if name not in meant:
                words = key.shape.description
                report.add(
                    (*path, name),
                    found="nothing",
                    expected=f"the key `{name}`",
                    fix=f"add `{name}`: {words[:1].lower()}{words[1:]}",
                )
        return values

    def read(self, node: Node, path: Place, report: Report) -> Any:
        """The frozen value, in its normal form."""
        before = report.count
        values = self.read_keys(node, path, report)
        if len(values) < len(self.keys) or report.count > before:
            raise Refused
        value = self.into(**values)
        if hasattr(value, "checked"):
            value = value.checked(path, report)
        if report.count > before:
            raise Refused
        return value

    def plain(self, value: Any) -> Any:
        """The public keys that have a value, as JSON, in declared order."""
        public = ((key, getattr(value, key.field)) for key in self.keys if not key.private)
        return {key.name: key.shape.plain(v) for key, v in public if not key.shape.is_absent(v)}

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

    def document(self, name: str) -> dict[str, Any]:
        """The JSON Schema (draft 2020-12) of a whole file, for editors."""
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": f"urn:synth:{name}:1",
            "title": f"synth {name}",
            **self.schema(),
        }


def record(into: type[Any]) -> Record:
    """The shape of the map that a dataclass declares; the head of its docstring describes it."""
    description, _, _ = (into.__doc__ or "").partition("\n\n")
    return Record(" ".join(description.split()).removesuffix("."), tuple(_keys(into)), into)


@dataclass(frozen=True)
class Variants(Shape):
    """A record whose keys depend on the word under `type`."""

    records: Mapping[str, Record]

    def read(self, node: Node, path: Place, report: Report) -> Any:
        """The value of the record that `type` names."""
        _refuse_broken(node)
        if not isinstance(node, MapNode):
            raise report.refusal(path, expected="a map with `name`, `type` and more")
        by_key = {entry.key: entry for entry in reversed(node.entries)}
        name = by_key.get("name")
        if name is not None and isinstance(name.value, TextNode) and name.value.text:
            report.entitle(path, name.value.text)
        expected = "one of: " + ", ".join(self.records)
        here = (*path, "type")
        if "type" not in by_key:
            raise report.refusal(here, found="nothing", expected=expected)
        entry = by_key["type"]
        report.place(here, entry.value, entry.line)
        kind = text_of(entry.value, here, report, expected=expected)
        if kind not in self.records:
            fix = report.suggest(kind, self.records)
            raise report.refusal(here, expected=expected, fix=fix)
        return self.records[kind].read(node, path, report)

    def plain(self, value: Any) -> Any:
        """The record as JSON."""
        return self.records[value.type].plain(value)

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of this place."""
        return {
            "description": self.description,
            "oneOf": [record.schema() for record in self.records.values()],
        }


@dataclass(frozen=True)
class ListOf(Shape):
    """A list of one shape, read into a tuple."""

    item: Shape
    minimum: int = 0
    maximum: int = 100_000
    noun: str = "values"
    empty_is_absent: bool = False
    """An empty list says as much as none; always so where it cannot be written."""

    def read_items(self, node: Node, path: Place, report: Report) -> dict[int, Any]:
        """The items without a problem, by their positions."""
        _refuse_broken(node)
        expected = f"a list of {self.minimum:,} to {self.maximum:,} {self.noun}"
        if not isinstance(node, ListNode):
            raise report.refusal(path, expected=expected)
        if not self.minimum <= len(node.items) <= self.maximum:
            found = f"a list of {len(node.items):,}"
            raise report.refusal(path, found=found, expected=expected)
        values = {}
        for index, item in enumerate(node.items):
            report.place((*path, index), item, item.line)
            with suppress(Refused):
                values[index] = self.item.read(item, (*path, index), report)
        return values

    def read(self, node: Node, path: Place, report: Report) -> tuple[Any, ...]:
        """The items."""
        values = self.read_items(node, path, report)
        if isinstance(node, ListNode) and len(values) < len(node.items):
            raise Refused
        return tuple(values.values())

    def plain(self, value: Sequence[Any]) -> Any:
        """The items as JSON."""
        return [self.item.plain(item) for item in value]

    def is_absent(self, value: Any) -> bool:
        """Whether the list is none."""
        return value is None or (not value and (self.empty_is_absent or self.minimum > 0))

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of this place."""
        return {
            "description": self.description,
            "type": "array",
            "items": self.item.schema(),
            "minItems": self.minimum,
            "maxItems": self.maximum,
        }


@dataclass(frozen=True)
class Either(Shape):
    """A single value, a list or a map, each of its own shape."""

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

    def read(self, node: Node, path: Place, report: Report) -> Any:
        """The value, read by the shape that fits the node."""
        _refuse_broken(node)
        fix = ""
        for kind, shape in self._shapes():
            if isinstance(node, kind) and not (isinstance(node, TextNode) and node.is_blank):
                if not isinstance(shape, Choice) or not isinstance(node, TextNode):
                    return shape.read(node, path, report)
                if node.text in shape.words:
                    return node.text
                fix = report.suggest(node.text, shape.words)  # and all kinds of value are named
        raise report.refusal(path, expected=self.expected, fix=fix)

    def plain(self, value: Any) -> Any:
        """The value as JSON."""
        if isinstance(value, tuple) and self.several is not None:
            return self.several.plain(value)
        if self.record is not None and isinstance(value, self.record.into):
            return self.record.plain(value)
        return value if self.single is None else self.single.plain(value)

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of this place."""
        return {
            "description": self.description,
            "anyOf": [shape.schema() for _, shape in self._shapes()],
        }


@dataclass(frozen=True)
class WordOrWhole(Shape):
    """A known word, read as None, or a whole number."""

    word: str
    number: Whole

    def read(self, node: Node, path: Place, report: Report) -> int | None:
        """The number; None for the word."""
        if isinstance(node, TextNode) and node.text == self.word:
            return None
        _refuse_broken(node)
        with suppress(Refused):
            if isinstance(node, TextNode):
                return self.number.read(node, path, Report())
        low, high = self.number.minimum, self.number.maximum
        expected = f"{self.word}, or a whole number from {low:,} to {high:,}"
        raise report.refusal(path, expected=expected)

    def plain(self, value: int | None) -> Any:
        """The value as JSON."""
        return self.word if value is None else value

    def is_absent(self, value: Any) -> bool:  # noqa: ARG002 - the shape decides
        """Never: None is the word."""
        return False

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of this place."""
        word = Choice(f"The word `{self.word}`", (self.word,))
        return {
            "description": self.description,
            "anyOf": [word.schema(), self.number.schema()],
        }


@dataclass(frozen=True)
class OneOrList(Shape):
    """One value, or a list of them; read as a tuple either way."""

    item: Shape
    maximum: int

    def _list(self) -> ListOf:
        return ListOf(self.description, self.item, minimum=1, maximum=self.maximum)

    def read(self, node: Node, path: Place, report: Report) -> tuple[Any, ...]:
        """The values."""
        if isinstance(node, ListNode):
            return self._list().read(node, path, report)
        return (self.item.read(node, path, report),)

    def plain(self, value: Sequence[Any]) -> Any:
        """The values as JSON: always a list."""
        return [self.item.plain(item) for item in value]

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of this place."""
        return {
            "description": self.description,
            "anyOf": [self.item.schema(), self._list().schema()],
        }


@dataclass(frozen=True)
class MapOf(Shape):
    """A map with free keys, all values of one shape."""

    value: Shape
    minimum: int = 0
    maximum: int = 1_000
    noun: str = "columns"
    example: str = "from column to level, such as {sex: Female}"
    key: Text | None = None
    """The rules of the keys; without it, what reads the map looks every key up."""

    def read(self, node: Node, path: Place, report: Report) -> dict[str, Any]:
        """The values by key."""
        _refuse_broken(node)
        if not isinstance(node, MapNode):
            raise report.refusal(path, expected=f"a map {self.example}")
        if not self.minimum <= len(node.entries) <= self.maximum:
            expected = f"a map with {self.minimum} to {self.maximum:,} {self.noun}"
            raise report.refusal(path, expected=expected)
        values = {}
        for entry in entries(node, path, report):
            with suppress(Refused):
                self._check_key(entry, path, report)
                values[entry.key] = self.value.read(entry.value, (*path, entry.key), report)
        if len(values) < len(node.entries):
            raise Refused
        return values

    def _check_key(self, entry: Entry, path: Place, report: Report) -> None:
        if self.key is not None:
            here, key = (*path, entry.key), TextNode(entry.key, entry.line)
            report.place(here, key, entry.line)
            self.key.read(key, here, report)
            report.place(here, entry.value, entry.line)

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
