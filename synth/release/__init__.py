"""The release folder: written, verified from its bytes, published by one rename."""

from synth.release.verification.cell_counts_check import release_before
from synth.release.verification.findings import VerificationReport
from synth.release.verification.folder import published_configuration_hash, published_signer
from synth.release.verification.verify import verify_folder as verify_release
from synth.release.write import (
    ReleaseSummary,
    make_public_directory,
    publish_release,
    require_writable,
    staging_directory,
    write_release,
)

__all__ = [
    "ReleaseSummary",
    "VerificationReport",
    "make_public_directory",
    "publish_release",
    "published_configuration_hash",
    "published_signer",
    "release_before",
    "require_writable",
    "staging_directory",
    "verify_release",
    "write_release",
]
