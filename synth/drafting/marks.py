"""The marks in the text of a configuration: found, removed and replaced where they stand.

Only the characters of the answered entry change: comments, order and layout stay as they are.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import yaml

from synth.config.schema.problems import Place
from synth.config.schema.yaml_tree import READ_IN_TWO_WAYS, TAG

TO_BE_GIVEN = "to be given"
"""Stands for what nobody has given yet, while the rest is checked."""


@dataclass(frozen=True)
class Spot:
    """Where an entry stands in the text: its mark, if it has one, and its value."""

    place: Place
    line: int
    start: int
    """Where the mark begins, or the value if there is no mark."""
    value: int
    end: int
    """Just behind the value; equal to `value` where nothing is given."""

    @property
    def is_marked(self) -> bool:
        """Whether the entry is still to be confirmed."""
        return self.start < self.value

    @property
    def is_empty(self) -> bool:
        """Whether nothing is given."""
        return self.value == self.end


def marks(text: str) -> list[Spot]:
    """Every marked entry, in the order of the text.

    Requires: the text is one YAML document without anchors, as `find_problems` ascertains.
    """
    return [spot for spot in _spots(text) if spot.is_marked]


def spots_under(text: str, place: Place) -> dict[str, Spot]:
    """The entries of the map at a place, by their keys."""
    depth = len(place)
    return {
        str(spot.place[-1]): spot
        for spot in _spots(text)
        if spot.place[:depth] == place and len(spot.place) == depth + 1
    }


def item_count(text: str, place: Place) -> int:
    """How many items the list at a place has."""
    node = _node(text, place)
    return len(node.value) if isinstance(node, yaml.SequenceNode) else 0


def texts_at(text: str, place: Place) -> list[str]:
    """The texts of the scalar, or of the items of the list, at a place; [] if there is none."""
    node = _node(text, place)
    nodes = node.value if isinstance(node, yaml.SequenceNode) else [node]
    return [each.value for each in nodes if isinstance(each, yaml.ScalarNode)]


def without_mark(text: str, spot: Spot) -> str:
    """The text with this entry confirmed as it is."""
    return text[: spot.start] + text[spot.value :]


def with_value(text: str, spot: Spot, written: str) -> str:
    """The text with another value, which is confirmed by being given; `written` is YAML."""
    blank = "" if text[: spot.start].endswith((" ", "\n")) else " "
    return text[: spot.start] + blank + written + text[spot.end :]


def with_key(text: str, place: Place, key: str, written: str) -> str:
    """The text with one more entry of the block map at a place, behind its last one."""
    node = _node(text, place)
    if not isinstance(node, yaml.MappingNode):
        raise ValueError("only a map has keys")
    if _is_flow(node):
        end = _end(node) - 1
        return f"{text[:end]}, {key}: {written}{text[end:]}"
    indent = " " * node.value[0][0].start_mark.column
    end = _line_end(text, _end(node))
    return f"{text[:end]}\n{indent}{key}: {written}{text[end:]}"


def is_in_lines(text: str, place: Place) -> bool:
    """Whether the list or map at a place stands in lines of its own, not in brackets."""
    node = _node(text, place)
    return isinstance(node, yaml.CollectionNode) and not _is_flow(node)


def without_key(text: str, spot: Spot) -> str:
    """The text without the lines of this entry of a block map."""
    start = text.rfind("\n", 0, spot.start) + 1
    return text[:start] + text[_line_end(text, spot.end) + 1 :]


def without_item(text: str, place: Place) -> str:
    """The text without the lines of this item of a block list."""
    *parent, number = place
    node = _node(text, tuple(parent))
    items = [] if node is None else node.value
    starts = [text.rfind("\n", 0, item.start_mark.index) + 1 for item in items]
    position = int(number)
    if position + 1 < len(items):
        return text[: starts[position]] + text[starts[position + 1] :]
    return text[: starts[position]] + text[_line_end(text, _end(items[position])) + 1 :]


def as_if_confirmed(text: str) -> str:
    """The text without any mark, with something wherever nothing is given: for checks alone."""
    for spot in reversed(marks(text)):
        kept = f'"{TO_BE_GIVEN}"' if spot.is_empty else ""
        text = text[: spot.start] + kept + text[spot.value :]
    return text


def without_private_comments(text: str) -> str:
    """The text without the comments of a draft: at its top, and of the columns."""
    lines, place = [], "top"
    for line in text.splitlines(keepends=True):
        if re.match(r"[a-z_]+:", line):
            place = line.partition(":")[0]
        is_private = re.match(r"# left out: |#   to keep it: ", line) is not None
        is_private |= place in ("top", "domain") and re.match(r"\s*#", line) is not None
        if not is_private or line.startswith("# Combinations"):
            lines.append(line)
    return "".join(lines)


@functools.lru_cache(maxsize=4)
def _root(text: str) -> yaml.Node | None:
    """The nodes of the text, which nobody changes; the next question is about the same text."""
    loader: Any = getattr(yaml, "CBaseLoader", None)
    if loader is not None and not READ_IN_TWO_WAYS.search(text):
        with suppress(yaml.YAMLError):  # which the parser in Python may still read
            return yaml.compose(text, Loader=loader)
    return yaml.compose(text, Loader=yaml.BaseLoader)


def _spots(text: str) -> list[Spot]:
    root = _root(text)
    return [] if root is None else sorted(_walk(text, root, ()), key=lambda spot: spot.start)


def _walk(text: str, node: yaml.Node, place: Place) -> Iterator[Spot]:
    start, end = node.start_mark.index, _end(node)
    value = start
    if node.tag == TAG:
        value += len(TAG)
        value += len(text[value:end]) - len(text[value:end].lstrip(" "))
    yield Spot(place, node.start_mark.line + 1, start, value, max(value, end))
    for key, child in _children(node):
        yield from _walk(text, child, (*place, key))


def _children(node: yaml.Node) -> list[tuple[str | int, yaml.Node]]:
    if isinstance(node, yaml.MappingNode):
        return [(key.value, value) for key, value in node.value if isinstance(key, yaml.ScalarNode)]
    return list(enumerate(node.value)) if isinstance(node, yaml.SequenceNode) else []


def _node(text: str, place: Place) -> yaml.Node | None:
    node = _root(text)
    for step in place:
        node = dict(_children(node)).get(step) if node is not None else None
    return node


def _end(node: yaml.Node) -> int:
    """Just behind the last character of a node; what its parser says includes blank lines."""
    children = _children(node)
    if children and not _is_flow(node):
        return _end(children[-1][1])
    return int(node.end_mark.index)


def _is_flow(node: yaml.Node) -> bool:
    """Whether a list or map stands in brackets."""
    return isinstance(node, yaml.CollectionNode) and bool(node.flow_style)


def _line_end(text: str, position: int) -> int:
    found = text.find("\n", position)
    return len(text) if found < 0 else found
