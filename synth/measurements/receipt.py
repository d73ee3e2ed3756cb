"""The receipt of a measurement: what the curator's side attests, beside the noisy tables.

A receipt travels with `measurements.parquet` from the machine that measured to the one that
publishes. It holds nothing that depends on the raw data.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Literal

from synth.privacy import Budget, Charge, Promise, left_of, population_total
from synth.privacy.population import DividedAccount

SOURCE_KEPT = "The source files were left where they are, under the curator's access rules."
SOURCE_ABSENT = (
    "Every measured source file was removed (unlinked, not overwritten) and was then absent."
)
SOURCE_GONE_BEFORE = (
    "A measured source file was no longer under its name when it was to be removed; "
    "what became of it was not found out."
)
NO_TEMPORARY_FILE = (
    "No spilled, temporary or partial file of the measuring process was left in its directory."
)
NO_CORE_DUMP = "Core dumps were switched off in the measuring process."


@dataclass(frozen=True)
class LedgerPosition:
    """What the ledger of the population said when this release was charged.

    Raises: ValueError if `spent_before` is not what the account of the parts says.
    """

    population: str
    cap: Budget
    spent_before: Budget
    spent_now: Budget
    earlier_releases: tuple[str, ...]
    divided: DividedAccount | None = None
    """The account before this release, if the population has parts that were declared disjoint."""
    promise: Promise | None = None
    """What this release promises, as the earlier ones do; None: charged before that was kept."""
    added: Budget | None = None
    """What the charge adds to the account where that is not all of it, in a series: 0 for further
    releases of a part that is charged already."""
    reservation_hash: str = ""
    """The hash of the reservation in the ledger's chain, which pins everything before it; empty
    while nothing is reserved."""

    def __post_init__(self) -> None:
        if self.added is not None and not (
            0 <= self.added.epsilon <= self.spent_now.epsilon
            and 0 <= self.added.delta <= self.spent_now.delta
        ):
            raise ValueError("a charge adds at most itself")
        if self.divided is not None and self.divided.spent != self.spent_before:
            raise ValueError("the account of the parts does not give what was spent")

    @property
    def spent_after(self) -> Budget:
        """The sum with this release; with disjoint parts, the largest part counts."""
        if self.added is not None:
            return self.spent_before + self.added
        if self.divided is not None:
            return self.divided.charged(self.spent_now).spent
        return population_total(
            Charge(budget, self.promise) for budget in (self.spent_before, self.spent_now)
        )

    @property
    def lost_before(self) -> Budget:
        """What those whom this release is about can have lost before: with parts, of its part."""
        return self.spent_before if self.divided is None else self.divided.lost

    @property
    def left_to_lose(self) -> Budget:
        """What the cap leaves for those whom this release is about, after it."""
        added = self.spent_now if self.added is None else self.added
        return left_of(self.cap, (self.lost_before, added), self.promise)

    @property
    def left(self) -> Budget:
        """What the cap still allows after this release."""
        after = self.spent_after
        return Budget(self.cap.epsilon - after.epsilon, self.cap.delta - after.delta)


@dataclass(frozen=True)
class SelfTest:
    """A check of the noise generator that ran in the measuring process before the noise."""

    name: str
    passed: bool


@dataclass(frozen=True)
class Disposal:
    """What happened to the raw data after the measurement, and how it was checked."""

    method: Literal["keep", "delete"]
    reason: str
    checks: tuple[str, ...]

    @property
    def is_possible(self) -> bool:
        """Whether the checks are those that this program can state after that method."""
        ends = [SOURCE_KEPT] if self.method == "keep" else [SOURCE_ABSENT, SOURCE_GONE_BEFORE]
        told = [(end, NO_TEMPORARY_FILE) for end in ends]
        return self.checks in told or self.checks in [(*two, NO_CORE_DUMP) for two in told]


@dataclass(frozen=True)
class Receipt:
    """Everything the publishing side must know that is not in the noisy tables."""

    release_id: str
    configuration_hash: str
    measurements_sha256: str
    measured_on: str
    """The day of the measurement, ISO 8601."""
    ledger: LedgerPosition
    self_tests: tuple[SelfTest, ...]
    disposal: Disposal | None
    """None until the raw data were disposed of; a release needs it."""

    def to_json(self) -> str:
        """The receipt as JSON text; budgets are exact fractions in text."""
        plain: dict[str, Any] = {
            "release_id": self.release_id,
            "configuration_hash": self.configuration_hash,
            "measurements_sha256": self.measurements_sha256,
            "measured_on": self.measured_on,
            "ledger": {
                "population": self.ledger.population,
                "cap": self.ledger.cap.to_plain(),
                "spent_before": self.ledger.spent_before.to_plain(),
                "spent_now": self.ledger.spent_now.to_plain(),
                "earlier_releases": list(self.ledger.earlier_releases),
                "divided": self.ledger.divided and self.ledger.divided.to_plain(),
                "promise": self.ledger.promise and self.ledger.promise.to_plain(),
                "added": self.ledger.added and self.ledger.added.to_plain(),
                "reservation_hash": self.ledger.reservation_hash,
            },
            "self_tests": [asdict(test) for test in self.self_tests],
            "disposal": self.disposal and asdict(self.disposal),
        }
        return json.dumps(plain, indent=2, ensure_ascii=False) + "\n"

    @staticmethod
    def from_json(text: str) -> Receipt:
        """Read a receipt back; raises KeyError, TypeError or ValueError if it is damaged."""
        plain = json.loads(text)
        ledger = plain["ledger"]
        divided, promise = ledger.get("divided"), ledger["promise"]
        added = ledger.get("added")
        disposal = plain["disposal"]
        return Receipt(
            release_id=plain["release_id"],
            configuration_hash=plain["configuration_hash"],
            measurements_sha256=plain["measurements_sha256"],
            measured_on=plain["measured_on"],
            ledger=LedgerPosition(
                population=ledger["population"],
                cap=Budget.from_plain(ledger["cap"]),
                spent_before=Budget.from_plain(ledger["spent_before"]),
                spent_now=Budget.from_plain(ledger["spent_now"]),
                earlier_releases=tuple(ledger["earlier_releases"]),
                divided=None if divided is None else DividedAccount.from_plain(divided),
                promise=None if promise is None else Promise.from_plain(promise),
                added=None if added is None else Budget.from_plain(added),
                reservation_hash=ledger["reservation_hash"],
            ),
            self_tests=tuple(SelfTest(t["name"], t["passed"]) for t in plain["self_tests"]),
            disposal=None
            if disposal is None
            else Disposal(disposal["method"], disposal["reason"], tuple(disposal["checks"])),
        )
