"""The composition over disjoint parts, counted anew from the manifest's own text.

No function of `synth.privacy` is used, and nothing of the ledger: this looks for the person who
lost most, part by part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from synth.release.verification.event_noise import exact_value


@dataclass(frozen=True)
class Losses:
    """What somebody of each part lost by earlier releases, of epsilon or of delta."""

    of_members: dict[str | None, Fraction]
    """By part; None stands for somebody of whom no part was ever charged."""
    charged: str | None
    """The part that this release is about; None: everybody."""

    @property
    def before(self) -> Fraction:
        """The most that somebody had lost before this release."""
        return max(self.of_members.values())

    def after(self, now: Fraction) -> Fraction:
        """The most that somebody has lost after it."""
        return max(
            lost + now if self.charged in (None, part) else lost
            for part, lost in self.of_members.items()
        )


def read_losses(ledger: dict[str, Any], name: str) -> Losses | None:
    """The losses that the account states, of `name` (epsilon or delta); None if malformed."""
    section = ledger.get("disjoint_parts")
    if section is None:
        before = exact_value(ledger["spent_before"][name])
        return None if before is None else Losses({None: before}, None)
    whole = exact_value(section["whole_population"][name])
    spent = {part["name"]: exact_value(part["spent_before"][name]) for part in section["parts"]}
    known = {part: each for part, each in spent.items() if each is not None and each >= 0}
    if whole is None or whole < 0 or len(known) < len(section["parts"]):
        return None
    members: dict[str | None, Fraction] = {part: whole + each for part, each in known.items()}
    return Losses({None: whole, **members}, section.get("part"))


def parts_findings(ledger: dict[str, Any], configured: dict[str, Any]) -> Iterator[str]:
    """Contradictions between the stated parts and those of the configuration."""
    place = "accounting.ledger.disjoint_parts"
    section, declared = ledger.get("disjoint_parts"), configured.get("disjoint_part")
    if section is None:
        if declared is not None:
            yield f"{place}: is not there, but the configuration declares a part"
        return
    names = [part["name"] for part in section["parts"]]
    if len(set(names)) < len(names):
        yield f"{place}.parts: a part is listed twice"
    if declared is None:
        if "part" in section:
            yield f"{place}.part: the configuration declares no part"
        return
    for key, expected in (
        ("part", declared["name"]),
        ("source", declared["source"]),
    ):
        if section.get(key) != expected:
            yield f"{place}.{key}: is not that of the configuration"
    if names != declared["parts"]:
        yield f"{place}.parts: are not those of the configuration"
