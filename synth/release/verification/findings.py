"""The outcome of a verification: what was checked, what was noted, what was found wrong."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

WITHIN_TOLERANCE = "within tolerance, not bit for bit"
SHOWN = 40
"""Findings of one check beyond this number are counted, not listed."""


@dataclass(frozen=True)
class Signature:
    """Whether a release is signed, and whether the reader trusts the key."""

    state: Literal["unsigned", "not compared", "trusted"]
    key_id: str | None = None

    @property
    def in_words(self) -> str:
        """The same as half a sentence."""
        return {
            "unsigned": "unsigned: nothing shows who published it",
            "not compared": (
                f"signed by the key {self.key_id}, which was not compared with a trusted key "
                "(--key FILE)"
            ),
            "trusted": f"signed by the trusted key {self.key_id}",
        }[self.state]


@dataclass(frozen=True)
class VerificationReport:
    """A release that stood up to every check."""

    release_id: str
    checks: tuple[str, ...]
    """One sentence per check that was made and passed."""
    notes: tuple[str, ...]
    """What the verifier should know, such as another numeric library."""
    signature: Signature
    tolerated: tuple[str, ...] = ()
    """What differs from what was rebuilt by last digits alone, and was accepted."""

    @property
    def is_bit_for_bit(self) -> bool:
        """Whether all that can be rebuilt is the same to the last bit."""
        return not self.tolerated

    def __str__(self) -> str:
        outcome = "verified" if self.is_bit_for_bit else f"verified {WITHIN_TOLERANCE}"
        lines = [f"{self.release_id}: {outcome}"]
        lines += [f"  ok    {check}" for check in self.checks]
        lines.append(f"  sign  {self.signature.in_words}")
        lines += [f"  note  {note}" for note in self.notes]
        return "\n".join(lines)

    def to_plain(self) -> dict[str, Any]:
        """The report in JSON values."""
        return {
            "release_id": self.release_id,
            "verified": True,
            "bit_for_bit": self.is_bit_for_bit,
            "within_tolerance": list(self.tolerated),
            "signature": {"state": self.signature.state, "key_id": self.signature.key_id},
            "checks": list(self.checks),
            "notes": list(self.notes),
        }


@dataclass
class Findings:
    """Collects the outcome of all checks, so that one finding does not hide another."""

    found: list[str] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    tolerated: list[str] = field(default_factory=list)
    signature: Signature = field(default_factory=lambda: Signature("unsigned"))

    def tolerate(self, check: str) -> None:
        """Record a check that last digits alone kept from being passed to the bit."""
        self.tolerated.append(check)
        self.checks.append(f"{check} {WITHIN_TOLERANCE}")

    def conclude(self, check: str, findings: list[str]) -> bool:
        """Record a check as passed, or its findings; True if it passed."""
        if not findings:
            self.checks.append(check)
            return True
        self.found += findings[:SHOWN]
        if len(findings) > SHOWN:
            self.found.append(f"and {len(findings) - SHOWN} more of the same kind")
        return False
