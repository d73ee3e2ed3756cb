"""The configuration as frozen values: what a YAML file means once it was accepted."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from synth.domain import Margin, PublicTotal, Universe
from synth.strict_json import canonical_hash

Strategy = Literal["auto", "identity", "adaptive", "sparse"] | tuple[Margin, ...]
"""A word, or the tables that are to be measured."""
Neighbours = Literal["add-remove", "replace-one"]
Format = Literal["csv", "parquet"]
Bins = Literal["uniform", "interval", "midpoint"]


@dataclass(frozen=True)
class ReleaseConfig:
    """What the release is called and who answers for it."""

    id: str
    title: str
    description: str
    curators: tuple[str, ...]
    contact: str
    intended_use: str
    region: str
    sector: str
    license: str
    keywords: tuple[str, ...] = ()
    language: str | None = None
    homepage: str | None = None
    cite_as: str | None = None
    supersedes: tuple[str, ...] = ()
    temporal_coverage: str | None = None
    publisher: str | None = None
    registry_authors: tuple[str, ...] = ()
    approvals: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    out_of_scope_use: tuple[str, ...] = ()
    limitations: tuple[str, ...] = ()
    biases: tuple[str, ...] = ()
    derived_from: str | None = None
    collection: str | None = None
    personal_sensitive_information: str | None = None
    data_source_type: Literal["Static", "Dynamic"] | None = None
    release_type: Literal["One release", "Many releases"] | None = None
    preprocessing: str | None = None
    access_controls: str | None = None
    retention: str | None = None
    maintenance: str | None = None
    errata: str | None = None
    withdrawal: str | None = None


@dataclass(frozen=True)
class Dialect:
    """How a CSV source is written."""

    delimiter: str = ","
    quote: str = '"'
    escape: str = '"'
    """That of the quote: quotes in a quoted field are doubled. Else that of the next character."""
    encoding: str = "utf-8"
    decimal: str = "."
    """What stands before the decimals of a number."""
    header: tuple[str, ...] | None = None
    """The columns in their order, where the files have no line of names; None: they have one."""


@dataclass(frozen=True)
class FileSource:
    """The raw data are files."""

    path: Path
    """A file or glob, absolute; `{period}` already filled in."""
    dialect: Dialect
    disposal: Literal["keep", "delete"]
    disposal_reason: str

    @property
    def shown(self) -> str:
        """What messages call the source."""
        return self.path.name


@dataclass(frozen=True)
class PostgresSource:
    """The raw data are a table or view of a PostgreSQL database."""

    url: str
    """Where the database is; user and password come from the environment."""
    table: str
    disposal: Literal["keep"]
    disposal_reason: str
    view_reason: str | None = None
    """Why a view is as good as a table here; None refuses views."""

    @property
    def shown(self) -> str:
        """What messages call the source."""
        return self.table


@dataclass(frozen=True)
class SparkSource:
    """The raw data are a table that Spark knows, or files at an address that Spark reads."""

    table: str
    master: str | None
    """Where the Spark session runs; None leaves it to the surrounding Spark configuration."""
    disposal: Literal["keep"]
    disposal_reason: str

    @property
    def shown(self) -> str:
        """What messages call the source."""
        return self.table


SourceConfig = FileSource | PostgresSource | SparkSource
"""Where the raw data are and what happens to them after the measurement."""


@dataclass(frozen=True)
class PersonUnit:
    """One person may have several records; at most `max_records` of them are counted."""

    column: str
    max_records: int


@dataclass(frozen=True)
class PrivacyConfig:
    """The guarantee asked for: exact budget, neighbouring relation and privacy unit."""

    epsilon: Fraction
    delta: Fraction
    neighbours: Neighbours
    unit: Literal["record"] | PersonUnit
    justification: str


@dataclass(frozen=True)
class DisjointPart:
    """The part of a population that a release is about; nobody belongs to two parts."""

    name: str
    parts: tuple[str, ...]
    """All parts of the population, sorted."""
    source: str
    """Why nobody belongs to two parts, and who says so."""


@dataclass(frozen=True)
class LedgerConfig:
    """The budget ledger of a population and the caps over all its releases."""

    path: Path
    population: str
    epsilon_cap: Fraction
    delta_cap: Fraction
    disjoint_part: DisjointPart | None = None
    """None: the release may be about everybody in the population."""


@dataclass(frozen=True)
class WeightedMarginal:
    """A marginal of the workload: attribute names in universe order, and its weight."""

    attributes: tuple[str, ...]
    weight: Fraction


@dataclass(frozen=True)
class RangeQueries:
    """Counts over intervals of ordered attributes: one interval for each, all in conjunction.

    `prefix`: every interval that starts at the first bin; `range`: every interval. Missing values
    are in no interval.
    """

    attributes: tuple[str, ...]
    kind: Literal["prefix", "range"]
    weight: Fraction


@dataclass(frozen=True)
class WorkloadConfig:
    """What the release is meant to answer: marginals, and whether single cells matter."""

    marginals: tuple[WeightedMarginal, ...]
    """Expanded: `marginals: 3` becomes every 1-, 2- and 3-way table, weight 1."""
    cells: bool
    order: int | None = field(default=None, compare=False)
    """The number as written, where `marginals` is one: may be above the number of columns."""
    ranges: tuple[RangeQueries, ...] = ()
    expected_records: int | None = None
    """A public guess of the number of records, for the planner; never computed from the data."""


@dataclass(frozen=True)
class OutputConfig:
    """Where the release goes and how its rows are written."""

    directory: Path | None
    """None when the configuration was read back from a manifest."""
    formats: tuple[Format, ...]
    rows: int | None
    """A declared number of rows, or None for `estimated`."""
    bins: Bins
    signing_key: Path | None = None
    """The private key that signs the release, if one is configured."""


@dataclass(frozen=True)
class Config:
    """One accepted configuration.

    `public` is the configuration in plain JSON values, whole but for the places where data,
    ledger, key and output lie: exactly what is hashed, approved, recorded in the manifest and
    read back by `verify`.
    """

    name: str
    """The file's name as the user gave it, for messages; never published."""
    release: ReleaseConfig
    source: SourceConfig | None
    """None when the configuration was read back from a manifest."""
    privacy: PrivacyConfig
    ledger: LedgerConfig | None
    """None when the configuration was read back from a manifest."""
    universe: Universe
    public_totals: tuple[PublicTotal, ...]
    workload: WorkloadConfig
    strategy: Strategy
    output: OutputConfig
    public: dict[str, Any]
    period: str | None = None

    @property
    def hash(self) -> str:
        """The configuration hash: SHA-256 of the canonical JSON of `public`."""
        return canonical_hash(self.public)
