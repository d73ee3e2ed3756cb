"""Whether a release is signed, by which key, and whether the reader trusts that key."""

from __future__ import annotations

from collections.abc import Sequence

from synth.release.contents import MANIFEST, SIGNATURE
from synth.release.signing import MAX_BYTES, parse_signature
from synth.release.verification.folder import Folder
from synth.release.verification.report import Findings
from synth.signatures import PublicKey


def check_signature(folder: Folder, findings: Findings, trusted: Sequence[PublicKey]) -> None:
    """Check the signature if there is one; with trusted keys, demand one of theirs.

    Without trusted keys a valid signature says only who claims to have signed: anybody can make
    a key. That is noted, and is no check that was passed. Raises: FolderError.
    """
    if not folder.holds(SIGNATURE):
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
    elif not trusted:
        findings.notes.append(
            f"signed by the key {found.key.key_id}, which was not checked against a key that you "
            "trust: give it with --key PUBLIC.pem"
        )
    else:
        findings.conclude(
            f"{MANIFEST} is signed by the trusted key {found.key.key_id}",
            []
            if found.key in trusted
            else [
                f"{SIGNATURE}: is by the key {found.key.key_id}, and a signature of "
                f"{_names(trusted)} was asked for"
            ],
        )


def _names(keys: Sequence[PublicKey]) -> str:
    return " or ".join(key.key_id for key in keys)
