"""Writing a release: every file into a private directory, read back and verified, then published.

It is published by one rename that replaces nothing.
"""

from __future__ import annotations

import errno
import io
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from fractions import Fraction
from pathlib import Path
from typing import BinaryIO

from synth.config import Config
from synth.errors import BugError, OutputError, VerificationError
from synth.measurements import Measurements, Receipt, read_measurements
from synth.measurements.durable import (
    make_private_directory,
    sync_directory,
    translate_write_errors,
)
from synth.privacy import Budget, Promise
from synth.progress import Stage, stage
from synth.release.contents import (
    CHECKSUMS,
    MANIFEST,
    MEASUREMENTS,
    SIGNATURE,
    checksum_lines,
    file_sha256,
    sign_manifest,
)
from synth.release.derivation import Derivation, Derive, derive
from synth.release.files import FileFacts, data_writers, documents, table_writers
from synth.release.manifest.build import attest, build_manifest, manifest_file
from synth.release.manifest.guarantee import charged_budget
from synth.release.noisy_tables import TABLES
from synth.release.verification import verify_folder
from synth.release.verification.cell_counts_check import Previous
from synth.signatures import PrivateKey


@dataclass(frozen=True)
class ReleaseSummary:
    """What was written: for the log, nothing that the folder does not say."""

    release_id: str
    rows: int
    files: tuple[str, ...]
    checks: tuple[str, ...]


def write_release(
    staging: Path,
    *,
    config: Config,
    measurements_file: Path,
    receipt: Receipt,
    today: date | None = None,
    derivation: Derive = derive,
    signer: PrivateKey | None = None,
    previous: Previous | None = None,
) -> ReleaseSummary:
    """Write the whole release into `staging`, signed if there is a key; verify it from its bytes.

    `previous` is the release before, of cumulative ones.

    Privacy: a function of the noisy measurements, the configuration, the receipt and the release
    before.
    Requires: `staging` is an empty directory of this user alone.
    Ensures: every file is on stable storage, mode 0600, and `verify_release` accepts them.
    Raises: OutputError if a file cannot be written or the measurements do not fit the receipt;
    BugError if what was written does not verify.
    """
    if any(staging.iterdir()):
        raise BugError("the staging directory of the release is not empty")
    if (previous is None) != (config.previous_release_id is None):
        raise BugError("a cumulative release but the first, and no other, follows another one")
    with translate_write_errors("the release"):
        derived, files = _write_files(
            staging, config, measurements_file, receipt, today, derivation, signer, previous
        )
    try:
        # The rows are derived once: this check is about the bytes on disk.
        trusted = () if signer is None else (signer.public,)
        report = verify_folder(staging, derivation=lambda *_: derived, trusted_keys=trusted)
    except VerificationError as error:
        raise BugError(
            "the release that was just written does not verify: " + "; ".join(error.findings),
            why="it was not published; nothing is lost, the measurements are kept",
            fix="this is a bug of synth; report this message, the version of synth and the "
            "configuration, never the data; then publish again with a version that mends it",
        ) from None
    return ReleaseSummary(config.release.id, derived.rows, files, report.checks)


def _write_files(
    staging: Path,
    config: Config,
    measurements_file: Path,
    receipt: Receipt,
    today: date | None,
    derivation: Derive,
    signer: PrivateKey | None,
    previous: Previous | None,
) -> tuple[Derivation, tuple[str, ...]]:
    _create(staging / MEASUREMENTS, lambda file: _copy(measurements_file, file))
    measurements = _measurements(staging / MEASUREMENTS, config, receipt)
    derived = derivation(measurements, config, None if previous is None else previous.counts)
    facts = {MEASUREMENTS: _facts(staging / MEASUREMENTS)}
    writers, small = data_writers(derived), table_writers(derived)
    for part, (name, write) in enumerate(writers.items(), start=1):
        with stage(Stage.WRITING, part=part, parts=len(writers)):
            _create(staging / name, write)
        facts[name] = _facts(staging / name)
    if small:
        make_private_directory(staging / TABLES)
    for name, write in small.items():
        _create(staging / name, write)
        facts[name] = _facts(staging / name)
    if receipt.disposal is None:
        raise BugError("a release needs the statement of what became of the raw data")
    if not receipt.disposal.is_possible:
        raise OutputError(
            "the receipt states checks of the disposal that synth does not make",
            fix="bring the receipt over again from the machine that measured",
        )
    day = today or datetime.now(UTC).date()
    attested = attest(
        receipt,
        receipt.disposal,
        date_published=day.isoformat(),
        signature_key_id=None if signer is None else signer.public.key_id,
        previous_manifest_sha256=None if previous is None else previous.manifest_sha256,
    )
    manifest = build_manifest(config, measurements, derived, attested)
    made, listing = documents(manifest, derived, facts, figures=derived.figures)
    made[MANIFEST] = manifest_file(listing)
    for name, content in made.items():
        _write_bytes(staging / name, content)
        facts[name] = FileFacts.of(content)
    if signer is not None:
        signature = sign_manifest((staging / MANIFEST).read_bytes(), signer)
        _write_bytes(staging / SIGNATURE, signature)
        facts[SIGNATURE] = FileFacts.of(signature)
    hashes = {name: entry.sha256 for name, entry in facts.items()}
    _write_bytes(staging / CHECKSUMS, checksum_lines(hashes))
    if small:
        sync_directory(staging / TABLES)
    sync_directory(staging)
    return derived, tuple(sorted([*hashes, CHECKSUMS]))


def _measurements(path: Path, config: Config, receipt: Receipt) -> Measurements:
    """The measurements, if they are those that the receipt and the configuration speak of."""
    fix = "bring measurements and receipt over again from the machine that measured"
    if _facts(path).sha256 != receipt.measurements_sha256:
        raise OutputError("the measurements are not those of the receipt", fix=fix)
    try:
        measurements = read_measurements(path, config.universe)
    except ValueError as error:
        raise OutputError(f"the file of measurements {error}", fix=fix) from None
    answered = {measurements.configuration_hash, receipt.configuration_hash}
    named = {measurements.release_id, receipt.release_id}
    if answered != {config.hash} or named != {config.release.id}:
        raise OutputError("the measurements belong to another configuration", fix=fix)
    account, total = receipt.ledger, charged_budget(config, measurements)
    configured = config.public["ledger"]
    cap = Budget(Fraction(configured["epsilon_cap"]), Fraction(configured["delta_cap"]))
    told = account.population, account.cap, account.spent_now, account.promise
    if told != (configured["population"], cap, total, Promise.of(config.privacy)):
        raise OutputError("the receipt tells of another charge than the measurements", fix=fix)
    return measurements


def _facts(path: Path) -> FileFacts:
    with path.open("rb") as file:
        digest = file_sha256(file)
        return FileFacts(file.tell(), digest)


def _copy(source: Path, file: BinaryIO) -> None:
    with source.open("rb") as original:
        shutil.copyfileobj(original, file, 1 << 20)


def _write_bytes(path: Path, content: bytes) -> None:
    def write(file: BinaryIO) -> None:
        file.write(content)

    _create(path, write)


def _create(path: Path, write: Callable[[BinaryIO], None]) -> None:
    """Create a file (mode 0600) and force its bytes to stable storage."""
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb", buffering=io.DEFAULT_BUFFER_SIZE) as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())


FILE_MODE = 0o644
FOLDER_MODE = 0o755


STAGING_PREFIX = ".staging-"


def publish_release(staging: Path, final: Path) -> None:
    """Make the verified directory `staging` appear as `final`, readable by everybody.

    Requires: both are in one file system.
    Ensures: `final` is there whole, and on stable storage, or was not touched; modes do not
    depend on the umask.
    Raises: OutputError if `final` exists in any form, or the file system refuses.
    """
    with translate_write_errors("the release"):
        folders = [staging, *(path for path in staging.iterdir() if path.is_dir())]
        for folder in reversed(folders):
            for path in folder.iterdir():
                if path not in folders:
                    path.chmod(FILE_MODE)
            folder.chmod(FOLDER_MODE)
            sync_directory(folder)
        if os.path.lexists(final):
            raise _taken(final)
        try:
            staging.rename(final)  # replaces nothing but an empty directory: nothing is lost
        except (FileExistsError, NotADirectoryError):
            raise _taken(final) from None
        except OSError as error:
            if error.errno == errno.ENOTEMPTY:
                raise _taken(final) from None
            raise
        sync_directory(final.parent)


def _taken(final: Path) -> OutputError:
    return OutputError(
        f"{final.name} is already there",
        why="a release is never overwritten",
        fix="choose another release.id, or move away what stands there",
    )


@contextmanager
def staging_directory(folder: Path) -> Iterator[Path]:
    """A directory (mode 0700) beside `folder`, removed in the end unless it was renamed.

    Requires: the caller holds the run's lock, so leftovers belong to killed runs; they are
    removed first.
    """
    prefix = f"{STAGING_PREFIX}{folder.name}-"
    for leftover in folder.parent.glob(f"{prefix}*"):
        shutil.rmtree(leftover)
    staging = Path(tempfile.mkdtemp(prefix=prefix, dir=folder.parent))
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        sync_directory(folder.parent)


def make_public_directory(path: Path) -> None:
    """Create `path` and its parents, mode 0755 whatever the umask; an existing one stays.

    Raises: OSError.
    """
    for directory in reversed([p for p in (path, *path.parents) if not p.exists()]):
        directory.mkdir(exist_ok=True)
        directory.chmod(0o755)
    path.mkdir(exist_ok=True)


def require_writable(directory: Path) -> None:
    """Find out, before anything is spent, that a release can be written here.

    Raises: OSError.
    """
    make_public_directory(directory)
    with tempfile.TemporaryFile(dir=directory) as probe:
        probe.write(bytes(1 << 20))
        probe.flush()
        os.fsync(probe.fileno())
