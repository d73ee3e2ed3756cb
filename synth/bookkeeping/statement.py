"""What `synth ledger` says: an account with its charges and runs, and whether releases fit it.

Published manifests hold the hash of their reservation in the chain, which pins every event before
it. A ledger that was cut, restored to before a release, or replaced by a new one does not hold it.
What was measured comes after the reservation: the ledger that saw it keeps its checksum, so a
second draw for the same charge, made in a copy of ledger and run directory, is not the one that the
ledger knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Literal

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from synth.bookkeeping.ledger import Ledger
from synth.bookkeeping.run import RunRecord, RunState
from synth.domain import format_number
from synth.privacy import Promise
from synth.privacy.population import DividedAccount, SeriesAccount

RIGHT = ("records", "epsilon", "cap", "delta", "its cap")
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
    budgets = [position.cap, *(run.position.cap for run in position.runs)]
    has_delta = any(each.delta for each in (*budgets, *(run.charge for run in position.runs)))
    delta = ["delta", "its cap"] if has_delta else []
    for heading in ("release", *part, *most, "state", "epsilon", "cap", *delta, "day"):
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
            *(format_number(each.delta) for each in (run.charge, run.position.cap) if has_delta),
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
    of_all = position.spent, position.cap, position.left
    of_delta = f"delta: {_account(*(each.delta for each in of_all))}. " if has_delta else ""
    console.print(
        Text(
            f"epsilon: {_account(*(each.epsilon for each in of_all))}. {of_delta}"
            f"Chain of {report['chain']['events']} events checked."
        )
    )


def _account(spent: Fraction, cap: Fraction, left: Fraction) -> str:
    """As `1 spent of 2, 1 left`."""
    return f"{format_number(spent)} spent of {format_number(cap)}, {format_number(left)} left"


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


MALFORMED = "manifest.json does not state the account that was charged"
BROKEN = "the ledger was cut, replaced or restored from before that, or the release is not its own"


def anchor_findings(
    ledger: Ledger, manifest: Mapping[str, Any], *, measurements_sha256: str | None
) -> Iterator[str]:
    """What a published manifest states of the ledger that does not hold; one sentence each.

    `measurements_sha256` is the checksum of the noisy tables beside it, None if there are none.
    Requires: the chain of the ledger was checked when it was opened.
    """
    try:
        release_id = manifest["identity"]["release_id"]
        stated = manifest["accounting"]["ledger"]
        published = {
            "population": stated["population"],
            "promise": stated["promise"],
            "earlier_release_ids": list(stated["earlier_release_ids"]),
            "reservation_hash": stated["reservation_hash"],
            "configuration_hash": manifest["implementation"]["configuration_hash"],
            **{key: _plain(stated[key]) for key in ("cap", "spent_before", "spent_now", "left")},
            "added": _plain(stated["added"]) if "added" in stated else None,
        }
        run = ledger.state(release_id)
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        yield MALFORMED
        return
    if run is None:
        yield f"the ledger has no release {_shown(release_id)}: {BROKEN}"
        return
    position = run.position
    if position.reservation_hash != published["reservation_hash"]:
        yield (
            f"the chain of the ledger does not hold {_shown(published['reservation_hash'])} as "
            f"the reservation of {release_id}: {BROKEN}"
        )
        return
    if not run.is_charged:
        yield f"the charge of {release_id} was freed, and yet it is published"
    held = {
        "population": position.population,
        "promise": position.promise and position.promise.to_plain(),
        "earlier_release_ids": list(position.earlier_releases),
        "reservation_hash": position.reservation_hash,
        "configuration_hash": run.configuration_hash,
        "cap": position.cap.to_plain(),
        "spent_before": position.lost_before.to_plain(),
        "spent_now": position.spent_now.to_plain(),
        "added": position.added and position.added.to_plain(),
        "left": position.left_to_lose.to_plain(),
    }
    for key, value in held.items():
        if published[key] != value:
            found = _shown(published[key])
            yield f"the stated {key}: found {found}, the ledger holds {value}"
    measured = run.recorded(RunState.MEASURED).get("sha256")
    if measured is None:
        yield f"the ledger does not know that {release_id} was measured: {BROKEN}"
    elif measured != measurements_sha256:
        yield (
            f"the noisy tables of {release_id} are not those that the ledger saw: they were drawn "
            "for the same charge in a copy of it, or changed"
        )


def _plain(budget: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(Fraction(budget[name]["fraction"])) for name in ("epsilon", "delta")}


def _shown(value: Any) -> str:
    """A stranger's text without marks that a terminal obeys, and not all of a long one."""
    return ascii(value)[:200]
