"""A ledger in a fresh directory, and a short way to charge it."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from synth.ledger import Ledger, RunState
from synth.measurements import LedgerPosition
from synth.privacy import Budget, TableEvent

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
    ) -> tuple[RunState, LedgerPosition]:
        return ledger.reserve(
            release_id=release_id,
            configuration_hash=configuration_hash,
            population=population,
            cap=Budget(Fraction(cap), Fraction(0)),
            events=[TableEvent(("age", "sex"), 6, 1, Fraction(epsilon))],
        )

    return charge
