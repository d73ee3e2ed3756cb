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

from synth.config import Config, load_config
from synth.measurements import (
    Disposal,
    LedgerPosition,
    MeasuredTable,
    Measurements,
    Receipt,
    SelfTest,
    noise_variance,
    public_seed,
    write_measurements,
)
from synth.measurements.receipt import NO_CORE_DUMP, NO_TEMPORARY_FILE, SOURCE_KEPT
from synth.plan import forecast, plan_events
from synth.privacy import Budget
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


def stand_in(measurements: Measurements, config: Config) -> Derivation:
    """Counts that keep the rules: clipped noisy counts, each total put right in one cell."""
    counts = np.maximum(measurements.tables[0].noisy_counts - 1, 0)
    counts = np.where(config.universe.possible(), counts, 0)
    for entry in config.public_totals:
        inside = np.flatnonzero(config.universe.members(entry.where) & config.universe.possible())
        counts[inside] = 0
        counts[inside[:2]] = entry.total // 2, entry.total - entry.total // 2
    seeds = {purpose: public_seed(measurements, purpose) for purpose in (ROUNDING, BINS)}
    report = {"method": "stand-in", "rounds": 3, "residual": 0.125, "tables": [["age"], ["town"]]}
    return Derivation(counts, report, seeds, forecast(config))


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


@pytest.fixture
def measured(tmp_path: Path, project: Callable[..., Path]) -> Callable[..., Made]:
    """Makes measurements and their receipt; the release folder is there, empty, not written."""

    def make(**changes: Any) -> Made:
        config = load_config(project(people=None, **({"strategy": "identity"} | changes)))
        (event,) = plan_events(config)
        generator = np.random.default_rng(20260131)
        noisy = generator.geometric(0.1, event.cells) + generator.integers(-9, 9, event.cells)
        table = MeasuredTable(event, noisy.astype(np.int64), noise_variance(event))
        measurements = Measurements(config.release.id, config.hash, (table,))
        path = tmp_path / "measurements.parquet"
        write_measurements(path, measurements)
        zero = Budget(Fraction(0), Fraction(0))
        cap = Budget(config.ledger.epsilon_cap, config.ledger.delta_cap)
        receipt = Receipt(
            release_id=config.release.id,
            configuration_hash=config.hash,
            measurements_sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
            measured_on="2026-01-30",
            ledger=LedgerPosition(
                config.ledger.population, cap, zero, Budget(event.epsilon, Fraction(0)), ("old",)
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
