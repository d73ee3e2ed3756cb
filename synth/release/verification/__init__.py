"""Offline verification of a release folder, by anybody."""

from synth.release.verification.findings import VerificationReport
from synth.release.verification.verify import verify_folder

__all__ = ["VerificationReport", "verify_folder"]
