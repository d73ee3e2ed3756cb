"""Long enumerations in messages, cut short."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice


def shorten(texts: Iterable[str], limit: int) -> list[str]:
    """The first `limit` texts and `...`; all of them where `...` would hide only one."""
    first = list(islice(texts, limit + 2))
    return first if len(first) <= limit + 1 else [*first[:limit], "..."]
