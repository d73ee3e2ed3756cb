"""Whether a release is signed, by which key, and whether the reader trusts that key."""

from __future__ import annotations

from collections.abc import Sequence

from synth.release.contents import MANIFEST, SIGNATURE
from synth.release.signing import MAX_BYTES, parse_signature
from synth.release.verification.folder import Folder, FolderError
from synth.release.verification.report import Findings, Signature
from synth.signatures import PublicKey
from synth.strict_json import JsonError, parse_json


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
