"""What a published folder says of its configuration, and of who signed it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from synth.errors import VerificationError
from synth.release.contents import MANIFEST, SIGNATURE
from synth.release.signing import MAX_BYTES, parse_signature
from synth.release.verification.folder import Folder, FolderError
from synth.signatures import PublicKey
from synth.strict_json import JsonError, canonical_hash, parse_json


def published_configuration_hash(folder: Path) -> str | None:
    """The hash of the configuration in a release's manifest.

    Ensures: None just if `folder` is not a release, such as a file or an empty directory.
    """
    try:
        manifest = parse_json(Folder(folder).read(MANIFEST))
    except (FolderError, JsonError):
        return None
    if not isinstance(manifest, dict) or "manifest_version" not in manifest:
        return None
    if not isinstance(manifest.get("configuration"), dict):
        return None
    return canonical_hash(manifest["configuration"])


def published_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a release, unverified.

    Raises: VerificationError if `folder` is not a release.
    """
    try:
        manifest = parse_json(Folder(folder).read(MANIFEST))
    except (FolderError, JsonError):
        manifest = None
    if not isinstance(manifest, dict) or "manifest_version" not in manifest:
        raise VerificationError(
            folder.name, ["there is no release here"], fix=VerificationError.NO_RELEASE
        )
    return manifest


def published_signer(folder: Path) -> PublicKey | None:
    """The key whose signature of the manifest is in a release folder; None if there is none."""
    try:
        opened = Folder(folder)
        found = parse_signature(opened.read(SIGNATURE, limit=MAX_BYTES))
        return found.key if found.fits(opened.read(MANIFEST)) else None
    except (FolderError, ValueError):
        return None
