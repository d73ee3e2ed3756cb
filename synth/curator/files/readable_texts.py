"""Texts that every engine can hold: of whole characters, short, and different where they were.

Privacy: two ids stay two. What follows maps bytes to texts so that different bytes give different
texts, but for a collision of SHA-256 among texts of more than LONG_TEXT_BYTES:

* `readable` has an inverse. Characters from FIRST to FIRST + 255 are bytes that were kept, since no
  such character of the source is left as it was; every other character stands for its own bytes.
* A cut text holds CUT, which is FIRST + 0 and stands in no other: bytes are kept only if they are
  no ASCII. Behind its last CUT it ends with the hash of all its bytes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable

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
