"""The JSON Schema of a policy, written from the same keys that the loader reads."""

from __future__ import annotations

from typing import Any

from synth.policy.keys import POLICY


def policy_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) for editors.

    Ensures: refuses no file that `load_policy` accepts.
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:synth:policy:1",
        "title": "synth policy",
        **POLICY.schema(),
    }
