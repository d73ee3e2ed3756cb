"""SHA256SUMS: one line per file, as `sha256sum --check` reads it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import IO

CHECKSUMS = "SHA256SUMS"
LINE = re.compile(r"([0-9a-f]{64})  ([A-Za-z0-9._-]{1,255})\n")


CHUNK_BYTES = 1 << 20


def file_sha256(file: IO[bytes], *, most_bytes: int | None = None) -> str:
    """SHA-256 of everything from the file's position on, or of its first `most_bytes`."""
    if most_bytes is None:
        return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
    digest = hashlib.sha256()
    while chunk := file.read(min(CHUNK_BYTES, most_bytes)):
        digest.update(chunk)
        most_bytes -= len(chunk)
    return digest.hexdigest()


def checksum_lines(hashes: Mapping[str, str]) -> bytes:
    """The file's bytes: sorted by name, every file of the folder but this one."""
    return "".join(f"{hashes[name]}  {name}\n" for name in sorted(hashes)).encode()


def parse_checksums(content: bytes) -> dict[str, str] | None:
    """The hashes by file name, or None if a single byte is not as `checksum_lines` writes it."""
    try:
        text = content.decode("ascii")
    except UnicodeDecodeError:
        return None
    hashes = {name: digest for digest, name in LINE.findall(text)}
    return hashes if content and checksum_lines(hashes) == content else None
