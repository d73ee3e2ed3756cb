"""YAML text as a tree of text, lists and maps that remembers lines and guesses no types."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from synth.errors import Problem

MAX_DEPTH = 20
MAX_NODES = 300_000
READ_IN_TWO_WAYS = re.compile(
    r"[\t\ufeff\x85\u2028\u2029?]|\r(?!\n)|!(?!CONFIRM[ \n])|[|>][-+0-9]*#|:\s*\n\s*[,}\]]"
    r"|[^\n]\Z"
)
"""Where the parser in C takes what the one in Python refuses, or counts lines otherwise: tabs,
marks of byte order, rare line ends, question marks within brackets, other tags, comments at the
very head of a block, values left out before a line that closes brackets, and texts without a last
line end."""
BLANKS = frozenset({"", "~", "null", "Null", "NULL"})

TAG = "!CONFIRM"
"""The YAML tag that stands before a value that was inferred from data, or is still to be given."""


@dataclass(frozen=True)
class TextNode:
    """One scalar, exactly as written; `plain` if it had no quotes and was no block."""

    text: str
    line: int | None
    plain: bool = False
    broken: bool = False
    """A problem was already reported for this node."""

    @property
    def is_blank(self) -> bool:
        """Whether nothing stands here: an empty place, or an unquoted `null` or `~`."""
        return self.plain and self.text in BLANKS


@dataclass(frozen=True)
class ListNode:
    """A sequence."""

    items: tuple[Node, ...]
    line: int | None


@dataclass(frozen=True)
class Entry:
    """One key of a map, with the line of the key; keys may repeat."""

    key: str
    line: int | None
    value: Node


@dataclass(frozen=True)
class MapNode:
    """A mapping, repeated keys included."""

    entries: tuple[Entry, ...]
    line: int | None


Node = TextNode | ListNode | MapNode


def printable(text: str) -> str:
    """The text with every unprintable character escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def render(node: Node, *, width: int = 76) -> str:
    """The node in one line of flow style, cut off at `width` characters."""
    text = ""
    for piece in _pieces(node):
        text += piece
        if len(text) > width:
            return text[: width - 3] + "..."
    return text or "nothing"


_CREDENTIALS = re.compile(r"://[^/\s]*@")
"""User and password in an address, which no message shows."""


def _pieces(node: Node) -> Iterator[str]:
    if isinstance(node, TextNode):
        text = _CREDENTIALS.sub("://...@", printable(node.text[:200]))
        yield text if node.plain else f'"{text}"'
    elif isinstance(node, ListNode):
        yield "["
        for index, item in enumerate(node.items):
            yield ", " if index else ""
            yield from _pieces(item)
        yield "]"
    else:
        yield "{"
        for index, entry in enumerate(node.entries):
            yield f"{', ' if index else ''}{printable(entry.key[:200])}: "
            yield from _pieces(entry.value)
        yield "}"


@dataclass(frozen=True)
class Unconfirmed(Problem):
    """An entry that is still marked. It never shows the value, which may come from raw data."""

    @classmethod
    def at(cls, line: int, path: str) -> Unconfirmed:
        """The problem of the entry at this line and path."""
        return cls(
            line,
            path,
            f"an entry marked {TAG}",
            "an entry that somebody has confirmed",
            fix=f"confirm it against a public source, then remove the word {TAG}",
        )


class UnreadableTextError(Exception):
    """The text is no single, plain YAML document; holds the one problem that says why."""

    def __init__(self, problem: Problem) -> None:
        """Keep the problem."""
        self.problem = problem
        super().__init__(problem.found)


def parse(text: str, problems: list[Problem]) -> Node:
    """Read one YAML document; anchors, aliases and tags are added to `problems`.

    Raises: UnreadableTextError if the text is no single YAML document of sensible size.
    """
    root = _parse_quickly(text, problems)
    if root is not None:
        return root
    try:
        return _compose(yaml.parse(text, Loader=yaml.BaseLoader), problems)
    except yaml.reader.ReaderError as error:
        at = text.count("\n", 0, error.position) + 1
        raise UnreadableTextError(
            Problem(at, "YAML", f"the character U+{int(error.character):04X}", "printable text")
        ) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = None if mark is None else mark.line + 1
        sentence = printable(error.problem or "")[:200]
        raise UnreadableTextError(_syntax_problem(line, sentence)) from None
    except (yaml.YAMLError, ValueError, OverflowError):
        raise UnreadableTextError(
            Problem(None, "YAML", "text that is no YAML", "one YAML document")
        ) from None


def _parse_quickly(text: str, problems: list[Problem]) -> Node | None:
    """The same tree by the parser in C, ten times as fast; None if there is none, or it may differ.

    A text that is no YAML, or holds what the two read in two ways, is left to the parser in
    Python, so that what it means and what is said of it are the same everywhere.
    """
    loader: Any = getattr(yaml, "CBaseLoader", None)
    if loader is None or READ_IN_TWO_WAYS.search(text):
        return None
    found: list[Problem] = []
    try:
        root = _compose(yaml.parse(text, Loader=loader), found)
    except UnreadableTextError:
        problems += found
        raise
    except (yaml.YAMLError, ValueError, OverflowError):
        return None
    problems += found
    return root


def _compose(events: Iterator[Any], problems: list[Problem]) -> Node:
    """Build the tree without recursion, so that no input can exhaust the stack."""
    root: Node | None = None
    open_nodes: list[tuple[bool, int, list[Node]]] = []
    count = 0
    documents = 0
    for event in events:
        line = event.start_mark.line + 1
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise UnreadableTextError(
                    Problem(
                        line, "YAML", "a second document", "one document", fix="remove the `---`"
                    )
                )
            continue
        if not isinstance(event, yaml.NodeEvent | yaml.CollectionEndEvent):
            continue
        count += 1
        if count > MAX_NODES:
            raise UnreadableTextError(
                Problem(line, "YAML", "a huge document", f"at most {MAX_NODES:,} values")
            )
        node: Node
        if isinstance(event, yaml.CollectionStartEvent):
            _refuse_extras(event, line, problems, open_nodes)
            open_nodes.append((isinstance(event, yaml.MappingStartEvent), line, []))
            if len(open_nodes) > MAX_DEPTH:
                raise UnreadableTextError(
                    Problem(line, "YAML", "deep nesting", f"at most {MAX_DEPTH} levels of nesting")
                )
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            is_map, start, children = open_nodes.pop()
            node = _map(children, start, problems) if is_map else ListNode(tuple(children), start)
        else:
            broken = _refuse_extras(event, line, problems, open_nodes)
            scalar = event if isinstance(event, yaml.ScalarEvent) else None
            plain = scalar is not None and not scalar.style
            text = "" if scalar is None else str(scalar.value)
            node = TextNode(text, line, plain=plain, broken=broken)
        if open_nodes:
            open_nodes[-1][2].append(node)
        else:
            root = node
    if root is None or (isinstance(root, TextNode) and root.is_blank):
        raise UnreadableTextError(Problem(None, "YAML", "an empty file", "a configuration"))
    return root


def _refuse_extras(
    event: Any,
    line: int,
    problems: list[Problem],
    open_nodes: Sequence[tuple[bool, int, Sequence[Node]]],
) -> bool:
    """Report an anchor, alias or tag; True if the node has no usable value."""
    if event.anchor is not None:
        is_alias = isinstance(event, yaml.AliasEvent)
        mark = ("*" if is_alias else "&") + printable(event.anchor[:60])
        problems.append(
            Problem(
                line,
                "YAML",
                f"the {'alias' if is_alias else 'anchor'} {mark}",
                "values written out",
                why="a reader should see every value where it counts",
                fix='quote it if it is meant as text: "' + mark + '"',
            )
        )
        return is_alias
    if event.tag == TAG:
        problems.append(Unconfirmed.at(line, _place(open_nodes)))
    elif event.tag is not None:
        tag = event.tag.replace("tag:yaml.org,2002:", "!!")
        problems.append(
            Problem(
                line,
                "YAML",
                f"the tag {printable(tag[:60])}",
                "values without tags",
                fix="remove the tag: types follow from the key",
            )
        )
    return False


def _place(open_nodes: Sequence[tuple[bool, int, Sequence[Node]]]) -> str:
    """Where the next node stands, in words, as far as it was read: `domain[3] "age" → edges`."""
    text = ""
    joint = ""
    for is_map, _, children in open_nodes:
        if not is_map:
            text, joint = f"{text}[{len(children)}]", "."
            continue
        keys, values = children[:40:2], children[1:40:2]  # few, so that refusals stay quick
        for key, value in zip(keys, values, strict=False):
            is_name = isinstance(key, TextNode) and key.text == "name" and text.endswith("]")
            if is_name and isinstance(value, TextNode):
                text, joint = f'{text} "{printable(value.text[:80])}"', " → "
        last = children[-1] if len(children) % 2 else None
        text += joint + printable(last.text[:80]) if isinstance(last, TextNode) else ""
        joint = "."
    return text or "the file"


def _map(children: list[Node], line: int, problems: list[Problem]) -> MapNode:
    entries = []
    for key, value in zip(children[::2], children[1::2], strict=True):
        if isinstance(key, TextNode):
            entries.append(Entry(key.text, key.line, value))
        else:
            problems.append(Problem(key.line, "YAML", f"the key {render(key)}", "text as key"))
    return MapNode(tuple(entries), line)


def from_json(value: Any) -> Node:
    """The same tree from JSON values, without lines."""
    if isinstance(value, Mapping):
        return MapNode(tuple(Entry(str(k), None, from_json(v)) for k, v in value.items()), None)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ListNode(tuple(from_json(item) for item in value), None)
    if isinstance(value, bool):
        return TextNode("true" if value else "false", None)
    return TextNode("", None, plain=True) if value is None else TextNode(str(value), None)


_QUOTE = 'quote text that holds : # , [ ] { } or begins with % @ ` & * !, such as "x-{period}"'
_ALIGN = "indent the keys of one map alike; " + _QUOTE

_TOKENS = {
    "<scalar>": "text",
    "<stream end>": "the end of the file",
    "<block end>": "the end of a block",
    "<block mapping start>": "the start of a map",
    "<block sequence start>": "the start of a list",
    "<document start>": "`---`",
    "?": "a key",
}

_TRANSLATIONS = (
    (
        r"expected ',' or '(?P<close>[]}])', but got '(?P<token>.*)'",
        "{token} where a comma or the closing {close} is missing",
        _QUOTE,
    ),
    (r"mapping values are not allowed here", "a `:` where no key can stand", _ALIGN),
    (
        r"expected <block end>, but found '(?P<token>.*)'",
        "{token} where the next key or item should begin",
        _ALIGN,
    ),
    (
        r"expected the node content, but found '(?P<token>.*)'",
        "{token} where a value is missing",
        _QUOTE,
    ),
    (r"could not find expected ':'", "a line without `:` among the keys before it", _ALIGN),
    (
        r"found unexpected end of stream",
        "a quotation mark that is never closed",
        "close the quotation mark",
    ),
    (
        r"found character '(?P<token>.*)' that cannot start any token",
        "text that begins with {token}",
        _QUOTE,
    ),
    (
        r"found unknown escape character '(?P<mark>.*)'",
        "the escape `\\{mark}` in double quotes",
        "use single quotes, or write the backslash twice",
    ),
    (
        r"expected '<document start>', but found '(?P<token>.*)'",
        "{token} behind the end of the document",
        "begin every key of the file at the left margin, as `key: value`",
    ),
)
"""What the reader says, how people say it, and what helps."""


def _syntax_problem(line: int | None, sentence: str) -> Problem:
    """The problem that a sentence of the YAML reader describes."""
    if "'\\t'" in sentence:
        return Problem(
            line,
            "YAML",
            "a tab",
            "spaces for indentation",
            why="YAML does not allow tabs there",
            fix="replace the tab by spaces",
        )
    for pattern, found, fix in _TRANSLATIONS:
        match = re.fullmatch(pattern, sentence)
        if match is not None:
            parts = match.groupdict()
            token = parts.get("token", "")
            parts["token"] = _TOKENS.get(token, f"`{token}`")
            return Problem(line, "YAML", found.format(**parts), "valid YAML", fix=fix)
    return Problem(line, "YAML", sentence, "valid YAML", fix=_QUOTE)
