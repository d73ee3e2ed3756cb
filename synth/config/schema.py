"""The JSON Schema of the configuration, written from the same keys that the loader reads."""

from __future__ import annotations

from typing import Any

from synth.config.keys import CONFIGURATION


def json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) for editors.

    Ensures: refuses no file that `load_config` accepts, whether an editor types plain text by
    YAML 1.1 or 1.2. Rules that relate several values, or that concern the text of a value
    before it was typed, are the loader's alone.
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:synth:configuration:1",
        "title": "synth configuration",
        **CONFIGURATION.schema(),
    }
