"""The configuration inside the manifest: everything but where things lie with the curator."""

from __future__ import annotations

from dataclasses import replace

from synth.config.keys import CONFIGURATION as EVERY_KEY
from synth.config.shapes import Key, Record
from synth.release.manifest.schema_terms import Schema


def _public(record: Record) -> Record:
    keys = [
        replace(key, shape=_public(key.shape)) if isinstance(key.shape, Record) else key
        for key in record.keys
        if not key.private
    ]
    return replace(record, keys=tuple(_plain_key(key) for key in keys))


def _plain_key(key: Key) -> Key:
    """A key as the public form has it: without alternatives, and there even if derived."""
    return replace(key, unless=(), derived=False)


def configuration_schema() -> Schema:
    """The schema of the public configuration: no path, no address, no directory."""
    described = (
        "The configuration of the release, whole but for the places where the curator keeps things "
        "(paths, addresses, keys). Every number in it is public: it was written down before the "
        "raw data were opened."
    )
    return _public(EVERY_KEY).schema() | {"description": described}
