"""Two JSON values compared leaf by leaf; every difference is named by its path."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

SHOWN_CHARACTERS = 160

Equal = Callable[[str, Any, Any], bool]
"""Whether two leaves at a path count as equal."""


def same(path: str, found: Any, expected: Any) -> bool:
    """Equal in type and value: 1, 1.0 and true are three things."""
    del path
    return type(found) is type(expected) and bool(found == expected)


def differences(found: Any, expected: Any, *, path: str = "", equal: Equal = same) -> Iterator[str]:
    """One sentence per difference: `path: found ..., expected ...`."""
    if isinstance(found, dict) and isinstance(expected, dict):
        for key in expected:
            here = f"{path}.{key}" if path else key
            if key in found:
                yield from differences(found[key], expected[key], path=here, equal=equal)
            else:
                yield f"{here}: is missing, expected {shown(expected[key])}"
        for key in found.keys() - expected.keys():
            yield f"{path}.{key}" + ": does not belong there"
    elif isinstance(found, list) and isinstance(expected, list):
        if len(found) != len(expected):
            yield f"{path}: found {len(found)} items, expected {len(expected)}"
        for position, (left, right) in enumerate(zip(found, expected, strict=False)):
            yield from differences(left, right, path=f"{path}[{position}]", equal=equal)
    elif not equal(path, found, expected):
        yield f"{path}: found {shown(found)}, expected {shown(expected)}"


def shown(value: Any) -> str:
    """The value as JSON, shortened."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + " ..."
