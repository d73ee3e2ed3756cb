"""Which columns a source file must have; messages quote configured names only."""

from __future__ import annotations

from collections.abc import Sequence

from synth.errors import SourceError


def require_columns(
    columns: Sequence[str], names: Sequence[str], found: Sequence[str], *, source: str
) -> None:
    """Refuse a file that lacks a column or has it twice; `names` are the configured names."""
    counts = {name: found.count(column) for column, name in zip(columns, names, strict=True)}
    missing = [repr(name) for name, count in counts.items() if count == 0]
    twice = [repr(name) for name, count in counts.items() if count > 1]
    if missing:
        raise SourceError(
            f"the source {source} has no column {', '.join(missing)}",
            why="every configured column must be in every source file",
            fix="correct `domain` or `source` (delimiter, quote, encoding), or give the right file",
        )
    if twice:
        raise SourceError(
            f"the source {source} has more than one column {', '.join(twice)}",
            fix="give each column of the source a name of its own",
        )
