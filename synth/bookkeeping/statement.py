"""What `synth ledger` shows: a population's cap, charges and runs, for people and programs."""

from __future__ import annotations

from typing import Any, Literal

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from synth.bookkeeping.ledger import Ledger
from synth.bookkeeping.run import RunRecord
from synth.domain import format_number
from synth.privacy import Promise
from synth.privacy.population import DividedAccount, SeriesAccount

RIGHT = ("records", "epsilon", "cap")
UNKNOWN_PROMISE = (
    "charged before the ledger kept privacy unit and neighbouring relation: no release can be added"
)


def ledger_report(ledger: Ledger, population: str) -> dict[str, Any]:
    """The population's account in plain JSON values; budgets are exact fractions in text.

    Ensures: the whole chain was checked just now.
    """
    ledger.verify_chain()
    position = ledger.position(population)
    history = ledger.history()
    return {
        "population": population,
        "cap": position.cap and position.cap.to_plain(),
        "spent": position.spent.to_plain(),
        "left": position.left and position.left.to_plain(),
        "promise": position.promise and _terms(position.promise),
        "disjoint_parts": position.divided and position.divided.to_plain(),
        "series": [account.to_plain() for account in position.series],
        "runs": [_run_to_plain(run) for run in position.runs],
        "chain": {"events": len(history), "hash": history[-1].hash},
    }


def render_ledger(ledger: Ledger, population: str, console: Console) -> None:
    """Print the population's account as a table and a sentence on what is left."""
    report = ledger_report(ledger, population)
    position = ledger.position(population)
    if position.cap is None or position.left is None:
        console.print(Text(f"population {population}: nothing was spent yet"))
        return
    console.print(Text(f"population {population}", style="bold"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    part = [] if position.divided is None else ["part"]
    most = [] if position.promise is None or position.promise.person_column is None else ["records"]
    for heading in ("release", *part, *most, "state", "epsilon", "cap", "day"):
        justify: Literal["left", "right"] = "right" if heading in RIGHT else "left"
        table.add_column(heading, justify=justify, overflow="fold")
    for run in position.runs:
        table.add_row(
            Text(run.release_id),
            *(Text("everybody" if run.part is None else run.part.name) for _ in part),
            *("" if run.promise is None else str(run.promise.max_records) for _ in most),
            run.state.value,
            format_number(run.charge.epsilon),
            format_number(run.position.cap.epsilon),
            run.reserved_on,
        )
    console.print(table)
    for run in position.runs:
        if not run.is_charged:
            console.print(Text(f"{run.release_id} was voided: {run.void_reason}"))
    if position.spent.epsilon:
        console.print(
            Text(
                UNKNOWN_PROMISE
                if position.promise is None
                else f"every release protects {position.promise}, so that their epsilons add up"
            )
        )
    if position.divided is not None:
        console.print(Text(_of_parts(position.divided)))
    for account in position.series:
        console.print(Text(_of_series(account)))
    console.print(
        Text(
            f"epsilon: {format_number(position.spent.epsilon)} spent of "
            f"{format_number(position.cap.epsilon)}, {format_number(position.left.epsilon)} left. "
            f"Chain of {report['chain']['events']} events checked."
        )
    )


def _of_series(account: SeriesAccount) -> str:
    composition, parts = account.composition, len(account.parts)
    charges = "1 charge" if parts == 1 else f"{parts} charges"
    most = composition.most
    rule = {
        "sum": "they add up",
        "largest": "the largest counts, because a record is in one part only"
        if most == 1
        else f"the {most} largest count, because nobody is in more parts",
        "window": f"counted for every {most} periods in a row; over all they come to epsilon "
        f"{format_number(account.for_ever.epsilon)}",
    }[composition.rule]
    return (
        f"series {account.name}: {charges}, together epsilon "
        f"{format_number(account.spent.epsilon)}: {rule}"
    )


def _of_parts(account: DividedAccount) -> str:
    most = max(budget.epsilon for _, budget in account.parts)
    spent = [f"{name} {format_number(budget.epsilon)}" for name, budget in account.parts]
    return (
        f"everybody {format_number(account.whole.epsilon)}, and of the parts the most: "
        f"{format_number(most)} ({', '.join(spent)}), because nobody belongs to two: "
        f"{' '.join(account.source.split())}"
    )


def _terms(promise: Promise) -> dict[str, Any]:
    """What the account is bound to; the bound of records is that of a release."""
    plain = promise.to_plain()
    plain.pop("max_records", None)
    return plain


def _run_to_plain(run: RunRecord) -> dict[str, Any]:
    return {
        "release_id": run.release_id,
        "part": None if run.part is None else run.part.name,
        "series": run.series and run.series.to_plain(),
        "state": run.state.value,
        "configuration_hash": run.configuration_hash,
        "charge": run.charge.to_plain(),
        "cap": run.position.cap.to_plain(),
        "spent_before": run.position.spent_before.to_plain(),
        "promise": run.promise and run.promise.to_plain(),
        "reservation_hash": run.position.reservation_hash,
        "reserved_on": run.reserved_on,
        "attempts": run.attempts,
        "void_reason": run.void_reason or None,
        "details": {state.value: dict(seen) for state, seen in (run.details or {}).items()},
    }
