"""Values of typed files as texts, as somebody who exports them to CSV would write them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from typing import Any

import pyarrow as pa

from synth.curator.files.readable_texts import readable_texts

WHOLE_DIGITS_UP_TO = 2.0**63
"""Whole floats below it are written as whole numbers, as `encode.is_float` takes those of Parquet.

So a number that is an id has one text, of whatever type a program makes it."""


def texts(values: Iterable[Any]) -> pa.Array:
    """Large strings for values of any kinds: one for each, total, and null only for None.

    Privacy: what a value becomes depends on that value alone.
    """
    raw = [None if value is None else _bytes(value) for value in values]
    return readable_texts(pa.array(raw, pa.large_binary()))


def _bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    return text_of(value).encode(errors="surrogatepass")


def text_of(value: Any) -> str:
    """One value: whole numbers without a point, truths in small letters, dates and times in ISO.

    A moment at midnight is written as a date only if it is one: `datetime` keeps its time.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return number_text(value)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return number_text(value.total_seconds())
    return str(value)


def number_text(value: float) -> str:
    """The shortest decimal that means this number; a whole one without a point."""
    if value == 0:
        return "0"
    if math.isfinite(value) and value == math.floor(value) and abs(value) < WHOLE_DIGITS_UP_TO:
        return str(int(value))
    return repr(value)


def moment_text(origin: datetime, seconds: float, *, is_date: bool) -> str | None:
    """The day, or the moment to the second, that lies so many seconds behind an origin, in ISO.

    None outside of the years 1 to 9999, where there is no such day.
    """
    try:
        found = origin + timedelta(seconds=math.floor(seconds))
    except (OverflowError, ValueError):
        return None
    return found.date().isoformat() if is_date else found.isoformat()
