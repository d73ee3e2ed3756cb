"""A ledger in a fresh directory, and a short way to charge it."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from synth.bookkeeping import Ledger, RunState
from synth.bookkeeping.file import LedgerEvent, LedgerFile, create_ledger_file
from synth.bookkeeping.run import tables_to_plain
from synth.bookkeeping.run_directory import new_token
from synth.config import DisjointPart
from synth.measurements import LedgerPosition
from synth.privacy import Budget, Promise, TableEvent
from synth.privacy.population import part_to_plain

RECORDS = Promise("add-remove", None, None)
Reserve = Callable[..., tuple[RunState, LedgerPosition]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "ledger.sqlite"


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    with Ledger.open(path, today=lambda: "2026-01-31") as opened:
        yield opened


@pytest.fixture
def reserve(ledger: Ledger) -> Reserve:
    def charge(
        release_id: str,
        epsilon: str = "1",
        *,
        cap: str = "4",
        configuration_hash: str = "c0ffee",
        population: str = "people",
        promise: Promise = RECORDS,
    ) -> tuple[RunState, LedgerPosition]:
        return ledger.reserve(
            release_id=release_id,
            configuration_hash=configuration_hash,
            population=population,
            cap=Budget(Fraction(cap), Fraction(0)),
            events=[TableEvent(("age", "sex"), 6, 1, Fraction(epsilon))],
            promise=promise,
        )

    return charge


MakeOld = Callable[..., Path]


@pytest.fixture
def make_old(path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeOld:
    """A ledger of an older schema, with charges to `people` as its versions wrote them."""

    def make(version: int, charges: dict[str, str], part: DisjointPart | None = None) -> Path:
        with monkeypatch.context() as patch:
            patch.setattr("synth.bookkeeping.file.SCHEMA_VERSION", version)
            create_ledger_file(path, day="2025-01-31")
        file = LedgerFile(path, busy_timeout_seconds=1)
        for release_id, epsilon in charges.items():
            event = TableEvent(("age",), 6, 1, Fraction(epsilon))
            payload = {
                "token": new_token(path, release_id),
                "configuration_hash": "c0ffee",
                "charge": {"epsilon": epsilon, "delta": "0"},
                "cap": {"epsilon": "2", "delta": "0"},
                "tables": tables_to_plain([event]),
            }
            if part is not None:
                payload["disjoint_part"] = part_to_plain(part)
            with file.writing():
                seq, head = file.last()
                reserved = LedgerEvent.chained(
                    seq=seq + 1,
                    previous_hash=head,
                    kind="reserve",
                    population="people",
                    release_id=release_id,
                    day="2025-01-31",
                    payload=payload,
                )
                file.append(reserved)
        file.close()
        return path

    return make
