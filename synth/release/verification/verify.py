"""Verification: a release is read as a stranger's, rebuilt from its measurements, compared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from synth.config import Config, config_from_public
from synth.config.schema.yaml_tree import printable
from synth.domain.counts import Counts
from synth.errors import DISTRIBUTION, ConfigError, OtherVersionError, SynthError, VerificationError
from synth.measurements import Measurements
from synth.progress import Stage, stage
from synth.release.contents import MANIFEST
from synth.release.derivation import Derivation, Derive, derive
from synth.release.verification.cell_counts_check import check_previous
from synth.release.verification.findings import Arithmetic, Findings, VerificationReport
from synth.release.verification.folder import Folder, FolderError, check_files, check_signature
from synth.release.verification.manifest_check import attested_findings, read_manifest
from synth.release.verification.measurements_check import read_measured
from synth.release.verification.other_version import findings_without_rebuild, other_version
from synth.release.verification.rebuild import Rebuild
from synth.signatures import PublicKey
from synth.strict_json import parse_json

MOST_CHARACTERS = 1_000
"""Of a finding: names of files and values come from the folder."""


def verify_folder(
    path: Path, *, derivation: Derive = derive, trusted_keys: Sequence[PublicKey] = ()
) -> VerificationReport:
    """Check everything about a release that its folder can show.

    With `trusted_keys` it must be signed by one of them.

    Privacy: reads the published folder only; needs neither the source nor the ledger.
    Ensures: the measurements give the published rows and every rebuildable field of the
    manifest; `VerificationReport.checks` says what was checked.
    Raises: VerificationError with every finding; OtherVersionError if another version wrote it,
    it differs from what this one gives, and nothing that needs no rebuild is refuted.
    """
    with stage(Stage.VERIFYING):
        return _verified(path, derivation, trusted_keys)


def _verified(
    path: Path, derivation: Derive, trusted_keys: Sequence[PublicKey]
) -> VerificationReport:
    name = printable(path.name or str(path))
    findings = Findings()
    try:
        folder = Folder(path)
        if not folder.holds(MANIFEST):
            raise FolderError(f"is not a release: it holds no {MANIFEST}")
    except FolderError as error:
        found = [_plainly(str(error))]
        raise VerificationError(name, found, fix=VerificationError.NO_RELEASE) from None
    intact = False
    try:
        check_files(folder, findings)
        check_signature(folder, findings, trusted_keys)
        intact = not findings.found
        _check_content(folder, findings, derivation)
    except FolderError as error:
        findings.found.append(str(error))
    if findings.found:
        writer = other_version(folder)
        if writer is not None and intact:
            findings.found = findings_without_rebuild(folder)
            if not findings.found:
                raise OtherVersionError(name, writer)
        told = findings.found if writer is None else [_written_by(writer), *findings.found]
        raise VerificationError(name, dict.fromkeys(map(_plainly, told)))
    return VerificationReport(
        _release_id(folder),
        tuple(findings.checks),
        tuple(dict.fromkeys(findings.notes)),
        findings.signature,
        tuple(findings.tolerated),
    )


def _plainly(finding: str) -> str:
    """The finding without what a stranger's text could do to a terminal, and not too long."""
    return printable(finding[:MOST_CHARACTERS]) + " ..." * (len(finding) > MOST_CHARACTERS)


def _written_by(writer: str) -> str:
    """The finding beside others: they may come from the versions."""
    return (
        f"written by synth {writer} and must be verified with that version of {DISTRIBUTION}; "
        "this is another, which words or computes some fields in another way"
    )


def _release_id(folder: Folder) -> str:
    """The id in a manifest that has passed every check."""
    identity = parse_json(folder.read(MANIFEST))["identity"]
    return str(identity["release_id"])


def _check_content(folder: Folder, findings: Findings, derivation: Derive) -> None:
    """The checks of what the files say; each needs those before it to have passed."""
    manifest = read_manifest(folder, findings)
    if manifest is None:
        return
    config = _config(manifest, findings)
    if config is None:
        return
    findings.conclude(
        "statements of the curator agree with the configuration, and what was spent with the cap",
        attested_findings(manifest),
    )
    arithmetic = Arithmetic.of(manifest)
    measurements = read_measured(
        folder, config, findings, other_arithmetic=arithmetic.explains_last_digits
    )
    if measurements is None:
        return
    previous = None
    if config.previous_release_id is not None:
        previous = check_previous(folder, config, findings, manifest)
        if previous is None:
            return
    derived = _derive(measurements, config, previous, findings, derivation)
    if derived is not None:
        Rebuild(folder, manifest, config, measurements, derived, findings, arithmetic).check()


def _config(manifest: dict[str, Any], findings: Findings) -> Config | None:
    try:
        config = config_from_public(manifest["configuration"])
    except ConfigError as error:
        problems = " ".join(str(error).split())
        findings.found.append(f"{MANIFEST}: configuration: {problems}")
        return None
    stated = manifest["implementation"]["configuration_hash"]
    findings.conclude(
        "the configuration has the stated hash",
        []
        if stated == config.hash
        else [
            f"{MANIFEST}: configuration: its hash is {config.hash}, "
            f"implementation.configuration_hash says {stated}"
        ],
    )
    return config


def _derive(
    measurements: Measurements,
    config: Config,
    previous: Counts | None,
    findings: Findings,
    derivation: Derive,
) -> Derivation | None:
    try:
        derived = derivation(measurements, config, previous)
        if config.output.replicates:
            _ = derived.replicates  # made here, so that what they lack is said here, too
        return derived
    except (SynthError, ValueError, ArithmeticError) as error:
        reason = " ".join(str(error).split())
        findings.found.append(f"the rows cannot be rebuilt from the measurements: {reason}")
    except MemoryError:
        findings.found.append("this machine has too little memory to rebuild the rows")
    return None
