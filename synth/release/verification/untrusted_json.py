"""JSON from strangers: one meaning per text, no special numbers, bounded depth."""

from __future__ import annotations

import json
from typing import Any

MAX_DEPTH = 40
MAX_DIGITS = 60
MAX_VALUES = 1 << 22
"""The most values of a text: one takes a few bytes as text, and up to a hundred in memory."""


class JsonError(ValueError):
    """The text is not the JSON that a release may hold."""


def parse_json(content: bytes) -> Any:
    """Read UTF-8 JSON.

    Raises: JsonError for anything else, and for a repeated key, NaN, an infinity, a number of
    more than 60 digits, values nested deeper than 40, or more than four million values.
    """
    if sum(content.count(mark) for mark in (b",", b"[", b"{")) > MAX_VALUES:
        raise JsonError(f"there are more than {MAX_VALUES} values")
    try:
        text = content.decode("utf-8")
        value = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_refuse,
            parse_int=_whole,
            parse_float=_real,
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


def _whole(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise JsonError(f"a number has more than {MAX_DIGITS} digits")
    return int(text)


def _real(text: str) -> float:
    value = float(text)
    if len(text) > MAX_DIGITS or value in (float("inf"), float("-inf")):
        raise JsonError("a number is too long or too large")
    return value


def _limit_depth(value: Any, left: int) -> None:
    if left == 0:
        raise JsonError(f"values are nested more than {MAX_DEPTH} deep")
    if isinstance(value, dict):
        for item in value.values():
            _limit_depth(item, left - 1)
    elif isinstance(value, list):
        for item in value:
            _limit_depth(item, left - 1)
