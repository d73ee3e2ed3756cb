"""The configuration inside the manifest: everything but where things lie with the curator."""

from __future__ import annotations

from synth.config.config import CONFIGURATION as EVERY_KEY
from synth.release.manifest.schema_terms import Schema


def configuration_schema() -> Schema:
    """The sections of the public configuration; what stands in them, its own schema says."""
    public = [key for key in EVERY_KEY.keys if not key.private]
    return {
        "type": "object",
        "description": (
            "The configuration of the release, whole but for the places where the curator keeps "
            "things (paths, addresses, keys). Every number in it is public: it was written down "
            "before the raw data were opened. `synth schema` prints the schema of its sections, "
            "and `synth verify` reads them by the rules of the loader."
        ),
        "properties": {key.name: {"description": key.shape.description} for key in public},
        "additionalProperties": False,
    }
