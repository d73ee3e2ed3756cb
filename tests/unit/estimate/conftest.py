"""Made-up measurements and configurations, built straight from the types."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from math import prod, sinh
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from synth.config import (
    Config,
    LedgerConfig,
    OutputConfig,
    PrivacyConfig,
    ReleaseConfig,
    WorkloadConfig,
)
from synth.domain import Attribute, Conjunction, HierarchyLevel, Margin, PublicTotal, Universe
from synth.estimate import estimate_whole, required_atoms, round_counts
from synth.measurements import MeasuredTable, Measurements
from synth.privacy import TableEvent
from synth.privacy.accounting import GAUSSIAN

Levels = tuple[tuple[int, ...], ...]


def make_universe(
    shape: Sequence[int], impossible: Sequence[dict[str, tuple[int, ...]]] = ()
) -> Universe:
    attributes = tuple(
        Attribute(f"a{i}", "categorical", tuple(f"level{code}" for code in range(size)))
        for i, size in enumerate(shape)
    )
    return Universe(attributes, tuple(Conjunction(rule) for rule in impossible))


def make_deep_universe(
    axes: Sequence[tuple[int, Levels]], impossible: Sequence[dict[str, tuple[int, ...]]] = ()
) -> Universe:
    """Attributes a0, a1, ... of these sizes; the groups of every code, coarsest level first."""
    attributes = []
    for i, (size, levels) in enumerate(axes):
        hierarchy = tuple(
            HierarchyLevel(f"h{j}", groups, tuple(f"g{g}" for g in range(max(groups) + 1)))
            for j, groups in enumerate(levels)
        )
        codes = tuple(f"level{code}" for code in range(size))
        attributes.append(Attribute(f"a{i}", "categorical", codes, hierarchy=hierarchy))
    return Universe(tuple(attributes), tuple(Conjunction(rule) for rule in impossible))


def explicit_axis(size: int, levels: Levels) -> tuple[NDArray[np.float64], list[int]]:
    """The basis of one attribute by its definition: one function a row, and their resolutions."""
    rows, resolutions = [np.full(size, size**-0.5)], [0]
    chain = [(0,) * size, *levels, tuple(range(size))]
    for resolution in range(1, len(chain)):
        parent, own = np.array(chain[resolution - 1]), np.array(chain[resolution])
        for group in range(parent.max() + 1):
            children = sorted(set(own[parent == group].tolist()))
            for j in range(1, len(children)):
                before, child = np.isin(own, children[:j]), own == children[j]
                contrast = before / before.sum() - child / child.sum()
                rows.append(contrast / np.linalg.norm(contrast))
                resolutions.append(resolution)
    return np.array(rows), resolutions


def measure(
    universe: Universe,
    names: Sequence[str],
    counts: NDArray[np.int64],
    *,
    coarsening: Sequence[int] = (),
    seed: int | None = 0,
    epsilon: Fraction | None = None,
    rho: Fraction | None = None,
) -> MeasuredTable:
    """A noisy table of sums of these counts: Laplace noise for epsilon, rounded Gaussian for rho.

    Without a seed there is no noise, whatever the variance says.
    """
    steps = tuple(coarsening) or (0,) * len(names)
    sums = Margin(tuple(names), steps).sums(universe, counts)
    if epsilon is not None:
        event = TableEvent(tuple(names), sums.size, 1, epsilon, coarsening=steps)
        variance = 0.5 / sinh(0.5 * float(epsilon)) ** 2
        noise = draw_noise(sums.size, decay=float(epsilon), seed=seed or 0)
    else:
        assert rho is not None
        event = TableEvent(
            tuple(names),
            sums.size,
            1,
            mechanism=GAUSSIAN,
            coarsening=steps,
            rho=rho,
            sensitivity_l2_squared=1,
        )
        variance = float(1 / (2 * rho))
        generator = np.random.default_rng(seed)
        noise = np.rint(generator.normal(0.0, variance**0.5, sums.size)).astype(np.int64)
    return MeasuredTable(event, sums if seed is None else sums + noise, variance)


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
        privacy=PrivacyConfig(
            epsilon=epsilon,
            delta=Fraction(0),
            neighbours="add-remove",
            unit="record",
            justification="a test",
        ),
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


def digest_of_estimates() -> str:
    """A digest of estimates from cells, from cells with sums, and from sums alone."""
    axes = [(9, ((0,) * 4 + (1,) * 5,)), (8, ()), (7, ()), (4, ((0, 0, 1, 1),))]
    universe = make_deep_universe(axes)
    config = replace(make_config((2, 2)), universe=universe)
    counts = draw_table(universe.shape, 9000, 1)
    cells = measure(universe, universe.names, counts, epsilon=Fraction(1, 2), seed=2)
    few = [
        measure(universe, (name,), counts, rho=Fraction(1, 50), seed=3) for name in universe.names
    ]
    many = [
        measure(universe, ("a0", "a1"), counts, rho=Fraction(1, 50), seed=4),
        measure(universe, ("a0", "a3"), counts, coarsening=(1, 1), rho=Fraction(1, 9), seed=5),
    ]
    digest = sha256()
    for tables in ([cells], [cells, *few, *many], [*few, *many]):
        result = estimate_whole(Measurements("t", "0" * 64, tuple(tables)), config)
        digest.update(result.values.tobytes())
        digest.update(round_counts(result.values, required_atoms(config), 3).tobytes())
    return digest.hexdigest()


@pytest.fixture(name="make_config", scope="session")
def _make_config() -> Callable[..., Config]:
    return make_config


@pytest.fixture(name="make_measurements", scope="session")
def _make_measurements() -> Callable[..., Measurements]:
    return make_measurements


@pytest.fixture(name="draw_noise", scope="session")
def _draw_noise() -> Callable[..., NDArray[np.int64]]:
    return draw_noise


@pytest.fixture(name="draw_table", scope="session")
def _draw_table() -> Callable[..., NDArray[np.int64]]:
    return draw_table


@pytest.fixture(name="make_universe", scope="session")
def _make_universe() -> Callable[..., Any]:
    return make_universe


@pytest.fixture(name="make_deep_universe", scope="session")
def _make_deep_universe() -> Callable[..., Universe]:
    return make_deep_universe


@pytest.fixture(name="explicit_axis", scope="session")
def _explicit_axis() -> Callable[..., tuple[NDArray[np.float64], list[int]]]:
    return explicit_axis


@pytest.fixture(name="measure", scope="session")
def _measure() -> Callable[..., MeasuredTable]:
    return measure


@pytest.fixture(name="digest_of_estimates", scope="session")
def _digest_of_estimates() -> Callable[[], str]:
    return digest_of_estimates
