"""JSON with one meaning: one spelling of what is hashed, one strict reader for strangers."""

from __future__ import annotations

import hashlib
import json
from typing import Any

LINE = 100
"""Characters of a line that is folded."""
MAX_DEPTH = 40
MAX_DIGITS = 1000
"""The cells of a universe of hundreds of columns are a number of hundreds of digits."""
MAX_VALUES = 1 << 22
"""The most values of a text: one takes a few bytes as text, and up to a hundred in memory."""


class JsonError(ValueError):
    """The text is not JSON with one meaning and of a size that can be held."""


def canonical_json(value: Any, *, ascii_only: bool = False) -> str:
    """JSON text that is the same for equal values: sorted keys, no spaces, no escapes.

    `ascii_only` escapes what is not ASCII: so measurements were always hashed.
    Raises: ValueError or TypeError for a value that JSON cannot hold exactly.
    """
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=ascii_only, allow_nan=False
    )


def canonical_hash(value: Any) -> str:
    """SHA-256 of the value's canonical JSON in UTF-8, in hexadecimal."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def write_json(value: Any, *, indent: int = 2) -> bytes:
    """The value as a JSON file: every entry in a line of its own, keys in the order given."""
    return (json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False) + "\n").encode()


def write_folded_json(value: Any) -> bytes:
    """The value as a JSON file for people: what fits into a line of `LINE` characters stands in it.

    Keys are in the order given; the items of a list of texts or numbers fill their lines.
    """
    return (_folded(value, indent=0, beside=0) + "\n").encode()


def _folded(value: Any, *, indent: int, beside: int) -> str:
    """`beside`: so many characters stand in the first line before or behind the value."""
    if not isinstance(value, dict | list | tuple) or not value:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise TypeError("the keys of JSON are texts")
        names = [f"{json.dumps(key, ensure_ascii=False)}: " for key in value]
        values, (first, last) = list(value.values()), "{}"
    else:
        names, values, (first, last) = [""] * len(value), [*value], "[]"
    items = [
        name + _folded(each, indent=indent + 1, beside=len(name) + 1)
        for name, each in zip(names, values, strict=True)
    ]
    flat = f"{first}{', '.join(items)}{last}"
    if "\n" not in flat and indent + beside + len(flat) <= LINE:
        return flat
    if first == "[" and not any(isinstance(each, dict | list | tuple) for each in value):
        items = _filled(items, LINE - indent - 1)
    margin = "\n" + " " * (indent + 1)
    return f"{first}{margin}{f',{margin}'.join(items)}{margin[:-1]}{last}"


def _filled(items: list[str], width: int) -> list[str]:
    """Side by side in lines of this width, with the comma behind each."""
    lines = items[:1]
    for item in items[1:]:
        if len(lines[-1]) + len(item) + 3 <= width:
            lines[-1] += f", {item}"
        else:
            lines.append(item)
    return lines


def parse_json(content: bytes, *, most_digits: int = MAX_DIGITS, only_whole: bool = False) -> Any:
    """Read UTF-8 JSON that is not trusted; with `only_whole` every number must be whole.

    Raises: JsonError for anything else, and for a repeated key, NaN, an infinity, a number of
    more than `most_digits` digits, values nested deeper than 40, or more than four million values.
    """
    if sum(content.count(mark) for mark in (b",", b"[", b"{")) > MAX_VALUES:
        raise JsonError(f"there are more than {MAX_VALUES} values")

    def whole(text: str) -> int:
        if len(text) > most_digits:
            raise JsonError(f"a number has more than {most_digits} digits")
        return int(text)

    def real(text: str) -> float:
        if only_whole:
            raise JsonError("a number is not whole")
        value = float(text)
        if len(text) > most_digits or value in (float("inf"), float("-inf")):
            raise JsonError("a number is too long or too large")
        return value

    try:
        value = json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_unique,
            parse_constant=_refuse,
            parse_int=whole,
            parse_float=real,
        )
    except UnicodeDecodeError as error:
        raise JsonError(f"byte {error.start + 1} is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise JsonError(f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise JsonError("values are nested too deeply") from None
    _limit_depth(value, MAX_DEPTH)
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise JsonError("a key is there twice")
    return found


def _refuse(text: str) -> Any:
    raise JsonError(f"{text} is not a number")


def _limit_depth(value: Any, left: int) -> None:
    if left == 0:
        raise JsonError(f"values are nested more than {MAX_DEPTH} deep")
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list):
        return
    for item in value:
        _limit_depth(item, left - 1)
