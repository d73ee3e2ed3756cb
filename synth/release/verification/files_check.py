"""Which files are there, and whether their bytes are those that were listed."""

from __future__ import annotations

from synth.release.checksums import CHECKSUMS, file_sha256, parse_checksums
from synth.release.contents import MANIFEST
from synth.release.verification.folder import Folder, FolderError
from synth.release.verification.report import Findings
from synth.release.verification.untrusted_json import JsonError, parse_json

MAX_CHECKSUM_BYTES = 1 << 16


def check_files(folder: Folder, findings: Findings) -> None:
    """Compare the folder with SHA256SUMS: the set of files, and the bytes of each."""
    findings.conclude("the folder holds plain files only", folder.problems)
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
    wrong, stated = [], _stated_hashes(folder)
    for name in sorted(present & listed.keys()):
        with folder.open(name) as file:
            digest = file_sha256(file)
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


def _stated_hashes(folder: Folder) -> dict[str, str]:
    """The hashes in the manifest, as a second witness; empty if it cannot be read."""
    try:
        files = parse_json(folder.read(MANIFEST))["files"]
        return {str(entry["path"]): str(entry["sha256"]) for entry in files}
    except (FolderError, JsonError, KeyError, TypeError):
        return {}
