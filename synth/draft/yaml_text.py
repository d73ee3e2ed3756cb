"""Text as YAML, so that no value of a column can be anything but text."""

from __future__ import annotations

import re
from collections.abc import Sequence

_PLAIN = re.compile("[A-Za-z][A-Za-z0-9_-]*")
_READ_OTHERWISE = {"true", "false", "yes", "no", "on", "off", "null", "y", "n", "nan", "inf"}


def yaml_text(text: str) -> str:
    """A plain word as it is; anything else in double quotes, with what is invisible escaped."""
    if _PLAIN.fullmatch(text) and text.lower() not in _READ_OTHERWISE:
        return text
    return '"' + "".join(map(_escaped, text)) + '"'


def flow_list(texts: Sequence[str]) -> str:
    """A list of texts in one line."""
    return "[" + ", ".join(map(yaml_text, texts)) + "]"


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    number = ord(character)
    return f"\\x{number:02x}" if number < 1 << 8 else f"\\U{number:08x}"
