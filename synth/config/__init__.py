"""Configuration: YAML text to a frozen Config, with every problem reported at once."""

from synth.config.config import Config
from synth.config.guarantee import DisjointPart, LedgerConfig, PersonUnit, PrivacyConfig
from synth.config.loader import Given, config_from_public, json_schema, load_config, parse_epsilon
from synth.config.release import Bins, Format, OutputConfig, ReleaseConfig
from synth.config.series import Composition, PeriodSelection, Series, SeriesPart
from synth.config.source_files import (
    Dialect,
    FileSource,
    FrameSource,
    PostgresSource,
    SourceConfig,
    SparkSource,
)
from synth.config.strategy import Strategy
from synth.config.summary import describe, warnings
from synth.config.workload import RangeQueries, WeightedMarginal, WorkloadConfig

__all__ = [
    "Bins",
    "Composition",
    "Config",
    "Dialect",
    "DisjointPart",
    "FileSource",
    "Format",
    "FrameSource",
    "Given",
    "LedgerConfig",
    "OutputConfig",
    "PeriodSelection",
    "PersonUnit",
    "PostgresSource",
    "PrivacyConfig",
    "RangeQueries",
    "ReleaseConfig",
    "Series",
    "SeriesPart",
    "SourceConfig",
    "SparkSource",
    "Strategy",
    "WeightedMarginal",
    "WorkloadConfig",
    "config_from_public",
    "describe",
    "json_schema",
    "load_config",
    "parse_epsilon",
    "warnings",
]
