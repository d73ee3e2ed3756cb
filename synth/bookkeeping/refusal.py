"""What the ledger refuses, in words that a curator can act on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from synth.bookkeeping.run import NEXT_STATE, RunRecord, RunState, promise_of, same_division
from synth.config import DisjointPart, SeriesPart
from synth.config.guarantee import as_read
from synth.errors import BudgetRefusedError, LedgerError, OutputError, PublishedDifferentlyError
from synth.measurements.receipt import LedgerPosition
from synth.privacy import Budget, PrivacyEvent, Promise
from synth.privacy.population import same_series


def over_the_cap(position: LedgerPosition) -> BudgetRefusedError:
    """The error for a charge that does not fit under the cap."""
    left = position.left
    cap, before = position.cap, position.spent_before
    now = position.spent_now if position.added is None else position.added
    over = "epsilon" if left.epsilon < 0 else "delta"
    capped, spent, asked = (getattr(budget, over) for budget in (cap, before, now))
    none = 0 * cap.epsilon
    return BudgetRefusedError(
        f"the budget of population {position.population} does not allow this release: "
        f"{over} {asked} asked for, {max(capped - spent, 0 * capped)} left of {capped}",
        why=f"{spent} is spent on {len(position.earlier_releases)} earlier release(s); "
        "what is published about the same people adds up",
        fix=f"lower privacy.{over} so that it fits; raising ledger.{over}_cap weakens the promise",
        budget_left={
            name: str(max(getattr(cap, name) - getattr(before, name), none))
            for name in ("epsilon", "delta")
        },
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


def check_promise(charged: Sequence[RunRecord], asked: Promise, population: str) -> None:
    """Raise BudgetRefusedError unless `asked` adds up with what the population is bound to."""
    if not charged:
        return
    known = promise_of(charged)
    if known is None:
        raise BudgetRefusedError(
            f"population {population} was charged before the ledger kept the privacy unit and the "
            "neighbouring relation of its releases",
            why="epsilons add up only for one unit and one relation, and which these were cannot "
            "be told from their charges",
            fix="charge a population of its own; if unit and relation are those of the earlier "
            "releases, give it a cap of what those left",
        )
    if known.adds_up_with(asked):
        return
    raise BudgetRefusedError(
        f"population {population} is bound to {known} by its earlier releases, and this one "
        f"promises something else: {asked}",
        why="epsilons add up only for one privacy unit and one neighbouring relation: a person has "
        "several records, and replacing is removing and adding",
        fix="set privacy.unit and privacy.neighbours as the earlier releases have them, or charge "
        "a population of its own (ledger.population)",
    )


def check_spelling(known: Iterable[str], population: str) -> None:
    """Raise BudgetRefusedError if `population` is one of those `known`, spelled otherwise."""
    others = [name for name in known if as_read(name) == as_read(population)]
    if population in others or not others:
        return
    raise BudgetRefusedError(
        f"population {population!r} is in the ledger under another spelling: {others[0]!r}",
        why="the same people would have two accounts, each with a cap of its own",
        fix=f"write ledger.population as {others[0]!r}, or choose a name that differs in more than "
        "blanks, capital letters and ways of writing one letter",
    )


def check_series(
    charged: Sequence[RunRecord],
    asked: SeriesPart,
    events: tuple[PrivacyEvent, ...],
    factorization: Mapping[str, Any] | None,
    cost: Budget,
) -> None:
    """Raise BudgetRefusedError unless `asked` is charged as the earlier releases of its series."""
    for run in charged:
        if run.series is None or run.series.name != asked.name:
            continue
        if not same_series(run.series, asked):
            what = "which records are in which period, or how charges come together"
        elif run.series.part == asked.part and (
            (run.tables, run.factorization, run.charge) != (events, factorization, cost)
        ):
            what = "what is measured, or the budget"
        else:
            continue
        raise BudgetRefusedError(
            f"the series {asked.name} was declared otherwise when {run.release_id} was charged: "
            f"{what}",
            why="its charges come together only if all its releases divide the records alike, and "
            "one charge pays for one part",
            fix="restore the configuration of the earlier releases, or write another release.id: "
            "then it is another series, whose charges are added to those of this one",
        )


def check_order(runs: Iterable[RunRecord], asked: SeriesPart, promise: Promise) -> None:
    """Raise OutputError for a period out of its order, of a series with `max_periods`.

    Privacy: a person counts in the first periods that the table has of him. Were an earlier period
    measured after a later one, a record that has come late would count as if it were the first. It
    is decided where the charge is written, so that two runs at once cannot both find it in order.
    """
    if asked.rule != "largest" or promise.person_column is None:
        return
    for run in runs:
        part = run.series
        if part is None or part.name != asked.name or not run.is_charged:
            continue
        if part.index > asked.index:
            raise OutputError(
                f"{run.release_id}, a later period, was charged before {asked.period}",
                why="in which of their first periods people are counted rests on their order",
                fix="leave this period out, as `synth due` does from now on",
            )
        if part.index < asked.index and run.state is RunState.RESERVED:
            raise OutputError(
                f"{run.release_id}, an earlier period, is charged and not measured",
                why="in which of their first periods people are counted rests on their order",
                fix="start that one again, or free its charge: synth ledger CONFIG void",
            )


def ledger_gone(path: Path, release_id: str) -> LedgerError:
    """The error for a ledger that is not there, although runs beside it were charged."""
    return LedgerError(
        f"{path}: the ledger is gone: `runs` beside it shows charges, that of {release_id} for one",
        why="a new ledger would take what was spent for nothing",
        fix="restore the ledger from its backup. A ledger for other populations goes into a "
        "directory of its own; `runs` may be moved away only if nothing that was measured there "
        "was kept or published",
    )


def ledger_behind(path: Path, release_id: str) -> LedgerError:
    """The error for a ledger that lacks what a run directory beside it has recorded."""
    return LedgerError(
        f"{path}: the ledger does not hold what the run directory of {release_id} beside it "
        "recorded last",
        why="it was restored from an older backup or belongs elsewhere, so what was spent is not "
        "known for certain",
        fix="restore the newest ledger; a run directory may be moved away only if another ledger "
        "charged it",
    )


def check_same_release(
    run: RunRecord,
    configuration_hash: str,
    population: str,
    tables: tuple[PrivacyEvent, ...],
    part: DisjointPart | None,
    promise: Promise,
) -> None:
    """Raise PublishedDifferentlyError unless `run` may be taken up again as asked for."""
    if (run.configuration_hash, run.population) != (configuration_hash, population):
        what = "another configuration"
    elif run.part != part:
        what = "another part of the population"
    elif run.state is RunState.RESERVED and run.promise != promise:
        what = "another privacy unit or neighbouring relation, or none was kept yet"
    elif run.state is RunState.RESERVED and run.tables != tables:
        what = "other measured tables"
    else:
        return
    fix = "choose a new release id, or restore the configuration that belongs to this one"
    if run.state is RunState.RESERVED:
        fix = (
            f'`synth ledger CONFIG void {run.release_id} --reason "..."` frees the charge, unless '
            f"noise was drawn for it already; or {fix}"
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
            why="noise was drawn for it, so its budget is spent whatever becomes of that",
            fix="start the run again to finish it; its charge stays",
        )
