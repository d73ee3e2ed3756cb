"""What the YAML reader refuses, in words for people: no tokens of its grammar, and advice."""

from __future__ import annotations

import re

import pytest

from synth.config.tree import UnreadableTextError, parse


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
