"""How the release was deployed: the model, who is trusted with what, and against whom."""

from __future__ import annotations

from typing import Any

from synth.config import ReleaseConfig
from synth.config.release import DATA_SOURCE_TYPES, RELEASE_TYPES
from synth.release.manifest.schema_terms import listing, one_of, record, text

DEPLOYMENT_MODEL = record(
    "The deployment model, in the words of the registry.",
    model_name=one_of("Who adds the noise.", "Central"),
    actors=listing(
        "Everybody who takes part, with the trust placed in them.",
        record("One actor.", actor=text("Who."), trust=text("What they are trusted with.")),
    ),
    threat_model=listing("Against whom the guarantee holds, and where it ends.", text("A clause.")),
    release_type=one_of("How often the product is published.", *RELEASE_TYPES),
    data_source_type=one_of("Whether new raw data come in over time.", *DATA_SOURCE_TYPES),
    access_type=one_of("How users reach the product.", "Non-interactive"),
)


def build_deployment(release: ReleaseConfig) -> dict[str, Any]:
    """The section `deployment_model`."""
    return {
        "model_name": "Central",
        "actors": [
            {
                "actor": "curator",
                "trust": "holds the raw data and runs the measurement; fully trusted with both",
            },
            {
                "actor": "publisher of the release",
                "trust": "sees the noisy measurements only; not trusted with the raw data",
            },
            {"actor": "public, adversaries included", "trust": "sees the whole release; none"},
        ],
        "threat_model": [
            "the attacker sees everything published, knows this program and every other unit's "
            "data, has unlimited time, and combines the release with any other knowledge",
            "all releases about the population charge one ledger, which takes only those of one "
            "privacy unit and one neighbouring relation; the guarantee of several is their sum",
            "out of scope: access to the curator's machine, its memory or its power use, and "
            "observing the measuring process while it runs",
        ],
        "release_type": release.release_type or "One release",
        "data_source_type": release.data_source_type or "Static",
        "access_type": "Non-interactive",
    }
