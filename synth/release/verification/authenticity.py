"""Which files are there, whether their bytes are those that were listed, and who signed them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from synth.release.contents import (
    CHECKSUMS,
    CSV,
    MANIFEST,
    MEASUREMENTS,
    PARQUET,
    QUALITY,
    REPLICATES,
    SIGNATURE,
    file_sha256,
    parse_checksums,
)
from synth.release.signing import MAX_BYTES, parse_signature
from synth.release.verification.findings import Findings, Signature
from synth.release.verification.folder import MAX_TEXT_BYTES, Folder, FolderError
from synth.signatures import PublicKey
from synth.strict_json import JsonError, parse_json

MAX_CHECKSUM_BYTES = 1 << 16

DATA = {CSV, PARQUET, MEASUREMENTS, REPLICATES, QUALITY}
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


def check_signature(folder: Folder, findings: Findings, trusted: Sequence[PublicKey]) -> None:
    """Check the signature if there is one, or the manifest says so; demand one of trusted keys.

    Without trusted keys a valid signature says only who claims to have signed: anybody can make
    a key. The report says so, and it is no check that was passed. Raises: FolderError.
    """
    promised = _promised(folder)
    if not folder.holds(SIGNATURE):
        if promised is not None:
            findings.found.append(
                f"{SIGNATURE}: is missing; {MANIFEST} says that the key {promised} signed it"
            )
        if trusted:
            findings.found.append(
                f"{SIGNATURE}: is missing; the release is not signed, and a signature of "
                f"{_names(trusted)} was asked for"
            )
        return
    try:
        found = parse_signature(folder.read(SIGNATURE, limit=MAX_BYTES))
    except ValueError as error:
        findings.found.append(f"{SIGNATURE}: {error}")
        return
    if not found.fits(folder.read(MANIFEST)):
        findings.found.append(
            f"{SIGNATURE}: is no signature of {MANIFEST} as it is now by the key {found.key.key_id}"
        )
    elif promised != found.key.key_id:
        said = "names no key" if promised is None else f"names the key {promised:.80}"
        findings.found.append(
            f"{SIGNATURE}: is by the key {found.key.key_id}, and {MANIFEST} {said}"
        )
    elif not trusted:
        findings.signature = Signature("not compared", found.key.key_id)
    else:
        findings.signature = Signature("trusted", found.key.key_id)
        findings.conclude(
            f"{MANIFEST} is signed by the trusted key {found.key.key_id}",
            []
            if found.key in trusted
            else [
                f"{SIGNATURE}: is by the key {found.key.key_id}, and a signature of "
                f"{_names(trusted)} was asked for"
            ],
        )


def _promised(folder: Folder) -> str | None:
    """The key that the manifest says it was signed by, if it can be read and says so."""
    try:
        key_id = parse_json(folder.read(MANIFEST))["identity"]["signature_key_id"]
    except (FolderError, JsonError, KeyError, TypeError):
        return None
    return key_id if isinstance(key_id, str) else None


def _names(keys: Sequence[PublicKey]) -> str:
    return " or ".join(key.key_id for key in keys)
