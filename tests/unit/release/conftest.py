"""Releases made from made-up noisy counts, with a quick stand-in for the estimator."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from synth.config import Config, load_config
from synth.domain import Margin
from synth.domain.counts import Counts
from synth.estimate.gate import judge
from synth.measurements import (
    Disposal,
    LedgerPosition,
    MeasuredTable,
    Measurements,
    Receipt,
    SelfTest,
    public_seed,
    write_measurements,
)
from synth.measurements.receipt import NO_CORE_DUMP, NO_TEMPORARY_FILE, SOURCE_KEPT
from synth.noise import noise_variance
from synth.plan import forecast, plan_events
from synth.privacy import Budget, Promise, TableEvent, total_budget
from synth.privacy.accounting import GAUSSIAN
from synth.release import write_release
from synth.release.derivation import BINS, ROUNDING, Derivation

TODAY = date(2026, 1, 31)
BUSY = {
    "domain": [
        {"name": "age", "type": "integer", "edges": [0, 18, 19, 65, 99]}
        | {"out_of_domain": "clamp", "source": "test"},
        {"name": "gain, in $", "type": "number", "edges": [-2, 0, "0.5", 5000]}
        | {"missing": ["?"], "out_of_domain": "missing", "source": "test"},
        {"name": "town", "type": "categorical", "levels": ['Nord, "Süd"', "x|y", "<Other>"]}
        | {"missing": [""], "out_of_domain": "missing", "source": "test"},
    ],
    "impossible": [{"age": "18", "town": "x|y"}],
    "public_totals": [
        {"where": {"town": "<Other>"}, "total": 40, "source": "a count from elsewhere"}
    ],
}
"""A configuration with every kind of column, an impossible rule and a public total."""


SEVERAL = {
    "privacy": {"epsilon": 1, "delta": "1e-9"},
    "ledger": {"delta_cap": "1e-6"},
    "domain": [
        {"name": "age", "type": "integer", "minimum": 0, "maximum": 99, "bin_width": 20}
        | {"hierarchy": [{"name": "half", "edges": [0, 40, 99]}]}
        | {"missing": ["?"], "out_of_domain": "missing", "source": "test"},
        {"name": "sex", "type": "categorical", "levels": ["Female", "Male"]}
        | {"missing": [""], "out_of_domain": "missing", "source": "test"},
        {"name": "town", "type": "categorical", "levels": ["Nord", "Süd", "West", "Ost"]}
        | {"hierarchy": [{"name": "line", "groups": {"x": ["Nord", "Süd"], "y": ["West", "Ost"]}}]}
        | {"out_of_domain": "Ost", "source": "test"},
    ],
    "strategy": {
        "tables": [
            ["age", "sex", "town"],
            [{"column": "age", "level": "half"}, {"column": "town", "level": "line"}],
            ["sex"],
        ]
    },
}
"""A configuration with hierarchies and three measured tables, one of them coarser."""

SEVERAL_EVENTS = (
    TableEvent(("age", "sex", "town"), 72, 1, Fraction(3, 5)),
    TableEvent(
        ("age", "town"),
        6,
        1,
        mechanism=GAUSSIAN,
        coarsening=(1, 1),
        rho=Fraction(1, 1000),
        sensitivity_l2_squared=1,
    ),
    TableEvent(
        ("sex",),
        3,
        1,
        mechanism=GAUSSIAN,
        rho=Fraction(1, 4000),
        sensitivity_l2_squared=1,
    ),
)
"""Events for that configuration, made by hand: pure noise on the universe, Gaussian elsewhere."""


def stand_in(measurements: Measurements, config: Config) -> Derivation:
    """Counts that keep the rules: clipped noisy counts, each total put right in one cell."""
    (full,) = (t for t in measurements.tables if t.event.cells == config.universe.size)
    counts = np.maximum(full.noisy_counts - 1, 0)
    counts = np.where(config.universe.possible(), counts, 0)
    for entry in config.public_totals:
        inside = np.flatnonzero(config.universe.members(entry.where) & config.universe.possible())
        counts[inside] = 0
        counts[inside[:2]] = entry.total // 2, entry.total - entry.total // 2
    seeds = {purpose: public_seed(measurements, purpose) for purpose in (ROUNDING, BINS)}
    report = {"method": "stand-in", "rounds": 3, "residual": 0.125, "tables": [["age"], ["town"]]}
    counts = Counts.of_all(counts, config.universe.shape)
    gate = {"outcome": "agree", **judge(counts, measurements, config).to_plain()}
    return Derivation(config, measurements, counts, report, seeds, forecast(config), gate)


@dataclass(frozen=True)
class Made:
    """A release and what it was made from."""

    folder: Path
    config: Config
    measurements: Measurements
    measurements_file: Path
    receipt: Receipt

    def derive(self, measurements: Measurements, config: Config) -> Derivation:
        return stand_in(measurements, config)


def _noisy_table(
    event: TableEvent, config: Config, universe: NDArray[np.int64], generator: np.random.Generator
) -> MeasuredTable:
    """Sums of made-up counts with something added; no real noise."""
    sums = Margin(event.table, event.coarsening).sums(config.universe, universe)
    noisy = sums + generator.integers(-9, 9, event.cells)
    return MeasuredTable(event, noisy.astype(np.int64), noise_variance(event))


@pytest.fixture
def measured(tmp_path: Path, project: Callable[..., Path]) -> Callable[..., Made]:
    """Makes measurements and their receipt; the release folder is there, empty, not written."""

    def make(*, events: tuple[TableEvent, ...] | None = None, **changes: Any) -> Made:
        config = load_config(project(people=None, **({"strategy": "identity"} | changes)))
        events = plan_events(config) if events is None else events
        generator = np.random.default_rng(20260131)
        universe = generator.geometric(0.1, config.universe.size)
        measurements = Measurements(
            config.release.id,
            config.hash,
            tuple(_noisy_table(event, config, universe, generator) for event in events),
        )
        path = tmp_path / "measurements.parquet"
        write_measurements(path, measurements)
        cap = Budget(config.ledger.epsilon_cap, config.ledger.delta_cap)
        spent = total_budget(events, delta=config.privacy.delta)
        before = Budget((cap.epsilon - spent.epsilon) / 2, Fraction(0))
        receipt = Receipt(
            release_id=config.release.id,
            configuration_hash=config.hash,
            measurements_sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
            measured_on="2026-01-30",
            ledger=LedgerPosition(
                config.ledger.population,
                cap,
                before,
                spent,
                ("old",) if before.epsilon else (),
                promise=Promise.of(config.privacy),
                reservation_hash="5a" * 32,
            ),
            self_tests=(SelfTest("the table of the sampler is exact", True),),
            disposal=Disposal(
                "keep",
                config.source.disposal_reason,
                (SOURCE_KEPT, NO_TEMPORARY_FILE, NO_CORE_DUMP),
            ),
        )
        folder = tmp_path / "staging" / config.release.id
        folder.mkdir(parents=True, mode=0o700)
        return Made(folder, config, measurements, path, receipt)

    return make


@pytest.fixture
def released(measured: Callable[..., Made]) -> Callable[..., Made]:
    """Writes a whole release."""

    def make(**changes: Any) -> Made:
        made = measured(**changes)
        write_release(
            made.folder,
            config=made.config,
            measurements_file=made.measurements_file,
            receipt=made.receipt,
            today=TODAY,
            derivation=stand_in,
        )
        return made

    return make


@pytest.fixture
def busy() -> dict[str, Any]:
    return BUSY


@pytest.fixture
def several(released: Callable[..., Made], monkeypatch: pytest.MonkeyPatch) -> Made:
    """A release of three tables whose events were chosen by hand."""
    planned = "synth.release.verification.measurements_check.plan_events"
    monkeypatch.setattr(planned, lambda _: SEVERAL_EVENTS)
    return released(events=SEVERAL_EVENTS, **SEVERAL)


@pytest.fixture
def hierarchical() -> dict[str, Any]:
    return SEVERAL
