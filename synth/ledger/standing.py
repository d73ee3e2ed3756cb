"""Where a population stands before a reservation: its charges added up, disjoint parts aside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from synth.config.types import DisjointPart
from synth.ledger.run import RunRecord
from synth.measurements.receipt import LedgerPosition
from synth.privacy import Budget, Promise
from synth.privacy.population import DividedAccount, common_promise, population_total, sums_of_parts


def division_of(charged: Iterable[RunRecord]) -> DisjointPart | None:
    """How the population is divided: as the first of its charged releases about a part says."""
    return next((run.part for run in charged if run.part is not None), None)


def same_division(part: DisjointPart, other: DisjointPart) -> bool:
    """Whether both speak of the same parts, for the same reason."""
    return (part.parts, part.source) == (other.parts, other.source)


def promise_of(charged: Iterable[RunRecord]) -> Promise | None:
    """The promise that the population is bound to by its charged releases.

    Raises: ValueError if they are not of one promise.
    """
    return common_promise(run.promise for run in charged)


def spent_on(charged: Iterable[RunRecord]) -> Budget:
    """What the charged releases of one population cost together; see `population_total`."""
    return population_total(run.as_charge for run in charged)


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
    promise: Promise | None,
    reservation_hash: str = "",
) -> LedgerPosition:
    """The position of a population that a reservation of `charge` would find.

    Requires: `charged` are the charged releases of the population, in their order; `part`, if
    any, is of their division; `promise` adds up with theirs.
    Raises: ValueError if the promises do not add up.
    """
    common_promise([*(run.promise for run in charged), promise])
    return LedgerPosition(
        population=population,
        cap=cap,
        spent_before=spent_on(charged),
        spent_now=charge,
        earlier_releases=tuple(run.release_id for run in charged),
        divided=_divided(charged, part),
        promise=promise,
        reservation_hash=reservation_hash,
    )


def exceeds(position: LedgerPosition) -> bool:
    """Whether the new charge would go over the cap, compared exactly."""
    return position.left.epsilon < 0 or position.left.delta < 0


def _divided(charged: Sequence[RunRecord], part: DisjointPart | None) -> DividedAccount | None:
    division = division_of(charged) or part
    if division is None:
        return None
    whole, parts = sums_of_parts((run.as_charge for run in charged), division.parts)
    return DividedAccount(
        source=division.source,
        part=None if part is None else part.name,
        whole=whole,
        parts=parts,
    )
