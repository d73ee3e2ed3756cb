"""Files, security, disposal of the raw data, and what happens to the release later."""

from __future__ import annotations

from typing import Any

from synth.config import ReleaseConfig
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
        ("rows", "columns"),
        path=text("The file's name in the release folder."),
        role=text("What the file is."),
        media_type=text("The file's media type."),
        bytes=whole("The file's size."),
        sha256=sha256("SHA-256 of the file's bytes."),
        rows=whole("The number of rows, without the header."),
        columns=whole("The number of columns."),
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


def build_security(release: ReleaseConfig, disposal: Disposal) -> dict[str, Any]:
    """The section `security_and_disposal`."""
    kept = disposal.method == "keep"
    remaining = "nothing that this program read or wrote; copies elsewhere are the curator's"
    retention = "none: removed after the measurement"
    if kept:
        remaining = "the curator keeps the raw data, for the reason given"
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
