"""Canonical JSON: one spelling for one value, so that it can be hashed."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def canonical_hash(value: Any) -> str:
    """SHA-256 of the value's JSON with sorted keys, no spaces, UTF-8."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def write_json(value: Any) -> bytes:
    """The value as a JSON file for people: two spaces, keys in the order given."""
    return (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
