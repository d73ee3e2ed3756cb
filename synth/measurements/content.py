"""What measurements say, as one hash; and public seeds that are derived from it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from synth.measurements.sparse_table import listed_counts
from synth.strict_json import canonical_json

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from synth.measurements.measurements import Measurements

_BLOCK = 1 << 20


def content_hash(measurements: Measurements) -> str:
    """SHA-256 over everything the measurements say, independent of the file format."""
    return measurements.content_hash


def compute_content_hash(measurements: Measurements) -> str:
    """The same, computed; `Measurements` remembers it.

    Counts are hashed as 64-bit little-endian whole numbers, in whatever type they are held.
    """
    digest = hashlib.sha256()
    head: dict[str, Any] = {
        "release_id": measurements.release_id,
        "configuration_hash": measurements.configuration_hash,
        "events": [table.event.to_plain() for table in measurements.tables],
    }
    if measurements.selections:
        head["selections"] = [event.to_plain() for event in measurements.selections]
    if listed := listed_counts(measurements.tables):
        head["listed"] = listed
    digest.update(canonical_json(head, ascii_only=True).encode())
    for table in measurements.tables:
        _update(digest, table.noisy_counts)
        if table.codes is not None:
            _update(digest, table.codes)
    return digest.hexdigest()


def _update(digest: hashlib._Hash, numbers: NDArray[Any]) -> None:
    import numpy as np

    for start in range(0, len(numbers), _BLOCK):
        block = np.ascontiguousarray(numbers[start : start + _BLOCK], dtype="<i8")
        digest.update(block.data)


def public_seed(measurements: Measurements, purpose: str) -> int:
    """A 128-bit seed for a random choice in post-processing, reproducible by anybody.

    Privacy: a function of the noisy measurements alone, so whatever is drawn from it is
    post-processing.
    """
    digest = hashlib.sha256(f"synth/{purpose}/{content_hash(measurements)}".encode())
    return int.from_bytes(digest.digest()[:16], "big")
