"""The whole manifest, section by section, and its JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from synth.config import Config
from synth.config.config import CONFIGURATION as EVERY_KEY
from synth.measurements import Disposal, Measurements, Receipt, SelfTest
from synth.release.derivation import Derivation
from synth.release.manifest import accounting, guarantee, publication
from synth.release.manifest.domain import DOMAIN, build_domain
from synth.release.manifest.implementation import (
    IMPLEMENTATION,
    Software,
    arithmetic_fingerprint,
    build_implementation,
    installed_software,
)
from synth.release.manifest.processing import (
    POST_PROCESSING,
    WITH_REPLICATES,
    build_processing,
)
from synth.release.manifest.quality import QUALITY, QUALITY_DEFINITIONS, build_quality
from synth.release.manifest.schema_terms import DEFINITIONS, Schema, record, text
from synth.release.manifest.series import SERIES, build_series
from synth.release.rows.columns import published_columns
from synth.strict_json import write_folded_json, write_json

MANIFEST_VERSION = "6"
LOOK_VERSION = "7"
"""That of a release whose tables were planned by a look; it has one section more, and any other is
as it was before there were looks."""
REPLICATES_VERSION, LOOK_AND_REPLICATES_VERSION = "8", "9"
"""Those of the same two with replicates."""
LINE_BY_LINE = {
    "2": MANIFEST_VERSION,
    "3": LOOK_VERSION,
    "4": REPLICATES_VERSION,
    "5": LOOK_AND_REPLICATES_VERSION,
}
"""The same before lines were folded: manifest and schema have a line for every entry."""
MANIFEST_VERSIONS = (*LINE_BY_LINE, *LINE_BY_LINE.values())
SCHEMA_FILE = "manifest.schema.json"


@dataclass(frozen=True)
class Attested:
    """What nobody can rebuild from the measurements: dates, tests, software, disposal, account.

    Only the checksums (and a signature over them) protect these fields.
    """

    date_published: str
    measured_on: str
    self_tests: tuple[SelfTest, ...]
    disposal: Disposal
    software: Software
    arithmetic_fingerprint: str
    account: accounting.Account
    signature_key_id: str | None = None
    previous_manifest_sha256: str | None = None
    """Of a release that follows another one."""


def attest(
    receipt: Receipt,
    disposal: Disposal,
    *,
    date_published: str,
    signature_key_id: str | None = None,
    previous_manifest_sha256: str | None = None,
) -> Attested:
    """The attested fields of a release that is being written now, on this machine."""
    return Attested(
        date_published=date_published,
        measured_on=receipt.measured_on,
        self_tests=receipt.self_tests,
        disposal=disposal,
        software=installed_software(),
        arithmetic_fingerprint=arithmetic_fingerprint(),
        account=accounting.Account.of(receipt.ledger),
        signature_key_id=signature_key_id,
        previous_manifest_sha256=previous_manifest_sha256,
    )


def manifest_schema(manifest_version: str = MANIFEST_VERSION) -> Schema:
    """The JSON Schema (draft 2020-12) of the manifest; `manifest_version` is one of those here."""
    told = LINE_BY_LINE.get(manifest_version, manifest_version)
    looked = told in (LOOK_VERSION, LOOK_AND_REPLICATES_VERSION)
    replicated = told in (REPLICATES_VERSION, LOOK_AND_REPLICATES_VERSION)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Privacy manifest of a synthetic data release",
        **record(
            "What was released, under which guarantee, and how it was made.",
            ("series",),
            manifest_version=text("The version of this schema.", pattern=f"^{manifest_version}$"),
            schema_url=text("The schema's file beside the manifest."),
            identity=publication.IDENTITY,
            people=publication.PEOPLE,
            purpose=publication.PURPOSE,
            source=publication.SOURCE,
            guarantee=guarantee.GUARANTEE,
            what_it_means=guarantee.MEANING,
            deployment_model=publication.DEPLOYMENT_MODEL,
            series=SERIES,
            accounting=accounting.ACCOUNTING_WITH_LOOK if looked else accounting.ACCOUNTING,
            domain=DOMAIN,
            implementation=IMPLEMENTATION,
            post_processing=WITH_REPLICATES if replicated else POST_PROCESSING,
            quality=QUALITY,
            security_and_disposal=publication.SECURITY,
            life_cycle=publication.LIFE_CYCLE,
            conforms_to=publication.CONFORMS_TO,
            configuration=configuration_schema(),
            files=publication.FILES,
        ),
        "$defs": DEFINITIONS | QUALITY_DEFINITIONS,
    }


@cache
def schema_file(manifest_version: str = MANIFEST_VERSION) -> bytes:
    """The bytes of the schema's file beside every manifest of that version."""
    schema = manifest_schema(manifest_version)
    if manifest_version in LINE_BY_LINE:
        return write_json(schema, indent=1)
    return write_folded_json(schema)


def manifest_file(manifest: Mapping[str, Any]) -> bytes:
    """The bytes of a whole manifest, as its version spells it."""
    write = write_json if manifest["manifest_version"] in LINE_BY_LINE else write_folded_json
    return write(manifest)


def build_manifest(
    config: Config, measurements: Measurements, derivation: Derivation, attested: Attested
) -> dict[str, Any]:
    """Every section but `files`, from an allow-list: nothing else can enter the manifest.

    Privacy: a function of the configuration, the noisy measurements, what was derived from
    them, and the attested fields; none of these depends on the raw data but through the noise.
    """
    columns = published_columns(config.universe, config.output.bins)
    return {
        "manifest_version": _version(config, measurements),
        "schema_url": SCHEMA_FILE,
        "identity": publication.build_identity(
            config,
            date_published=attested.date_published,
            signature_key_id=attested.signature_key_id,
        ),
        "people": publication.build_people(config),
        "purpose": publication.build_purpose(config, measurements),
        "source": publication.build_source(config),
        "guarantee": guarantee.build_guarantee(config, measurements),
        "what_it_means": guarantee.build_meaning(guarantee.promised_budget(config, measurements)),
        "deployment_model": publication.build_deployment(
            config.release, in_series=config.series is not None
        ),
        **_series(config, measurements, derivation, attested),
        "accounting": accounting.build_accounting(config, measurements, attested.account),
        "domain": build_domain(config, columns),
        "implementation": build_implementation(
            config,
            mechanisms=tuple(dict.fromkeys(event.mechanism for event in measurements.events)),
            self_tests=attested.self_tests,
            software=attested.software,
            fingerprint=attested.arithmetic_fingerprint,
        ),
        "post_processing": build_processing(
            config,
            content_hash=measurements.content_hash,
            report=derivation.report,
            seeds=derivation.seeds,
            rows=derivation.rows,
            tables=len(measurements.tables),
            labelled=len(derivation.tables),
            replicates=derivation.replicates if config.output.replicates else None,
        ),
        "quality": build_quality(
            config,
            derivation.forecast,
            measurements,
            derivation.counts,
            derivation.gate,
            derivation.figures,
        ),
        "security_and_disposal": publication.build_security(config.release, attested.disposal),
        "life_cycle": publication.build_life_cycle(
            config.release, measured_on=attested.measured_on
        ),
        "conforms_to": [
            "JSON Schema draft 2020-12",
            "RFC 4180 (CSV)",
            "Apache Parquet",
            "Data Package 1.0 (Frictionless)",
            "Croissant 1.1 and Croissant RAI 1.0 (MLCommons)",
            "OpenDP deployments registry, tier 3",
            "schema.org Dataset and W3C DCAT 3",
        ],
        "configuration": config.public,
    }


def _series(
    config: Config, measurements: Measurements, derivation: Derivation, attested: Attested
) -> dict[str, Any]:
    if config.series is None:
        return {}
    before = attested.previous_manifest_sha256
    return {"series": build_series(config, measurements, derivation.growth, before)}


def _version(config: Config, measurements: Measurements) -> str:
    if config.output.replicates:
        return REPLICATES_VERSION if measurements.look is None else LOOK_AND_REPLICATES_VERSION
    return MANIFEST_VERSION if measurements.look is None else LOOK_VERSION


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
