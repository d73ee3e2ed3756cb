"""Which files are there, and whether their bytes are those that were listed."""

from __future__ import annotations

from typing import Any

from synth.release.contents import (
    CHECKSUMS,
    CSV,
    MANIFEST,
    MEASUREMENTS,
    PARQUET,
    QUALITY,
    file_sha256,
    parse_checksums,
)
from synth.release.verification.folder import MAX_TEXT_BYTES, Folder, FolderError
from synth.release.verification.report import Findings
from synth.strict_json import JsonError, parse_json

MAX_CHECKSUM_BYTES = 1 << 16

DATA = {CSV, PARQUET, MEASUREMENTS, QUALITY}
"""Files that may be as large as they are; all others are texts."""


def check_files(folder: Folder, findings: Findings) -> None:
    """Compare the folder with SHA256SUMS: the set of files, and the bytes of each."""
    findings.conclude("the folder holds plain files only", folder.problems)
    for name in sorted(folder.sizes.keys() - DATA):
        if folder.sizes[name] > MAX_TEXT_BYTES:  # and is not read to the end to say so
            raise FolderError(f"{name}: is larger than {MAX_TEXT_BYTES} bytes")
    content = folder.read(CHECKSUMS, limit=MAX_CHECKSUM_BYTES)
    listed = parse_checksums(content)
    if listed is None:
        findings.found.append(
            f"{CHECKSUMS}: is not as `sha256sum` writes it, sorted by name, one line per file"
        )
        return
    present = folder.sizes.keys() - {CHECKSUMS}
    extra, absent = sorted(present - listed.keys()), sorted(listed.keys() - present)
    findings.conclude(
        f"{CHECKSUMS} lists every file and no other",
        [f"{name}: is in the folder but not in {CHECKSUMS}" for name in extra]
        + [f"{name}: is missing" for name in absent],
    )
    wrong, stated, sizes = [], _stated(folder, "sha256"), _stated(folder, "bytes")
    for name in sorted(present & sizes.keys()):
        if folder.sizes[name] > MAX_TEXT_BYTES + 2 * sizes[name]:  # a file of holes costs nothing
            raise FolderError(
                f"{name}: has {folder.sizes[name]} bytes, {MANIFEST} says {sizes[name]}"
            )
    for name in sorted(present & listed.keys()):
        size = folder.sizes[name]
        with folder.open(name) as file:  # one byte more, so that a file that grows is another one
            digest = file_sha256(file, most_bytes=size + 1)
        if digest == stated.get(name) != listed[name]:
            wrong.append(
                f"{CHECKSUMS}: the line of {name} was changed: found {listed[name]}, expected "
                f"{digest}"
            )
        elif digest != listed[name]:
            wrong.append(
                f"{name}: its bytes were changed: SHA-256 is {digest}, {CHECKSUMS} says "
                f"{listed[name]}"
            )
    findings.conclude("the bytes of every file are those listed", wrong)


def _stated(folder: Folder, field: str) -> dict[str, Any]:
    """A field of every file in the manifest, as a second witness; empty if it cannot be read."""
    kind = {"sha256": str, "bytes": int}[field]
    try:
        files = parse_json(folder.read(MANIFEST))["files"]
        return {str(e["path"]): e[field] for e in files if type(e[field]) is kind}
    except (FolderError, JsonError, KeyError, TypeError):
        return {}
