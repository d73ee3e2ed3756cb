"""How the release was deployed and guarded, what became of the raw data, and what happens next."""

from __future__ import annotations

from typing import Any

from synth.config import ReleaseConfig
from synth.config.release import DATA_SOURCE_TYPES, RELEASE_TYPES
from synth.measurements import Disposal
from synth.measurements.receipt import SOURCE_GONE_BEFORE
from synth.release.manifest.schema_terms import (
    basis,
    day,
    listing,
    one_of,
    record,
    sha256,
    text,
    whole,
)

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

CURATORS = "as the curator decides"
ONE_PROCESS = (
    "one process of the curator opened the raw data, counted them, added the noise and ended "
    "before the release was written; the process that wrote it has no access"
)

NEVER_CHANGED = "a release is never changed; a new one gets an id of its own"
NOT_CALLED_BACK = "copies cannot be called back, and budget once spent stays spent"

FILES = listing(
    "The files of the release, but for this one and SHA256SUMS.",
    record(
        "One file.",
        ("rows", "columns", "event"),
        path=text("The file's name, from the release folder on."),
        role=text("What the file is."),
        media_type=text("The file's media type."),
        bytes=whole("The file's size."),
        sha256=sha256("SHA-256 of the file's bytes."),
        rows=whole("The number of rows, without the header."),
        columns=whole("The number of columns."),
        event=whole("Of a noisy table in `tables/`, its place in `accounting.events`."),
        basis=basis("post-processing", "dp", "public"),
    ),
)

CONFORMS_TO = listing("Standards that the release follows.", text("A standard."))

SECURITY = record(
    "What protected the raw data, and what became of them.",
    raw_access_controls=text("Who could reach the raw data."),
    disposal=record(
        "What happened to the raw data after the measurement, as the curator attests.",
        method=one_of("Whether the raw data were removed.", "keep", "delete"),
        reason=text("Why."),
        checks=listing("What was checked.", text("A check and its outcome.")),
    ),
    remaining=text("What raw data remain, and with whom."),
    retention=text("How long they remain."),
    temporary_files=text("What became of temporary files."),
)

LIFE_CYCLE = record(
    "What happened when, and what happens next.",
    measured_on=day("The day of the measurement (UTC), no finer than the day."),
    maintenance=text("Whether the release is updated."),
    errata=text("Where errors are reported."),
    withdrawal=text("What a withdrawal would mean."),
)


def build_deployment(release: ReleaseConfig, *, in_series: bool) -> dict[str, Any]:
    """The section `deployment_model`; `in_series`: other periods are released, too."""
    add_up = "the guarantee of several is their sum"
    if in_series:
        add_up += ", and that of a series what its section says"
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
            f"privacy unit and one neighbouring relation; {add_up}",
            "out of scope: access to the curator's machine, its memory or its power use, and "
            "observing the measuring process while it runs",
        ],
        "release_type": release.release_type or RELEASE_TYPES[in_series],
        "data_source_type": release.data_source_type or DATA_SOURCE_TYPES[in_series],
        "access_type": "Non-interactive",
    }


def build_security(release: ReleaseConfig, disposal: Disposal) -> dict[str, Any]:
    """The section `security_and_disposal`."""
    kept = disposal.method == "keep"
    remaining = "nothing that this program read or wrote; copies elsewhere are the curator's"
    retention = "none: removed after the measurement"
    if kept:
        remaining = "the curator keeps the raw data"
        retention = release.retention or CURATORS
    elif SOURCE_GONE_BEFORE in disposal.checks:
        remaining, retention = "not known: see the checks of the disposal", CURATORS
    return {
        "raw_access_controls": ". ".join([ONE_PROCESS, *filter(None, [release.access_controls])]),
        "disposal": {
            "method": disposal.method,
            "reason": disposal.reason,
            "checks": list(disposal.checks),
        },
        "remaining": remaining,
        "retention": retention,
        "temporary_files": "private to the measuring process and gone before the release",
    }


def build_life_cycle(release: ReleaseConfig, *, measured_on: str) -> dict[str, Any]:
    """The section `life_cycle`."""
    return {
        "measured_on": measured_on,
        "maintenance": ". ".join([NEVER_CHANGED, *filter(None, [release.maintenance])]),
        "errata": release.errata or f"reported to {release.contact}",
        "withdrawal": ". ".join([NOT_CALLED_BACK, *filter(None, [release.withdrawal])]),
    }
