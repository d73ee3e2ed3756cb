"""Metadata for catalogues and tools: each document is a projection of the manifest alone."""

from __future__ import annotations

from synth.release.metadata.linked_data import linked_data

__all__ = ["linked_data"]
