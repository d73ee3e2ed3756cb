"""What an audit found, as text and as JSON values."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from typing import Any

WIDTH = 96


@dataclass(frozen=True)
class Finding:
    """A lower bound of one parameter of the guarantee, and what was claimed for it."""

    subject: str
    mechanism: str
    symbol: str
    """epsilon, rho, or delta."""
    claimed: float
    lower_bound: float
    exceeded: bool
    """The bound is above the claim: something is wrong."""
    canaries: int
    guesses: int
    right: int
    rule: str
    """What the guesses went by."""

    @property
    def share(self) -> float | None:
        """How near the bound comes to the claim; None where nothing is claimed."""
        return self.lower_bound / self.claimed if self.claimed else None

    def to_plain(self) -> dict[str, Any]:
        """The same in JSON values; a bound without end is null."""
        return {
            "subject": self.subject,
            "mechanism": self.mechanism,
            "parameter": self.symbol,
            "claimed": self.claimed,
            "lower_bound": self.lower_bound if math.isfinite(self.lower_bound) else None,
            "exceeded": self.exceeded,
            "canaries": self.canaries,
            "guesses": self.guesses,
            "right": self.right,
            "guessed_by": self.rule,
        }


@dataclass(frozen=True)
class AuditReport:
    """All findings of an audit, and how sure they are together."""

    release_id: str
    confidence: float
    findings: tuple[Finding, ...]
    choices: int
    """Private choices of the plan, which are not audited."""

    @property
    def exceeded(self) -> bool:
        """Whether some claim does not hold."""
        return any(finding.exceeded for finding in self.findings)

    def to_plain(self) -> dict[str, Any]:
        """The same in JSON values."""
        return {
            "release_id": self.release_id,
            "confidence": self.confidence,
            "exceeded": self.exceeded,
            "findings": [finding.to_plain() for finding in self.findings],
            "choices_not_audited": self.choices,
        }


def render(report: AuditReport) -> str:
    """The report as text of about WIDTH characters a line."""
    title = f"audit of {report.release_id}, with made-up records only"
    lines = [title, ""]
    width = min(40, max(len(_short(one.subject)) for one in report.findings))
    lines.append(
        f"{'table':<{width}}  {'mechanism':<19} {'claim':>17} {'at least':>10} {'share':>7} "
        f"{'canaries':>11}"
    )
    for one in report.findings:
        share = "-" if one.share is None else f"{one.share:.3f}"
        lines.append(
            f"{_short(one.subject):<{width}}  {one.mechanism:<19} "
            f"{f'{one.symbol} {one.claimed:.6g}':>17} {one.lower_bound:>10.4g} {share:>7} "
            f"{one.canaries:>11,}" + ("  EXCEEDED" if one.exceeded else "")
        )
    lines.append("")
    lines += textwrap.wrap(_meaning(report), WIDTH)
    return "\n".join(lines)


def _meaning(report: AuditReport) -> str:
    text = (
        "Nobody who sees the noisy tables can be promised less than the bounds under 'at least': "
        "an attacker who guessed whether made-up units were there was right that often. All bounds "
        f"together hold with a confidence of {100 * report.confidence:.6g} %. "
    )
    if report.choices:
        text += f"{report.choices} private choices are not audited. "
    if not report.exceeded:
        return text + "None is above its claim. That is no proof; docs/privacy.md has the proofs."
    broken = next(one for one in report.findings if one.exceeded)
    return text + (
        f"A claim does not hold: do not release. It shows in {broken.subject}, where "
        f"{broken.right:,} of {broken.guesses:,} guesses by {broken.rule} were right."
    )


def _short(subject: str) -> str:
    return subject if len(subject) <= 40 else f"{subject[:37]}..."
