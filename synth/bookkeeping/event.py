"""One event of the ledger: what happened, on which day, chained to everything before it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from synth.strict_json import canonical_json

GENESIS = "0" * 64
"""The previous hash of the first event."""


@dataclass(frozen=True)
class LedgerEvent:
    """One row of the ledger; `hash` covers every other field and so the whole past."""

    seq: int
    previous_hash: str
    kind: str
    """`created`, `migrated`, `reserve`, `attempt`, `measured`, `discarded`, `published`, `void`."""
    population: str
    """Empty for events about the file itself, `created` and `migrated`."""
    release_id: str
    """Empty for events about the file itself."""
    day: str
    """The UTC day, ISO 8601; no finer time is kept."""
    payload: str
    """Canonical JSON."""
    hash: str

    @staticmethod
    def chained(
        *,
        seq: int,
        previous_hash: str,
        kind: str,
        population: str,
        release_id: str,
        day: str,
        payload: Mapping[str, Any],
    ) -> LedgerEvent:
        """The event that follows `previous_hash`, with its hash computed."""
        text = canonical_json(payload)
        fields = (seq, previous_hash, kind, population, release_id, day, text)
        return LedgerEvent(*fields, hash=_digest(fields))

    @property
    def row(self) -> tuple[int | str, ...]:
        """All fields, in the order of the table's columns."""
        return (
            self.seq,
            self.previous_hash,
            self.kind,
            self.population,
            self.release_id,
            self.day,
            self.payload,
            self.hash,
        )

    @property
    def expected_hash(self) -> str:
        """The SHA-256 that the other fields call for."""
        return _digest(self.row[:-1])

    def read(self) -> dict[str, Any]:
        """The payload as plain values; raises ValueError if it is no JSON object."""
        plain = json.loads(self.payload)
        if not isinstance(plain, dict):
            raise ValueError("the payload is not an object")
        return plain


def _digest(fields: tuple[int | str, ...]) -> str:
    return hashlib.sha256(canonical_json(list(fields)).encode("utf-8")).hexdigest()
