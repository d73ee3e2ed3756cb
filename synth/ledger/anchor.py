"""The anchor outside: published manifests hold the hash of their reservation in the chain.

The hash pins every event before it. A ledger that was cut, restored to before a release, or
replaced by a new one does not hold it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from synth.ledger.ledger import Ledger
from synth.ledger.run import budget_to_plain

MALFORMED = "manifest.json does not state the account that was charged"
BROKEN = "the ledger was cut, replaced or restored from before that, or the release is not its own"


def anchor_findings(ledger: Ledger, manifest: Mapping[str, Any]) -> Iterator[str]:
    """What a published manifest states of the ledger that does not hold; one sentence each.

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
            **{key: _plain(stated[key]) for key in ("cap", "spent_before", "spent_now", "left")},
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
        "cap": budget_to_plain(position.cap),
        "spent_before": budget_to_plain(position.lost_before),
        "spent_now": budget_to_plain(position.spent_now),
        "left": budget_to_plain(position.left_to_lose),
    }
    for key, value in held.items():
        if published[key] != value:
            found = _shown(published[key])
            yield f"accounting.ledger.{key}: found {found}, the ledger holds {value}"


def _plain(budget: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(Fraction(budget[name]["fraction"])) for name in ("epsilon", "delta")}


def _shown(value: Any) -> str:
    """A stranger's text without marks that a terminal obeys, and not all of a long one."""
    return ascii(value)[:200]
