"""The manifest and its schema as documents: readable, closed, spelled as they were written."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any

from synth.release.contents import MANIFEST
from synth.release.manifest.build import SCHEMA_FILE, schema_file
from synth.release.verification.folder import Folder
from synth.release.verification.report import Findings
from synth.strict_json import JsonError, parse_json, write_json

MOST_FINDINGS = 1_000


def read_manifest(folder: Folder, findings: Findings) -> dict[str, Any] | None:
    """The manifest, or None if it cannot be used. Raises: FolderError."""
    if SCHEMA_FILE in folder.sizes:
        same = folder.read(SCHEMA_FILE) == schema_file()
        findings.conclude(
            "the schema of the manifest is that of this version",
            [] if same else [f"{SCHEMA_FILE}: is not the schema of this version of synth"],
        )
    content = folder.read(MANIFEST)
    try:
        manifest = parse_json(content)
    except JsonError as error:
        findings.found.append(f"{MANIFEST}: is not readable: {error}")
        return None
    if not findings.conclude(
        "the manifest fits its schema", _schema_findings(manifest, json.loads(schema_file()))
    ):
        return None
    findings.conclude(
        "the manifest is spelled as it was written",
        [] if write_json(manifest) == content else [f"{MANIFEST}: spaces or escapes were changed"],
    )
    assured: dict[str, Any] = manifest
    return assured


def _schema_findings(manifest: Any, schema: dict[str, Any]) -> list[str]:
    from jsonschema import Draft202012Validator

    findings = []
    errors = Draft202012Validator(schema).iter_errors(manifest)
    for error in islice(errors, MOST_FINDINGS):  # one broken list can hold a million of them
        place = error.json_path.removeprefix("$").removeprefix(".") or "the whole"
        message = error.message if len(error.message) < 300 else error.message[:300] + " ..."
        findings.append(f"{MANIFEST}: {place}: {message}")
    return findings
