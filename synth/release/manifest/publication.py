"""Who published what, for what purpose, and of whom: the public words of the configuration.

How the release was deployed and guarded, what became of the raw data, and what happens next.
"""

from __future__ import annotations

from typing import Any

from synth.config import Config, ReleaseConfig
from synth.config.release import DATA_SOURCE_TYPES, RELEASE_TYPES
from synth.domain import Margin
from synth.measurements import Disposal, Measurements
from synth.measurements.receipt import SOURCE_GONE_BEFORE
from synth.release.manifest.schema_terms import (
    basis,
    day,
    flag,
    listing,
    one_of,
    record,
    sha256,
    text,
    whole,
)

SENTENCE = (
    "No row of this data set is a person: the rows are made from noisy counts, and the noise was "
    "added before anything else was computed."
)

KEYWORDS = ("differential privacy", "synthetic data")
NO_RECORD = "no record of any person; the guarantee bounds what can be learnt about one"

IDENTITY = record(
    "What this release is called.",
    ("homepage", "supersedes", "signature_key_id"),
    release_id=text("The release's id; also the name of its folder."),
    url_slug=text("A word from which a stable address can be made."),
    name=text("The title of the data set."),
    description=text("What the data set is about."),
    version=text("The version of this release; a release is never changed once published."),
    date_published=day("The day of publication (UTC), no finer than the day."),
    keywords=listing("Words to find the release by.", text("A keyword.")),
    language=text("The language of titles, descriptions and labels, as in BCP 47."),
    license=text("The licence of the data, as the curator declared it."),
    homepage=text("The release's address on the web."),
    cite_as=text("How to cite the release."),
    supersedes=listing("The earlier releases that this one replaces.", text("A release's id.")),
    signature_key_id=text(
        "The id of the key that signed this manifest, in manifest.sig; left out if nobody did.",
        pattern="^[0-9a-f]{32}$",
    ),
    status=one_of("Whether the release stands.", "published"),
    is_synthetic=flag("True: every row is synthetic."),
    statement=text("What that means, in one sentence."),
)

PEOPLE = record(
    "Who answers for the release.",
    ("approvals", "sources"),
    data_curators=listing("The entities that publish the data.", text("A curator.")),
    publisher=text("Who publishes; the first of the curators, if nobody else was named."),
    contact_point=text("Where questions go."),
    registry_authors=listing("Who filled in this record.", text("An author.")),
    approvals=listing("Who approved the release, in the curator's words.", text("An approval.")),
    sources=listing("Papers and pages about the release.", text("A reference.")),
)

PURPOSE = record(
    "What the release is for, and what it is not for.",
    ("temporal_coverage",),
    intended_use=text("The use for which the curator made the release."),
    out_of_scope_use=listing("Uses that the release cannot bear.", text("A use.")),
    limitations=listing("What every user must know.", text("A limitation.")),
    biases=listing("Where the release differs from the raw data systematically.", text("A bias.")),
    data_product_type=one_of(
        "The kind of product, in the words of the registry.", "Synthetic data"
    ),
    sector=text("The sector that the data describe."),
    region=text("The region that the data describe."),
    temporal_coverage=text("The time that the data describe: a day, month or year, or two."),
)

SOURCE = record(
    "What the release was derived from; never a fingerprint of the raw data.",
    ("derived_from", "view_reason"),
    population=text("The population whose budget was charged."),
    view_reason=text(
        "Why every row comes from one record where it may be one of a view or a foreign table, in "
        "the curator's words; left out where only stored rows may be counted."
    ),
    derived_from=text("The public name of the raw data."),
    data_source_type=one_of("Whether new raw data come in over time.", *DATA_SOURCE_TYPES),
    collection=text("How the raw data came to be."),
    personal_sensitive_information=text("What the release holds of persons."),
    fingerprint=text("Why the raw data cannot be recognised from the release."),
)


def declared(release: ReleaseConfig, *names: str) -> dict[str, Any]:
    """The optional fields that the curator declared, under their own names."""
    values = {name: getattr(release, name) for name in names}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
        if value
    }


def build_identity(
    config: Config, *, date_published: str, signature_key_id: str | None
) -> dict[str, Any]:
    """The section `identity`."""
    release = config.release
    curators = ", ".join(release.curators)
    year, named = date_published[:4], release.keywords
    return {
        "release_id": release.id,
        "url_slug": release.id,
        "name": release.title,
        "description": release.description,
        "version": "1",
        "date_published": date_published,
        "keywords": list(dict.fromkeys([*KEYWORDS, release.sector, release.region, *named])),
        "language": release.language or "en",
        "license": release.license,
        **declared(release, "homepage"),
        "cite_as": release.cite_as
        or f"{curators} ({year}). {release.title}. Synthetic data set {release.id}.",
        **declared(release, "supersedes"),
        **({} if signature_key_id is None else {"signature_key_id": signature_key_id}),
        "status": "published",
        "is_synthetic": True,
        "statement": SENTENCE,
    }


def build_people(config: Config) -> dict[str, Any]:
    """The section `people`."""
    release = config.release
    return {
        "data_curators": list(release.curators),
        "publisher": release.publisher or release.curators[0],
        "contact_point": release.contact,
        "registry_authors": list(release.registry_authors or release.curators),
        **declared(release, "approvals", "sources"),
    }


def build_purpose(config: Config, measurements: Measurements) -> dict[str, Any]:
    """The section `purpose`."""
    finest = Margin(config.universe.names, (0,) * len(config.universe.names))
    thresholds = [t.event.threshold for t in measurements.tables if t.event.threshold is not None]
    margins = [
        Margin(t.event.table, t.event.coarsening)
        for t in measurements.tables
        if t.event.threshold is None
    ]
    from_model = (
        "relations between attributes that are together in no noisy table (see accounting) come "
        "from the model that was fitted, not from the raw data"
    )
    return {
        "intended_use": config.release.intended_use,
        "out_of_scope_use": [
            "looking for a particular person: no row describes one",
            "decisions about single persons",
            "statements about combinations whose count is near the noise (see quality.parquet)",
            *config.release.out_of_scope_use,
        ],
        "limitations": [
            "every count carries noise of known size (see quality.parquet); small counts are "
            "mostly noise",
            "values exist only as the declared levels and bins; inside a bin they are made up",
            "relations that need more attributes than were declared are not in the data",
            *([] if finest in margins else [from_model]),
            *(_lost_below(threshold) for threshold in thresholds),
            *config.release.limitations,
        ],
        "biases": [
            "counts are not negative, so very small groups are represented less exactly than the "
            "noisy measurements, which are unbiased, represent them",
            "values outside the declared domain were recoded by the declared rule",
            *config.release.biases,
        ],
        "data_product_type": "Synthetic data",
        "sector": config.release.sector,
        "region": config.release.region,
        **declared(config.release, "temporal_coverage"),
    }


def _lost_below(threshold: int) -> str:
    """What a list of heavy cells leaves out."""
    return (
        f"combinations of all columns whose noisy count is below {threshold} are not listed, and "
        "what they hold is lost as combinations: rows outside the listed ones come from a model of "
        "the smaller noisy tables, and stand for no combination that was seen"
    )


def build_source(config: Config) -> dict[str, Any]:
    """The section `source`."""
    release, source = config.release, config.public["source"]
    return {
        "population": config.public["ledger"]["population"],
        **({"view_reason": source["view_reason"]} if "view_reason" in source else {}),
        **declared(release, "derived_from"),
        "data_source_type": release.data_source_type or "Static",
        "collection": release.collection or "not described beyond the release's description",
        "personal_sensitive_information": ". ".join(
            [NO_RECORD, *declared(release, "personal_sensitive_information").values()]
        ),
        "fingerprint": (
            "none: no hash, size, path, time or number of rows of the raw data is published"
        ),
    }


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
