"""What an audit found, as text and as JSON values."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from synth.audit.canaries import Claim, Tally, at_least
from synth.audit.reuse import Reuse

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
    is_exact: bool = False
    """Computed, not sampled: the bound is the value itself."""

    @staticmethod
    def of_guesses(
        subject: str,
        mechanism: str,
        claim: Claim,
        guesses: Tally,
        *,
        miss: float,
        canaries: int,
        rule: str,
    ) -> Finding:
        """The lower bound that right guesses give of a claim; it is wrong with `miss` at most."""
        share = at_least(guesses.right, guesses.made, miss)
        return Finding(
            subject=subject,
            mechanism=mechanism,
            symbol=claim.symbol,
            claimed=claim.value,
            lower_bound=claim.lower_bound(share),
            exceeded=share > claim.share_right * (1 + 1e-9),
            canaries=canaries,
            guesses=guesses.made,
            right=guesses.right,
            rule=rule,
        )

    @property
    def share(self) -> float | None:
        """How near the bound comes to the claim; None where nothing is claimed."""
        return self.lower_bound / self.claimed if self.claimed else None

    @property
    def sentence(self) -> str:
        """What shows that the claim does not hold."""
        found = f"{self.symbol} of {self.subject} is {self.lower_bound:.4g}"
        if self.is_exact:
            return f"{found} by {self.rule}, and {self.claimed:.6g} is claimed"
        if self.symbol == "delta":
            return (
                f"{found} or more, and {self.claimed:.6g} is claimed: {self.right:,} of "
                f"{self.guesses:,} units were told of by {self.rule}"
            )
        return (
            f"{found} or more, and {self.claimed:.6g} is claimed: {self.right:,} of "
            f"{self.guesses:,} guesses by {self.rule} were right"
        )

    def to_plain(self) -> dict[str, Any]:
        """The same in JSON values; a bound without end is null."""
        return {
            "subject": self.subject,
            "mechanism": self.mechanism,
            "parameter": self.symbol,
            "claimed": self.claimed,
            "lower_bound": self.lower_bound if math.isfinite(self.lower_bound) else None,
            "exceeded": self.exceeded,
            "exact": self.is_exact,
            "canaries": self.canaries,
            "guesses": self.guesses,
            "right": self.right,
            "guessed_by": self.rule,
        }


@dataclass(frozen=True)
class TableChange:
    """By how much neighbouring made-up sources changed the counts of one table at most."""

    subject: str
    charged_l1: int
    """The sensitivity, in records, that the noise of the table is made for."""
    largest_l1: int
    charged_l2_squared: int | None
    """None where only the L1 norm is charged."""
    largest_l2_squared: int
    crowd: int
    """So many units were added or replaced at once, too."""
    largest_of_crowd: int

    @property
    def excesses(self) -> list[str]:
        """What is larger than what is charged, in words."""
        found = []
        if self.largest_l1 > self.charged_l1:
            found.append(
                f"changes the counts by {self.largest_l1:,} in all, and the plan charges "
                f"for {self.charged_l1:,}"
            )
        limit = self.charged_l2_squared
        if limit is not None and self.largest_l2_squared > limit:
            found.append(
                f"changes the counts by the square root of {self.largest_l2_squared:,} in L2 norm, "
                f"and the plan charges for that of {limit:,}"
            )
        if self.largest_of_crowd > self.crowd * self.charged_l1:
            found.append(
                f"changes the counts by {self.largest_of_crowd / self.crowd:.4g} in all on "
                f"average of {self.crowd:,}, and the plan charges for {self.charged_l1:,}"
            )
        return found

    def to_plain(self) -> dict[str, Any]:
        """The same in JSON values."""
        return {
            "subject": self.subject,
            "sensitivity_l1": self.charged_l1,
            "largest_l1": self.largest_l1,
            "sensitivity_l2_squared": self.charged_l2_squared,
            "largest_l2_squared": self.largest_l2_squared,
            "largest_l1_of_crowd": self.largest_of_crowd,
            "exceeded": bool(self.excesses),
        }


@dataclass(frozen=True)
class CountingReport:
    """What counting made-up sources that are neighbours gave; exact for each of them."""

    format: str
    in_place_of: str
    """The kind of source that files stood in for; empty for files."""
    sources: int
    neighbours: int
    """Pairs of sources that differ by one unit."""
    relation: str
    unit: str
    crowd: int
    is_bounding_reached: bool
    """Whether some person had more records than are counted."""
    tables: tuple[TableChange, ...]

    @property
    def sentences(self) -> Iterator[str]:
        """What is larger than what is charged, for every table."""
        for table in self.tables:
            for excess in table.excesses:
                yield f"one {self.unit} {self.relation} {excess} (table {table.subject})"

    def to_plain(self) -> dict[str, Any]:
        """The same in JSON values."""
        return {
            "format": self.format,
            "in_place_of": self.in_place_of or None,
            "sources": self.sources,
            "neighbours": self.neighbours,
            "crowd": self.crowd,
            "bounding_reached": self.is_bounding_reached,
            "tables": [table.to_plain() for table in self.tables],
        }


@dataclass(frozen=True)
class AuditReport:
    """All findings of an audit, and how sure they are together."""

    release_id: str
    confidence: float
    counting: CountingReport
    findings: tuple[Finding, ...]
    reuse: Reuse
    not_covered: tuple[str, ...]
    """What of this configuration the audit says nothing of, in sentences."""

    @property
    def faults(self) -> tuple[str, ...]:
        """Every claim that does not hold, and what shows it."""
        found = [finding.sentence for finding in self.findings if finding.exceeded]
        return (*self.counting.sentences, *found, *self.reuse.sentences)

    @property
    def exceeded(self) -> bool:
        """Whether some claim does not hold."""
        return bool(self.faults)

    def to_plain(self) -> dict[str, Any]:
        """The same in JSON values."""
        return {
            "release_id": self.release_id,
            "confidence": self.confidence,
            "exceeded": self.exceeded,
            "faults": list(self.faults),
            "counting": self.counting.to_plain(),
            "findings": [finding.to_plain() for finding in self.findings],
            "reuse": self.reuse.to_plain(),
            "not_covered": list(self.not_covered),
        }


def render(report: AuditReport) -> str:
    """The report as text of about WIDTH characters a line."""
    lines = [f"audit of {report.release_id}, with made-up records only", ""]
    lines += [*_counting(report.counting), "", *_findings(report), ""]
    if report.reuse.values:
        found = "FOUND" if report.reuse.sentences else "none found"
        text = f"Noise used twice, among {report.reuse.values:,} values of all tables and runs: "
        lines += [f"{text}{found}.", ""]
    if report.not_covered:
        lines += ["Not covered:", *map(_item, report.not_covered), ""]
    if report.exceeded:
        lines += ["A claim does not hold: do not release.", *map(_item, report.faults)]
    else:
        lines += textwrap.wrap(
            "Nothing is above its claim. That is no proof; docs/privacy.md has the proofs.", WIDTH
        )
    return "\n".join(lines)


def _counting(counting: CountingReport) -> list[str]:
    text = (
        f"Counting, exact: {counting.sources:,} made-up sources in {counting.format}, "
        f"{counting.neighbours:,} pairs with one {counting.unit} {counting.relation}, and "
        f"{counting.crowd:,} at once."
    )
    if counting.in_place_of:
        text += f" The files stand in for {counting.in_place_of}, whose own reading is not audited."
    width = min(40, max(len(_short(table.subject)) for table in counting.tables))
    lines = [*textwrap.wrap(text, WIDTH), ""]
    lines.append(f"{'table':<{width}}  {'charged, L1':>11} {'largest':>8} {'L2':>8} {'largest':>8}")
    for table in counting.tables:
        squared = table.charged_l2_squared
        l2 = ["-", "-"] if squared is None else [squared**0.5, table.largest_l2_squared**0.5]
        shown = " ".join(f"{each if isinstance(each, str) else f'{each:.4g}':>8}" for each in l2)
        mark = "  EXCEEDED" if table.excesses else ""
        lines.append(
            f"{_short(table.subject):<{width}}  {table.charged_l1:>11,} {table.largest_l1:>8,} "
            f"{shown}{mark}"
        )
    return lines


def _findings(report: AuditReport) -> list[str]:
    text = (
        "Noise and choices, statistical: nobody can be promised less than the bounds under 'at "
        "least', because an attacker who guessed whether made-up units were there was right that "
        f"often. All of them hold together with a confidence of {100 * report.confidence:.6g} %; "
        "those marked 'exact' are computed."
    )
    width = min(40, max(len(_short(one.subject)) for one in report.findings))
    lines = [*textwrap.wrap(text, WIDTH), ""]
    lines.append(
        f"{'table':<{width}}  {'mechanism':<19} {'claim':>17} {'at least':>10} {'share':>7} "
        f"{'canaries':>11}"
    )
    for one in report.findings:
        share = "-" if one.share is None else f"{one.share:.3f}"
        lines.append(
            f"{_short(one.subject):<{width}}  {one.mechanism:<19} "
            f"{f'{one.symbol} {one.claimed:.6g}':>17} {one.lower_bound:>10.4g} {share:>7} "
            f"{'exact' if one.is_exact else f'{one.canaries:,}':>11}"
            + ("  EXCEEDED" if one.exceeded else "")
        )
    return lines


def _item(sentence: str) -> str:
    return textwrap.fill(sentence, WIDTH, initial_indent="- ", subsequent_indent="  ")


def _short(subject: str) -> str:
    return subject if len(subject) <= 40 else f"{subject[:37]}..."
