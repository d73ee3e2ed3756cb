"""Releases made from made-up noisy counts, with a quick stand-in for the estimator."""

import hashlib
import shutil
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from numpy.typing import NDArray

from synth.config import Config, load_config
from synth.domain import Margin
from synth.domain.counts import Counts
from synth.estimate.gate import judge
from synth.measurements import (
    Continual,
    ContinualPlan,
    Disposal,
    LedgerPosition,
    MeasuredNode,
    MeasuredTable,
    Measurements,
    Receipt,
    SelfTest,
    public_seed,
    write_measurements,
)
from synth.measurements.receipt import NO_CORE_DUMP, NO_TEMPORARY_FILE, SOURCE_KEPT
from synth.noise import noise_variance
from synth.planning import forecast, plan_events
from synth.planning.spending import Spending
from synth.privacy import Budget, Promise, TableEvent, total_budget
from synth.privacy.accounting import GAUSSIAN
from synth.privacy.continual import factorization_of
from synth.release import write_release
from synth.release.derivation import BINS, ROUNDING, Derivation
from tests.chromium import Chromium, chromium
from tests.conftest import SMALL, merged

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


LABELLED = [
    {"name": "smokes", "type": "categorical", "levels": ["A", "B", "C"], "missing": ["", "X"]}
    | {"labels": {"A": "No", "B": "Yes | often", "missing": "not <asked>", "X": "refused"}}
    | {"out_of_domain": "missing", "source": "test"},
    {"name": "children", "type": "integer", "minimum": 0, "maximum": 3}
    | {"labels": {"3": "three or more"}, "out_of_domain": "clamp", "source": "test"},
    {"name": "years", "type": "integer", "edges": [0, 1, 5]}
    | {"labels": {"0": "less than a year"}, "out_of_domain": "clamp", "source": "test"},
]
"""Columns whose codes have labels: all or some of them, and missing ones."""

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


def stand_in(measurements: Measurements, config: Config, *_: object) -> Derivation:
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

    def derive(self, measurements: Measurements, config: Config, *_: object) -> Derivation:
        return stand_in(measurements, config)


def _noisy_table(
    event: TableEvent, config: Config, universe: NDArray[np.int64], generator: np.random.Generator
) -> MeasuredTable:
    """Sums of made-up counts with something added; no real noise."""
    sums = Margin(event.table, event.coarsening).sums(config.universe, universe)
    noisy = sums + generator.integers(-9, 9, event.cells)
    return MeasuredTable(event, noisy.astype(np.int64), noise_variance(event))


def _added_up(events, config, universe, generator) -> Measurements:
    """The nodes of all periods so far: in every period the same records come."""
    factorization = factorization_of(events, config.series.horizon)
    plan, index = ContinualPlan(events, factorization, config.counted_hash), config.period_index
    nodes = tuple(
        MeasuredNode(
            at,
            node,
            tuple(
                _noisy_table(event, config, universe * sum(w for _, w in node.weights), generator)
                for event in plan.node_events
            ),
        )
        for at, node in plan.places(index)
    )
    return Measurements.of_nodes(config.release.id, config.hash, Continual(plan, index, nodes))


def measured_in(
    place: Path,
    *,
    events: tuple[TableEvent, ...] | None = None,
    period: str | None = None,
    **changes: Any,
) -> Made:
    """Measurements and their receipt; the release folder is there, empty, not written.

    Of a series there are as many records in every period as in the first.
    """
    configuration = place / "small.yaml"
    plain = merged(SMALL, {"strategy": "identity"} | changes)
    options = {"sort_keys": False, "allow_unicode": True, "Dumper": yaml.CSafeDumper}
    configuration.write_text(yaml.dump(plain, **options))
    config = load_config(configuration, period=period)
    events = plan_events(config) if events is None else events
    universe = np.random.default_rng(20260131).geometric(0.1, config.universe.size)
    generator = np.random.default_rng(20260131)
    if config.series is not None and config.series.is_continual:
        measurements = _added_up(events, config, universe, generator)
    else:
        measurements = Measurements(
            config.release.id,
            config.hash,
            tuple(_noisy_table(event, config, universe, generator) for event in events),
        )
    path = place / "measurements.parquet"
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
            added=None if config.series is None else spent,
            reservation_hash="5a" * 32,
        ),
        self_tests=(SelfTest("the table of the sampler is exact", True),),
        disposal=Disposal(
            "keep",
            config.source.disposal_reason,
            (SOURCE_KEPT, NO_TEMPORARY_FILE, NO_CORE_DUMP),
        ),
    )
    folder = place / "staging" / config.release.id
    folder.mkdir(parents=True, mode=0o700)
    return Made(folder, config, measurements, path, receipt)


def released_in(place: Path, **changes: Any) -> Made:
    """A whole release."""
    made = measured_in(place, **changes)
    write_release(
        made.folder,
        config=made.config,
        measurements_file=made.measurements_file,
        receipt=made.receipt,
        today=TODAY,
        derivation=stand_in,
    )
    return made


def copied(made: Made, place: Path) -> Made:
    """The same release in another place, for a test that changes it."""
    shutil.copytree(made.measurements_file.parent, place, dirs_exist_ok=True)
    return replace(
        made,
        folder=place / "staging" / made.folder.name,
        config=load_config(place / "small.yaml"),
        measurements=deepcopy(made.measurements),
        measurements_file=place / made.measurements_file.name,
    )


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """One browser, started when it is first asked for; a test opens its pages in it."""
    with chromium(tmp_path_factory.mktemp("chromium")) as running:
        running.look_like(1280, 900)
        yield running


@pytest.fixture
def measured(tmp_path: Path) -> Callable[..., Made]:
    """Makes measurements."""
    return partial(measured_in, tmp_path)


@pytest.fixture(scope="session")
def small_release(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The release of the small configuration, written once, before any test alters the program."""
    return released_in(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="session")
def busy_release(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The release of the busy configuration, written once, too."""
    return released_in(tmp_path_factory.mktemp("busy"), **BUSY)


@pytest.fixture
def released(tmp_path: Path, small_release: Made, busy_release: Made) -> Callable[..., Made]:
    """Makes a whole release; those of the small and the busy configuration are copied."""

    def make(**changes: Any) -> Made:
        if changes == BUSY:
            return copied(busy_release, tmp_path)
        if changes:
            return released_in(tmp_path, **changes)
        return copied(small_release, tmp_path)

    return make


@pytest.fixture
def busy() -> dict[str, Any]:
    return BUSY


PLANNED = "synth.release.verification.measurements_check.possible_plans"


@pytest.fixture(scope="session")
def release_of_several(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A release of three tables whose events were chosen by hand, written once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PLANNED, lambda _: [Spending("several", SEVERAL_EVENTS)])
        return released_in(tmp_path_factory.mktemp("several"), events=SEVERAL_EVENTS, **SEVERAL)


@pytest.fixture
def several(tmp_path: Path, release_of_several: Made, monkeypatch: pytest.MonkeyPatch) -> Made:
    """A copy of that release, and a verifier that expects these events."""
    monkeypatch.setattr(PLANNED, lambda _: [Spending("several", SEVERAL_EVENTS)])
    return copied(release_of_several, tmp_path)


@pytest.fixture
def hierarchical() -> dict[str, Any]:
    return SEVERAL
