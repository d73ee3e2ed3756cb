"""The manifest on its own: readable, closed, spelled as it was written.

Some of its fields nothing can rebuild; they are listed in `ATTESTED_ONLY`. Each must be well
formed, and some must agree with the configuration or with one another. Only the checksums protect
what is left free.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date
from itertools import islice
from typing import Any

from jsonschema import Draft202012Validator

from synth.measurements import Disposal, SelfTest
from synth.release.contents import MANIFEST
from synth.release.manifest.accounting import Account, stated_budget
from synth.release.manifest.build import (
    MANIFEST_VERSION,
    MANIFEST_VERSIONS,
    SCHEMA_FILE,
    Attested,
    manifest_file,
    schema_file,
)
from synth.release.manifest.implementation import COMMIT, LIBRARIES, Software
from synth.release.verification.findings import Findings
from synth.release.verification.folder import Folder
from synth.strict_json import JsonError, parse_json

MOST_FINDINGS = 1_000

DISTRIBUTION = re.compile(r"[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?")
VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+!_-]{0,63}")
PROCESSOR = re.compile(r"[0-9A-Za-z_]{1,32}:( [0-9A-Za-z_]{1,16}){0,40} ?")
MOST_DISTRIBUTIONS = 300
MOST_SELF_TESTS = 30
MOST_CHARACTERS = 200

ATTESTED_ONLY = (
    "identity.date_published",
    "life_cycle.measured_on",
    "accounting.ledger.earlier_release_ids[*]",
    "accounting.ledger.reservation_hash",
    "implementation.self_tests[*].name",
    "implementation.commit",
    "implementation.versions.*",
    "implementation.processor",
    "implementation.bill_of_materials.*",
    "implementation.arithmetic_fingerprint",
)
"""Fields that may be changed, alone and with new checksums, without `verify` noticing."""

ATTESTED_NOTE = (
    "stated by the curator or publisher and protected by the checksums alone, for nothing can "
    f"rebuild it: {', '.join(ATTESTED_ONLY)}, how accounting.ledger.spent_before and left "
    "share the cap (in a series beside added, which is at most what is charged), and which "
    "sentences stand in security_and_disposal.disposal.checks"
)


def read_manifest(folder: Folder, findings: Findings) -> dict[str, Any] | None:
    """The manifest, or None if it cannot be used. Raises: FolderError."""
    content = folder.read(MANIFEST)
    unreadable = ""
    try:
        manifest = parse_json(content)
    except JsonError as error:
        manifest, unreadable = None, f"{MANIFEST}: is not readable: {error}"
    manifest_version = _version_of(manifest)
    schema = schema_file(manifest_version)
    if SCHEMA_FILE in folder.sizes:
        same = folder.read(SCHEMA_FILE) == schema
        findings.conclude(
            "the schema of the manifest is that of this version",
            [] if same else [f"{SCHEMA_FILE}: is not that of manifest_version {manifest_version}"],
        )
    if unreadable:
        findings.found.append(unreadable)
        return None
    if not findings.conclude(
        "the manifest fits its schema", schema_findings(manifest, json.loads(schema))
    ):
        return None
    findings.conclude(
        "the manifest is spelled as it was written",
        []
        if manifest_file(manifest) == content
        else [f"{MANIFEST}: spaces or escapes were changed"],
    )
    assured: dict[str, Any] = manifest
    return assured


def _version_of(manifest: Any) -> str:
    """The version that a manifest states, if it is one of ours; whatever it is, the schema says."""
    stated = manifest.get("manifest_version") if isinstance(manifest, dict) else None
    return stated if stated in MANIFEST_VERSIONS else MANIFEST_VERSION


def schema_findings(manifest: Any, schema: dict[str, Any]) -> list[str]:
    """Where the manifest does not fit a schema."""
    findings = []
    errors = Draft202012Validator(schema).iter_errors(manifest)
    for error in islice(errors, MOST_FINDINGS):  # one broken list can hold a million of them
        place = error.json_path.removeprefix("$").removeprefix(".") or "the whole"
        message = error.message if len(error.message) < 300 else error.message[:300] + " ..."
        findings.append(f"{MANIFEST}: {place}: {message}")
    return findings


def read_attested(manifest: dict[str, Any]) -> Attested:
    """The attested fields. Raises: ValueError or ZeroDivisionError if one is malformed."""
    account = manifest["accounting"]["ledger"]
    implementation = manifest["implementation"]
    disposal = manifest["security_and_disposal"]["disposal"]
    published = manifest["identity"]["date_published"]
    measured = manifest["life_cycle"]["measured_on"]
    for day in (published, measured):
        date.fromisoformat(day)
    return Attested(
        date_published=published,
        measured_on=measured,
        self_tests=tuple(
            SelfTest(test["name"], test["passed"]) for test in implementation["self_tests"]
        ),
        disposal=Disposal(disposal["method"], disposal["reason"], tuple(disposal["checks"])),
        software=Software(
            implementation["versions"],
            implementation["bill_of_materials"],
            implementation["processor"],
            implementation.get("commit"),
        ),
        arithmetic_fingerprint=implementation["arithmetic_fingerprint"],
        account=Account(
            stated_budget(account["spent_before"]),
            tuple(account["earlier_release_ids"]),
            account["reservation_hash"],
            stated_budget(account["added"]) if "added" in account else None,
        ),
        signature_key_id=manifest["identity"].get("signature_key_id"),
        previous_manifest_sha256=manifest.get("series", {})
        .get("previous", {})
        .get("manifest_sha256"),
    )


def _form_findings(implementation: dict[str, Any]) -> Iterator[str]:
    """Attested words that are not of the form that `synth` writes: there is no room in them."""
    versions, needed = implementation["versions"], implementation["bill_of_materials"]
    if versions.keys() != {"python", *LIBRARIES}:
        yield "implementation.versions: are not those of the libraries that synth names"
    for section, found in (("versions", versions), ("bill_of_materials", needed)):
        if len(found) > MOST_DISTRIBUTIONS:
            yield f"implementation.{section}: names more than {MOST_DISTRIBUTIONS} distributions"
        for name, version in found.items():
            if not (DISTRIBUTION.fullmatch(name) and VERSION.fullmatch(version)):
                yield f"implementation.{section}.{name}: is no distribution with its version"
    if not PROCESSOR.fullmatch(implementation["processor"]):
        yield "implementation.processor: is no kind of processor with its instruction sets"
    if not COMMIT.fullmatch(implementation.get("commit", "0" * 40)):
        yield "implementation.commit: is no commit"
    tests = implementation["self_tests"]
    if len(tests) > MOST_SELF_TESTS or any(len(t["name"]) > MOST_CHARACTERS for t in tests):
        yield "implementation.self_tests: are more, or longer, than synth states"


def attested_findings(manifest: dict[str, Any]) -> list[str]:
    """What is malformed in attested fields, or contradicts the configuration."""
    findings = list(_form_findings(manifest["implementation"]))
    for number, test in enumerate(manifest["implementation"]["self_tests"]):
        if test["passed"] is not True:
            findings.append(f"implementation.self_tests[{number}].passed: found false")
    disposal = manifest["security_and_disposal"]["disposal"]
    stated = Disposal(disposal["method"], disposal["reason"], tuple(disposal["checks"]))
    if not stated.is_possible:
        findings.append(
            "security_and_disposal.disposal.checks: are not what synth states of the method "
            f"{stated.method!r}"
        )
    configured = manifest["configuration"]["source"]
    for name, expected in (
        ("method", configured["disposal"]),
        ("reason", configured.get("disposal_reason", "")),
    ):
        if disposal[name] != expected:
            findings.append(
                f"security_and_disposal.disposal.{name}: found {disposal[name]!r}, expected "
                f"{expected!r} from the configuration"
            )
    return findings + list(ledger_findings(manifest["accounting"]["ledger"], manifest))


def ledger_findings(ledger: dict[str, Any], manifest: dict[str, Any]) -> Iterator[str]:
    """What was spent before is the ledger's word: it must leave room for this release.

    Of this release, everything is computed again from the events of the measurements.
    """
    place = "accounting.ledger"
    earlier = ledger["earlier_release_ids"]
    if len(set(earlier)) < len(earlier):
        yield f"{place}.earlier_release_ids: a release is listed twice"
    if manifest["configuration"]["release"]["id"] in earlier:
        yield f"{place}.earlier_release_ids: this release is not earlier than itself"
    try:
        cap, before, now = (
            stated_budget(ledger[key]) for key in ("cap", "spent_before", "spent_now")
        )
        added = stated_budget(ledger["added"]) if "added" in ledger else now
    except (ValueError, ZeroDivisionError):
        yield f"{place}: holds budgets that are not exact fractions"
        return
    if before.epsilon < 0 or before.delta < 0:
        yield f"{place}.spent_before: is below zero"
    if (before.epsilon or before.delta) and not earlier:
        yield f"{place}.spent_before: is not zero, but no earlier release is listed"
    if earlier and not before.epsilon and "disjoint_part" not in ledger:
        yield f"{place}.spent_before: is zero, but earlier releases are listed"
    if ("added" in ledger) != ("series" in manifest["configuration"]):
        yield f"{place}.added: is for the releases of a series, and for all of them"
    if not (0 <= added.epsilon <= now.epsilon and 0 <= added.delta <= now.delta):
        yield f"{place}.added: a charge adds at most itself, and at least nothing"
    if not earlier and added != now:
        yield f"{place}.added: is not all of the charge, but no earlier release is listed"
    if before.epsilon + added.epsilon > cap.epsilon:
        yield f"{place}: more epsilon was spent than the cap allows"
    if before.delta + added.delta > cap.delta:
        yield f"{place}: more delta was spent than the cap allows"
