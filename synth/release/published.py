"""What a published folder says of the configuration that it was made with."""

from __future__ import annotations

from pathlib import Path

from synth.release.contents import MANIFEST
from synth.release.manifest.canonical import canonical_hash
from synth.release.verification.folder import Folder, FolderError
from synth.release.verification.untrusted_json import JsonError, parse_json


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
