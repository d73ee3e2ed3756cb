"""Made-up measurements and configurations, built straight from the types."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import prod, sinh
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from synth.config.types import (
    Config,
    LedgerConfig,
    OutputConfig,
    PrivacyConfig,
    ReleaseConfig,
    WorkloadConfig,
)
from synth.domain import Attribute, Conjunction, PublicTotal, Universe
from synth.measurements import MeasuredTable, Measurements
from synth.privacy import TableEvent


def make_universe(
    shape: Sequence[int], impossible: Sequence[dict[str, tuple[int, ...]]] = ()
) -> Universe:
    attributes = tuple(
        Attribute(f"a{i}", "categorical", tuple(f"level{code}" for code in range(size)))
        for i, size in enumerate(shape)
    )
    return Universe(attributes, tuple(Conjunction(rule) for rule in impossible))


def make_config(
    shape: Sequence[int],
    *,
    impossible: Sequence[dict[str, tuple[int, ...]]] = (),
    totals: Sequence[tuple[dict[str, tuple[int, ...]], int]] = (),
    rows: int | None = None,
    epsilon: Fraction = Fraction(1),
    cells: bool = True,
) -> Config:
    return Config(
        name="test",
        release=ReleaseConfig("t", "T", "", (), "", "", "", "", ""),
        source=None,
        privacy=PrivacyConfig(epsilon, Fraction(0), "add-remove", "record", "a test"),
        ledger=LedgerConfig(Path("ledger"), "nobody", Fraction(1), Fraction(0)),
        universe=make_universe(shape, impossible),
        public_totals=tuple(PublicTotal(Conjunction(w), t, "a register") for w, t in totals),
        workload=WorkloadConfig((), cells),
        strategy="identity",
        output=OutputConfig(None, ("csv",), rows, "uniform"),
        public={},
    )


def make_measurements(
    config: Config,
    noisy: NDArray[np.int64],
    *,
    epsilon: Fraction = Fraction(1),
    sensitivity: int = 1,
) -> Measurements:
    event = TableEvent(config.universe.names, noisy.size, sensitivity, epsilon)
    variance = 0.5 / sinh(0.5 * float(epsilon) / sensitivity) ** 2
    table = MeasuredTable(event, noisy.astype(np.int64), variance)
    return Measurements("t", "0" * 64, (table,))


def draw_noise(size: int, *, decay: float, seed: int) -> NDArray[np.int64]:
    generator = np.random.default_rng(seed)
    success = -np.expm1(-decay)
    return generator.geometric(success, size) - generator.geometric(success, size)


def draw_table(shape: Sequence[int], records: int, seed: int) -> NDArray[np.int64]:
    """Counts from a mixture of three products: structure, empty corners and heavy cells."""
    generator = np.random.default_rng(seed)
    probability = np.zeros(prod(shape))
    for weight in (0.6, 0.3, 0.1):
        part = np.ones(1)
        for size in shape:
            part = np.multiply.outer(part, generator.dirichlet(np.full(size, 0.5))).reshape(-1)
        probability += weight * part
    return generator.multinomial(records, probability / probability.sum())


@pytest.fixture(name="make_config")
def _make_config() -> Callable[..., Config]:
    return make_config


@pytest.fixture(name="make_measurements")
def _make_measurements() -> Callable[..., Measurements]:
    return make_measurements


@pytest.fixture(name="draw_noise")
def _draw_noise() -> Callable[..., NDArray[np.int64]]:
    return draw_noise


@pytest.fixture(name="draw_table")
def _draw_table() -> Callable[..., NDArray[np.int64]]:
    return draw_table


@pytest.fixture(name="make_universe")
def _make_universe() -> Callable[..., Any]:
    return make_universe
