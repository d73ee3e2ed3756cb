"""Entries that nobody has confirmed yet: marked in a draft, refused everywhere else."""

from __future__ import annotations

from dataclasses import dataclass

from synth.errors import Problem

MARK = "CONFIRM"
TAG = f"!{MARK}"
"""The YAML tag that stands before a value that was inferred from data, or is still to be given."""


@dataclass(frozen=True)
class Unconfirmed(Problem):
    """An entry that is still marked. It never shows the value, which may come from raw data."""

    @classmethod
    def at(cls, line: int, path: str) -> Unconfirmed:
        """The problem of the entry at this line and path."""
        return cls(
            line,
            path,
            f"an entry marked {TAG}",
            "an entry that somebody has confirmed",
            fix=f"confirm it against a public source, then remove the word {TAG}",
        )
