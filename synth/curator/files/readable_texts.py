"""Texts that every engine can hold: of whole characters, short, and different where they were.

Privacy: two ids stay two. What follows maps bytes to texts so that different bytes give different
texts, but for a collision of SHA-256 among texts of more than LONG_TEXT_BYTES:

* `readable` has an inverse. Characters from FIRST to FIRST + 255 are bytes that were kept, since no
  such character of the source is left as it was; every other character stands for its own bytes.
* A cut text holds CUT, which is FIRST + 0 and stands in no other: bytes are kept only if they are
  no ASCII. Behind its last CUT it ends with the hash of all its bytes.

Values of typed files become the texts that somebody who exports them to CSV would write.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterable
from datetime import date, datetime, time, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

UNDECODABLE = "surrogateescape"
"""The error handler of decoders before `readable`: such a byte becomes half of a pair of codes."""
FIRST = 0xF0000
"""The byte b is kept as the private-use character FIRST + b."""
LONG_TEXT_BYTES = 4096
"""A longer text is no label and no number. It is cut, because it may be as long as memory."""
CUT_CHARACTERS = 1_000
"""So many stay: those by which records of a person are chosen, see `bound_contributions`."""
CUT = chr(FIRST)

_RESERVED = re.compile("[\udc80-\udcff\U000f0000-\U000f00ff]")
_LEAD = 0xF3
_PREFIX = b"\xf3\xb0"
"""Those of every character from FIRST to FIRST + 255 in UTF-8; ordinary text holds neither."""


def readable(text: str) -> str:
    """Whole characters for what was decoded with UNDECODABLE, which loses nothing.

    Every byte that is none of the encoding is kept as a character; so is every byte of a
    character of the text that itself looks like a kept one.
    """
    return _RESERVED.sub(_kept, text)


def readable_utf8(text: str) -> bytes:
    """`readable` as UTF-8, quick for ordinary text."""
    try:
        utf8 = text.encode()
    except UnicodeEncodeError:
        return readable(text).encode()
    return readable(text).encode() if _PREFIX in utf8 else utf8


def readable_texts(texts: pa.Array) -> pa.Array:
    """Large strings for an array of texts, whatever bytes they hold: readable, long ones cut."""
    raw = texts.cast(pa.large_binary())
    content = raw.buffers()[2]
    try:
        valid = raw.cast(pa.large_string())
    except pa.ArrowInvalid:
        return _each(raw, _decoded)
    if _holds_long(raw) or (content and (np.frombuffer(content, np.uint8) == _LEAD).any()):
        return _each(raw, _decoded)
    return valid


def cut_texts(texts: pa.Array) -> pa.Array:
    """An array of texts that are readable already, with long ones cut."""
    if not _holds_long(texts):
        return texts
    return _each(texts.cast(pa.large_binary()), lambda raw: raw.decode(errors="ignore"))


def _holds_long(texts: pa.Array) -> bool:
    return (pc.max(pc.binary_length(texts)).as_py() or 0) > LONG_TEXT_BYTES


def _each(raw: pa.Array, decode: Callable[[bytes], str]) -> pa.Array:
    """Text by text; `decode` gets what is needed of a text and no more."""
    texts: list[str | None] = []
    for value in raw:
        content = value.as_buffer()
        if content is None:
            texts.append(None)
        elif content.size <= LONG_TEXT_BYTES:
            texts.append(decode(content.to_pybytes()))
        else:
            start = decode(content.slice(0, LONG_TEXT_BYTES).to_pybytes())[:CUT_CHARACTERS]
            texts.append(f"{start}{CUT}{hashlib.sha256(content).hexdigest()}")
    return pa.array(texts, pa.large_string())


def _decoded(content: bytes) -> str:
    return readable(content.decode(errors=UNDECODABLE))


def _kept(character: re.Match[str]) -> str:
    return "".join(chr(FIRST + byte) for byte in character[0].encode(errors=UNDECODABLE))


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
