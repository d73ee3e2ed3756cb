"""The tree of a YAML text: lines, no types, slips in words for people, and marked entries."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from synth.config import load_config
from synth.config.schema.yaml_tree import (
    MAX_DEPTH,
    ListNode,
    MapNode,
    TextNode,
    UnreadableTextError,
    parse,
    printable,
    render,
)
from synth.errors import ConfigError, Problem


def read(text: str) -> MapNode | ListNode | TextNode:
    problems: list[Problem] = []
    node = parse(text, problems)
    assert problems == []
    return node


def test_every_scalar_stays_text() -> None:
    node = read("[1, 1e-9, 012, yes, null, ~, 2020-01-01, 'x', 1:30, .nan]")
    assert isinstance(node, ListNode)
    texts = [item.text for item in node.items if isinstance(item, TextNode)]
    assert texts == ["1", "1e-9", "012", "yes", "null", "~", "2020-01-01", "x", "1:30", ".nan"]


def test_only_unquoted_nothing_is_blank() -> None:
    node = read("[~, null, '~', 'null', '']")
    assert isinstance(node, ListNode)
    blanks = [item.is_blank for item in node.items if isinstance(item, TextNode)]
    assert blanks == [True, True, False, False, False]


def test_lines_are_those_of_the_file() -> None:
    node = read("# comment\na: 1\n\nb:\n  - x\n  # comment\n  - {c: d,\n     e: f}\n")
    assert isinstance(node, MapNode)
    assert [(entry.key, entry.line) for entry in node.entries] == [("a", 2), ("b", 4)]
    listed = node.entries[1].value
    assert isinstance(listed, ListNode)
    assert [item.line for item in listed.items] == [5, 7]
    inner = listed.items[1]
    assert isinstance(inner, MapNode)
    assert [(entry.key, entry.line) for entry in inner.entries] == [("c", 7), ("e", 8)]


def test_repeated_keys_are_kept_for_the_reader_to_refuse() -> None:
    node = read("a: 1\na: 2\n")
    assert isinstance(node, MapNode)
    assert [entry.key for entry in node.entries] == ["a", "a"]


BILLION_LAUGHS = "a0: &a0 [x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 30)
)


def test_anchors_and_aliases_are_refused_not_expanded() -> None:
    problems: list[Problem] = []
    parse(BILLION_LAUGHS, problems)
    assert len(problems) == 30 + 29 * 9
    assert problems[0].line == 1
    assert problems[0].found == "the anchor &a0"
    assert problems[2].found == "the alias *a0"
    assert problems[2].line == 2


def test_tags_are_refused_and_build_nothing() -> None:
    problems: list[Problem] = []
    parse("a: !!python/object/apply:os.system ['true']\n", problems)
    (problem,) = problems
    assert problem.found == "the tag !!python/object/apply:os.system"


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ("", None, "an empty file"),
        ("# only a comment\n", None, "an empty file"),
        ("--- \n...\n", None, "an empty file"),
        ("a: 1\n---\nb: 2\n", 2, "a second document"),
        ("a: 1\n\tb: 2\n", 2, "a tab"),
        ("a:\n\t- b\n", 2, "a tab"),
        ("a: [1, 2\nb: 3\n", 2, None),
        ("a: 'open\n", 2, None),
        ("a: 1\n b: 2\n", 2, None),
        ("a: b: c\n", 1, None),
        ("a: @x\n", 1, None),
        ("*x\n", 1, None),
        ("a: \x07\n", 1, "the character U+0007"),
        ("x\n" * 5 + "\x00", 6, "the character U+0000"),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), 1, "deep nesting"),
        ("[" * 100_000, 1, "deep nesting"),
        ("{a: " * 100_000, 1, "deep nesting"),
        ("- " * 100_000, 1, "deep nesting"),
        ("[" + "a," * 300_000 + "]\n", 1, "a huge document"),
        ("%YAML 3.0\n---\na: 1\n", 1, None),
        ("? [a, b]\n: c\n", 1, None),
    ],
)
def test_a_text_that_is_no_plain_document(text: str, line: int | None, found: str | None) -> None:
    problems: list[Problem] = []
    try:
        parse(text, problems)
    except UnreadableTextError as error:
        problems.append(error.problem)
    assert problems
    if found is not None:
        assert (problems[0].line, problems[0].found) == (line, found)
    elif problems[0].line is not None:
        assert abs(problems[0].line - (line or 0)) <= 1


LONG = "\n".join(f"  - level {number} of many" for number in range(5_000))
EXTRAS = "levels:\n" + LONG + "\nmore: [~, '~', \"x\\ty\", &a b, *a, !!str 3, 1.0] # end\n"


@pytest.mark.parametrize("end", ["", "a: b: c\n", "---\nx: 1\n"])
def test_a_long_text_gives_the_same_tree_without_the_parser_in_c(
    end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = EXTRAS + end

    def read_whole() -> tuple[object, list[Problem]]:
        problems: list[Problem] = []
        try:
            return parse(text, problems), problems
        except UnreadableTextError as error:
            return error.problem, problems

    fast = read_whole()
    monkeypatch.delattr(yaml, "CBaseLoader", raising=False)
    assert read_whole() == fast


@pytest.mark.parametrize(
    "text",
    [
        *("x: 1\n\ufeff", "\n\ufeffx: 1\n", "x: !CONFIRM \t\n", "a\t", "? a"),
        "a:\n  - b: 1\n    c: |\n   \r  - {d: \n}\n",
        *("b: [!, z]\n", "b: !C@!:M -\n", "{d: \u2029}\n", "b: [\x85!*a., z]\n"),
        *("b: {x:\n  }\n", "b: {x: \r\n\n , y: 1}\n"),
        *("b: [x? y, z]\n", "b: {x?y: 1}\n", "x: >-#\n  a\n", "x: |2#c\n   a\n"),
    ],
)
def test_what_two_parsers_read_in_two_ways_is_read_in_one(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found() -> tuple[object, list[Problem]]:
        problems: list[Problem] = []
        try:
            return parse(text, problems), problems
        except UnreadableTextError as error:
            return error.problem, problems

    fast = found()
    monkeypatch.delattr(yaml, "CBaseLoader", raising=False)
    assert found() == fast


def test_rendering_is_one_short_printable_line() -> None:
    node = read("{a: [1, 'two', \"th\\nree\"], b: {c: ~}}")
    assert render(node) == '{a: [1, "two", "th\\nree"], b: {c: ~}}'
    assert len(render(read("[" + "x, " * 1000 + "x]"))) == 76
    assert printable("a\u202eb\x07") == "a\\u202eb\\x07"


@pytest.mark.parametrize(
    ("text", "found", "advice"),
    [
        (
            "r: {id: x-{period}, t: a}",
            "`{` where a comma or the closing } is missing",
            "x-{period}",
        ),
        ("r:\n  id: {period}-x\n", "text where the next key or item should begin", "x-{period}"),
        ("a: [1, 2", "the end of the file where a comma or the closing ] is missing", "quote"),
        ("a: b: c", "a `:` where no key can stand", "quote"),
        ("a: 1\n b: 2\n", "a `:` where no key can stand", "indent"),
        ("- a\nb: 1\n", "a key where the next key or item should begin", "indent"),
        ("a: 1\nb\nc: 2", "a line without `:` among the keys before it", "indent"),
        ("a: [b, ,c]", "`,` where a value is missing", "quote"),
        ("a: 'open\n", "a quotation mark that is never closed", "close"),
        ("a: @x", "text that begins with `@`", "quote"),
        ('a: "\\d"\n', "the escape `\\d` in double quotes", "single quotes"),
        ('"a","b"\n1,2\n', "`,` behind the end of the document", "left margin"),
        (" a: 1\nb: 2", "the start of a map behind the end of the document", "left margin"),
        ("a: |x\n b", "expected chomping or indentation indicators, but found 'x'", "quote"),
    ],
)
def test_a_slip_is_named_and_advised_on(text: str, found: str, advice: str) -> None:
    with pytest.raises(UnreadableTextError) as caught:
        parse(text, [])
    problem = caught.value.problem
    assert problem.found == found
    assert advice in problem.fix
    assert problem.line is not None
    assert not re.search(r"<[a-z ]+>", str(problem))


def refused(path: Path) -> tuple[list[tuple[int | None, str]], str]:
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    return [(problem.line, problem.path) for problem in caught.value.problems], str(caught.value)


def test_every_marked_entry_is_listed_with_its_line_and_no_value(project: Any) -> None:
    path = project()
    lines = path.read_text().splitlines()
    marked = []
    for number, line in enumerate(lines, start=1):
        key, colon, value = line.partition(": ")
        if colon and key.strip() in ("epsilon", "maximum", "title"):
            lines[number - 1] = f"{key}: !CONFIRM {value}"
            marked.append(number)
    path.write_text("\n".join(lines))
    found, message = refused(path)
    assert [line for line, _ in found] == marked
    assert [place for _, place in found] == [
        "release.title", "privacy.epsilon", 'domain[0] "age" → maximum'
    ]  # fmt: skip
    assert "A small release" not in message
    assert "99" not in message


@pytest.mark.parametrize("value", ["[Nord, {}]", "\n    - Nord\n    - {}", "", "{{a: {}}}"])
def test_lists_maps_and_empty_places_can_be_marked_and_hide_what_they_hold(
    tmp_path: Path, value: str
) -> None:
    path = tmp_path / "marked.yaml"
    text = value.format("canary-4711")
    path.write_text(f"domain:\n  - name: town\n    levels: !CONFIRM {text}\nbad key: canary-4712\n")
    found, message = refused(path)
    assert found == [(3, 'domain[0] "town" → levels')]
    assert "canary" not in message


def test_a_configuration_without_marks_is_accepted_and_other_tags_are_refused(project: Any) -> None:
    path = project()
    load_config(path)
    path.write_text(path.read_text().replace("title: A", "title: !confirm A"))
    _, message = refused(path)
    assert "the tag !confirm" in message


def test_other_readers_of_yaml_refuse_the_mark_too(project: Any) -> None:
    path = project()
    path.write_text(path.read_text().replace("epsilon: 1", "epsilon: !CONFIRM 1"))
    with pytest.raises(yaml.constructor.ConstructorError):
        yaml.safe_load(path.read_text())
