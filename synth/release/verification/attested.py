"""The fields that a verifier takes from the manifest itself, because nothing can rebuild them.

They are listed in `ATTESTED_ONLY`; each must be well formed, and some must agree with the
configuration or with one another. Only the checksums protect what is left free.
"""

from __future__ import annotations

from datetime import date
from typing import Any

from synth.measurements import Disposal, SelfTest
from synth.release.manifest.build import Attested
from synth.release.manifest.software import Software

ATTESTED_ONLY = (
    "identity.date_published",
    "life_cycle.measured_on",
    "implementation.self_tests[*].name",
    "implementation.commit",
    "implementation.versions.*",
    "implementation.bill_of_materials.*",
    "implementation.arithmetic_fingerprint",
)
"""Fields that may be changed, alone and with new checksums, without `verify` noticing."""

ATTESTED_NOTE = (
    "stated by the curator or publisher and protected by the checksums alone, for nothing can "
    f"rebuild it: {', '.join(ATTESTED_ONLY)}, and which sentences stand in "
    "security_and_disposal.disposal.checks"
)


def read_attested(manifest: dict[str, Any]) -> Attested:
    """The attested fields. Raises: ValueError if one is malformed."""
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
            implementation.get("commit"),
        ),
        arithmetic_fingerprint=implementation["arithmetic_fingerprint"],
    )


def attested_findings(manifest: dict[str, Any]) -> list[str]:
    """Contradictions between attested fields and the configuration."""
    findings = []
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
    return findings
