"""What the ledger refuses, in words that a curator can act on."""

from __future__ import annotations

from synth.config.types import DisjointPart
from synth.errors import BudgetRefusedError, LedgerError, PublishedDifferentlyError
from synth.ledger.run import NEXT_STATE, RunRecord, RunState
from synth.ledger.standing import same_division
from synth.measurements.receipt import LedgerPosition
from synth.privacy import PrivacyEvent


def over_the_cap(position: LedgerPosition) -> BudgetRefusedError:
    """The error for a charge that does not fit under the cap."""
    left = position.left
    cap, before, now = position.cap, position.spent_before, position.spent_now
    over = "epsilon" if left.epsilon < 0 else "delta"
    capped, spent, asked = (getattr(budget, over) for budget in (cap, before, now))
    return BudgetRefusedError(
        f"the budget of population {position.population} does not allow this release: "
        f"{over} {asked} asked for, {max(capped - spent, 0 * capped)} left of {capped}",
        why=f"{spent} is spent on {len(position.earlier_releases)} earlier release(s); "
        "what is published about the same people adds up",
        fix=f"lower privacy.{over} so that it fits; raising ledger.{over}_cap weakens the promise",
    )


def check_division(known: DisjointPart | None, asked: DisjointPart | None, population: str) -> None:
    """Raise BudgetRefusedError unless `asked`, if any, is a part of the known division."""
    if known is None or asked is None or same_division(known, asked):
        return
    what = "other parts" if known.parts != asked.parts else "another reason"
    raise BudgetRefusedError(
        f"population {population} was divided otherwise: earlier releases were charged to its "
        f"parts by ledger.disjoint_part with {what}",
        why="only parts of one and the same division are known to have nobody in common",
        fix="write `parts` and `source` as the earlier releases have them (`synth ledger CONFIG "
        "--json`), or leave `disjoint_part` out: then the release is charged to everybody",
    )


def check_same_release(
    run: RunRecord,
    configuration_hash: str,
    population: str,
    tables: tuple[PrivacyEvent, ...],
    part: DisjointPart | None,
) -> None:
    """Raise PublishedDifferentlyError unless `run` may be taken up again as asked for."""
    if (run.configuration_hash, run.population) != (configuration_hash, population):
        what = "another configuration"
    elif run.part != part:
        what = "another part of the population"
    elif run.state is RunState.RESERVED and run.tables != tables:
        what = "other measured tables"
    else:
        return
    fix = "choose a new release id, or restore the configuration that belongs to this one"
    if run.state is RunState.RESERVED:
        fix = (
            f'`synth ledger CONFIG void {run.release_id} --reason "..."` frees the charge, because '
            f"nothing was measured; or {fix}"
        )
    raise PublishedDifferentlyError(
        f"release id {run.release_id} is taken: it is {run.state} with {what}",
        why="one id stands for one release, charged and published once",
        fix=fix,
    )


def check_step(run: RunRecord, state: RunState) -> None:
    """Raise LedgerError unless `state` comes right after the state of `run`."""
    if NEXT_STATE.get(run.state) is not state:
        raise LedgerError(
            f"release {run.release_id} is {run.state} and cannot become {state}",
            why="the order is reserved, measured, discarded, published",
        )


def check_done_once(run: RunRecord, details: dict[str, str]) -> None:
    """Raise LedgerError if `details` differ from those recorded with the state of `run`."""
    if details and details != run.recorded(run.state):
        raise LedgerError(
            f"release {run.release_id} was recorded as {run.state} with other details",
            why="a run is measured, discarded and published once",
            fix="publish under a new release id",
        )


def check_voidable(run: RunRecord, *, noise_exists: bool) -> None:
    """Raise LedgerError unless no noise of `run` can have left its process."""
    if run.state is RunState.VOIDED:
        raise LedgerError(f"release {run.release_id} is voided already")
    if run.state is not RunState.RESERVED or noise_exists:
        state = RunState.MEASURED if run.state is RunState.RESERVED else run.state
        raise LedgerError(
            f"release {run.release_id} is {state} and cannot be voided",
            why="its noisy tables exist, so its budget is spent whatever becomes of them",
            fix="start the run again to finish it; its charge stays",
        )
