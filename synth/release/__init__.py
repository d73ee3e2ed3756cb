"""The release folder: written, verified from its bytes, published by one rename."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from synth.release.publish import publish_release
    from synth.release.published import published_configuration_hash, published_signer
    from synth.release.staging import (
        make_public_directory,
        require_writable,
        staging_directory,
    )
    from synth.release.verification.report import VerificationReport
    from synth.release.verification.verify import verify_folder as verify_release
    from synth.release.write import ReleaseSummary, write_release

__all__ = [
    "ReleaseSummary",
    "VerificationReport",
    "make_public_directory",
    "publish_release",
    "published_configuration_hash",
    "published_signer",
    "require_writable",
    "staging_directory",
    "verify_release",
    "write_release",
]

_PLACES = {
    "ReleaseSummary": ("synth.release.write", "ReleaseSummary"),
    "VerificationReport": ("synth.release.verification.report", "VerificationReport"),
    "make_public_directory": ("synth.release.staging", "make_public_directory"),
    "publish_release": ("synth.release.publish", "publish_release"),
    "published_configuration_hash": ("synth.release.published", "published_configuration_hash"),
    "published_signer": ("synth.release.published", "published_signer"),
    "require_writable": ("synth.release.staging", "require_writable"),
    "staging_directory": ("synth.release.staging", "staging_directory"),
    "verify_release": ("synth.release.verification.verify", "verify_folder"),
    "write_release": ("synth.release.write", "write_release"),
}


def __getattr__(name: str) -> Callable[..., Any]:
    """Import a public name when it is first used, so that `import synth` stays light."""
    if name not in _PLACES:
        raise AttributeError(f"module 'synth.release' has no attribute {name!r}")
    module, attribute = _PLACES[name]
    found: Callable[..., Any] = getattr(import_module(module), attribute)
    return found
