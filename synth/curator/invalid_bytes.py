"""Bytes that are no text: kept apart, so that different ids stay different."""

from __future__ import annotations

import codecs

KEEP_BYTES = "synth-keep-bytes"
"""An error handler of decoders: every undecodable byte becomes a character of its own."""
FIRST = 0xF0000
"""The byte b becomes the private-use character FIRST + b."""


def _kept(error: UnicodeError) -> tuple[str, int]:
    """Privacy: replacing all such bytes by one character would make two persons one."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "".join(chr(FIRST + byte) for byte in error.object[error.start : error.end]), error.end


codecs.register_error(KEEP_BYTES, _kept)
