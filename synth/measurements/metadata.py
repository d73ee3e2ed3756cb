"""The metadata of a file of measurements: JSON that is not trusted."""

from __future__ import annotations

import json
from typing import Any

MOST_BYTES = 1 << 26
"""No longer text is read: more than the tables of the longest list need."""


def read_metadata(content: bytes) -> dict[str, Any]:
    """Read an object in UTF-8 JSON.

    Raises: ValueError for anything else, a repeated key, a number that is not whole, and values
    nested too deeply.
    """
    if len(content) > MOST_BYTES:
        raise ValueError("has metadata that are too long")
    try:
        value = json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_unique,
            parse_constant=_refuse,
            parse_float=_refuse,
        )
    except UnicodeDecodeError:
        raise ValueError("has metadata that are not UTF-8") from None
    except json.JSONDecodeError:
        raise ValueError("has metadata that are not JSON") from None
    except RecursionError:
        raise ValueError("has metadata that are nested too deeply") from None
    if type(value) is not dict:
        raise ValueError("has metadata that are not an object")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("has metadata with a key that is there twice")
    return found


def _refuse(_text: str) -> Any:
    raise ValueError("has metadata with a number that is not whole")
