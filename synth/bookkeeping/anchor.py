"""The anchor outside: published manifests hold the hash of their reservation in the chain.

The hash pins every event before it. A ledger that was cut, restored to before a release, or
replaced by a new one does not hold it. What was measured comes after the reservation: the ledger
that saw it keeps its checksum, so a second draw for the same charge, made in a copy of ledger and
run directory, is not the one that the ledger knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from synth.bookkeeping.ledger import Ledger
from synth.bookkeeping.run import RunState

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
