"""Configuration: YAML text to a frozen Config, with every problem reported at once."""

from synth.config.loader import config_from_public, load_config, parse_epsilon
from synth.config.notes import warnings
from synth.config.report import describe
from synth.config.schema import json_schema
from synth.config.types import Config

__all__ = [
    "Config",
    "config_from_public",
    "describe",
    "json_schema",
    "load_config",
    "parse_epsilon",
    "warnings",
]
