"""Who published what, for what purpose, and of whom: the public words of the configuration."""

from __future__ import annotations

from typing import Any

from synth.config import Config, ReleaseConfig
from synth.config.release import DATA_SOURCE_TYPES
from synth.domain import Margin
from synth.measurements import Measurements
from synth.release.manifest.schema_terms import day, flag, listing, one_of, record, text

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
