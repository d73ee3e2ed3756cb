"""A policy as frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from synth.signatures import PublicKey


@dataclass(frozen=True)
class PopulationCaps:
    """The most that all releases about one population may spend together."""

    epsilon_cap: Fraction
    delta_cap: Fraction
    ledger: Path | None
    """The one file that keeps the account, or None if any may."""
    disjoint_parts: tuple[str, ...] = ()
    """The parts that may be counted in parallel: somebody vouches that nobody is in two."""


@dataclass(frozen=True)
class KeyHolder:
    """Somebody whose signature counts."""

    name: str
    key: PublicKey


@dataclass(frozen=True)
class Approvals:
    """How many of these people must have approved a configuration."""

    required: int
    holders: tuple[KeyHolder, ...]


@dataclass(frozen=True)
class Signing:
    """Whether releases must be signed, and by whom."""

    required: bool
    holders: tuple[KeyHolder, ...]
    """Empty: any key will do."""


@dataclass(frozen=True)
class Policy:
    """What is allowed; what a policy does not name is refused.

    Shapes and units: `epsilon` and `delta` are those of one release.
    """

    name: str
    """The file's name as the user gave it, for messages."""
    epsilon: Fraction
    delta: Fraction
    populations: Mapping[str, PopulationCaps]
    units: tuple[str, ...]
    neighbours: tuple[str, ...]
    disposal: tuple[str, ...]
    approvals: Approvals | None
    signing: Signing | None
