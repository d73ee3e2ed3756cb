"""What the YAML reader says of text that it cannot read, in words for people."""

from __future__ import annotations

import re

from synth.errors import Problem

QUOTE = 'quote text that holds : # , [ ] { } or begins with % @ ` & * !, such as "x-{period}"'
ALIGN = "indent the keys of one map alike; " + QUOTE

TOKENS = {
    "<scalar>": "text",
    "<stream end>": "the end of the file",
    "<block end>": "the end of a block",
    "<block mapping start>": "the start of a map",
    "<block sequence start>": "the start of a list",
    "<document start>": "`---`",
    "?": "a key",
}

TRANSLATIONS = (
    (
        r"expected ',' or '(?P<close>[]}])', but got '(?P<token>.*)'",
        "{token} where a comma or the closing {close} is missing",
        QUOTE,
    ),
    (r"mapping values are not allowed here", "a `:` where no key can stand", ALIGN),
    (
        r"expected <block end>, but found '(?P<token>.*)'",
        "{token} where the next key or item should begin",
        ALIGN,
    ),
    (
        r"expected the node content, but found '(?P<token>.*)'",
        "{token} where a value is missing",
        QUOTE,
    ),
    (r"could not find expected ':'", "a line without `:` among the keys before it", ALIGN),
    (
        r"found unexpected end of stream",
        "a quotation mark that is never closed",
        "close the quotation mark",
    ),
    (
        r"found character '(?P<token>.*)' that cannot start any token",
        "text that begins with {token}",
        QUOTE,
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


def syntax_problem(line: int | None, sentence: str) -> Problem:
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
    for pattern, found, fix in TRANSLATIONS:
        match = re.fullmatch(pattern, sentence)
        if match is not None:
            parts = match.groupdict()
            token = parts.get("token", "")
            parts["token"] = TOKENS.get(token, f"`{token}`")
            return Problem(line, "YAML", found.format(**parts), "valid YAML", fix=fix)
    return Problem(line, "YAML", sentence, "valid YAML", fix=QUOTE)
