"""Where a population stands before a reservation: its charges added up, disjoint parts aside."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from synth.config.types import DisjointPart
from synth.ledger.run import RunRecord
from synth.measurements.divided_account import DividedAccount
from synth.measurements.receipt import LedgerPosition
from synth.privacy import Budget

NOTHING = Budget(Fraction(0), Fraction(0))


def division_of(charged: Iterable[RunRecord]) -> DisjointPart | None:
    """How the population is divided: as the first of its charged releases about a part says."""
    return next((run.part for run in charged if run.part is not None), None)


def same_division(part: DisjointPart, other: DisjointPart) -> bool:
    """Whether both speak of the same parts, for the same reason."""
    return (part.parts, part.source) == (other.parts, other.source)


def spent_on(charged: Sequence[RunRecord], part: DisjointPart | None = None) -> Budget:
    """What the charged releases of one population cost together.

    Privacy: the sum; with disjoint parts the releases about everybody and the most expensive
    part, see `parallel_total`.
    """
    divided = _divided(charged, part)
    return _sum(charged) if divided is None else divided.spent


def divided_account(charged: Sequence[RunRecord]) -> DividedAccount | None:
    """The account of every part, or None if none was charged."""
    return _divided(charged, None)


def position_for(
    charged: Sequence[RunRecord],
    *,
    population: str,
    cap: Budget,
    charge: Budget,
    part: DisjointPart | None,
) -> LedgerPosition:
    """The position of a population that a reservation of `charge` would find.

    Requires: `charged` are the charged releases of the population, in their order; `part`, if
    any, is of their division.
    """
    return LedgerPosition(
        population=population,
        cap=cap,
        spent_before=spent_on(charged, part),
        spent_now=charge,
        earlier_releases=tuple(run.release_id for run in charged),
        divided=_divided(charged, part),
    )


def exceeds(position: LedgerPosition) -> bool:
    """Whether the new charge would go over the cap, compared exactly."""
    return position.left.epsilon < 0 or position.left.delta < 0


def part_to_plain(part: DisjointPart) -> dict[str, Any]:
    """The part as plain values."""
    return {"name": part.name, "parts": list(part.parts), "source": part.source}


def part_from_plain(plain: Mapping[str, Any]) -> DisjointPart:
    """Read a part back; raises ValueError, KeyError or TypeError if it is damaged."""
    part = DisjointPart(
        name=str(plain["name"]),
        parts=tuple(str(name) for name in plain["parts"]),
        source=str(plain["source"]),
    )
    if part.name not in part.parts or list(part.parts) != sorted(set(part.parts)):
        raise ValueError("the parts are not in order")
    return part


def _divided(charged: Sequence[RunRecord], part: DisjointPart | None) -> DividedAccount | None:
    division = division_of(charged) or part
    if division is None:
        return None
    return DividedAccount(
        source=division.source,
        part=None if part is None else part.name,
        whole=_sum(run for run in charged if run.part is None),
        parts=tuple(
            (name, _sum(run for run in charged if run.part is not None and run.part.name == name))
            for name in division.parts
        ),
    )


def _sum(charged: Iterable[RunRecord]) -> Budget:
    return sum((run.charge for run in charged), NOTHING)
