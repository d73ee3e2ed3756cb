"""The outcome of a verification: what was checked, what was noted, what was found wrong."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

SHOWN = 40
"""Findings of one check beyond this number are counted, not listed."""


@dataclass(frozen=True)
class VerificationReport:
    """A release that stood up to every check."""

    release_id: str
    checks: tuple[str, ...]
    """One sentence per check that was made and passed."""
    notes: tuple[str, ...]
    """What the verifier should know, such as another numeric library."""

    def __str__(self) -> str:
        lines = [f"{self.release_id}: verified"]
        lines += [f"  ok    {check}" for check in self.checks]
        lines += [f"  note  {note}" for note in self.notes]
        return "\n".join(lines)

    def to_plain(self) -> dict[str, Any]:
        """The report in JSON values."""
        return {
            "release_id": self.release_id,
            "verified": True,
            "checks": list(self.checks),
            "notes": list(self.notes),
        }


@dataclass
class Findings:
    """Collects the outcome of all checks, so that one finding does not hide another."""

    found: list[str] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def conclude(self, check: str, findings: list[str]) -> bool:
        """Record a check as passed, or its findings; True if it passed."""
        if not findings:
            self.checks.append(check)
            return True
        self.found += findings[:SHOWN]
        if len(findings) > SHOWN:
            self.found.append(f"and {len(findings) - SHOWN} more of the same kind")
        return False
