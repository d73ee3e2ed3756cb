"""What is said of the disjoint parts of a population, for a board or an ethics committee."""

from __future__ import annotations

from typing import Any

from synth.config.types import DisjointPart
from synth.domain import format_number
from synth.measurements.divided_account import DividedAccount


def over_parts(part: DisjointPart | None, account: DividedAccount | None) -> list[str]:
    """What is stated of the parts, what follows from it, and what is spent as far as is known.

    `part` is the one that this configuration is about, `account` what the ledger at hand holds.
    """
    if part is not None:
        source, names = part.source, part.parts
    elif account is not None:
        source, names = account.source, tuple(name for name, _ in account.parts)
    else:
        return []
    found = [
        "Of releases about one part of the population each, only those about the most expensive "
        "part count, on top of those about everybody: who belongs to one part is in no release "
        "about another. That holds only if nobody belongs to two parts. The curator states: "
        f"{' '.join(source.split())} No program can check that; if it is false, more is lost "
        "than the ledger says.",
        f"The parts are: {', '.join(names)}. This release is charged to "
        + ("everybody." if part is None else f'the part "{part.name}".'),
    ]
    if account is not None:
        spent = [f"{name} {format_number(budget.epsilon)}" for name, budget in account.parts]
        whole = format_number(account.whole.epsilon)
        found.append(f"Spent so far, of epsilon: everybody {whole}; {'; '.join(spent)}.")
    return found


def plain_part(part: DisjointPart | None) -> dict[str, Any] | None:
    """The part in JSON values."""
    if part is None:
        return None
    return {"name": part.name, "parts": list(part.parts), "source": part.source}
