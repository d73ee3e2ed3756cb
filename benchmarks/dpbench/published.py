"""What `synth` would publish for a histogram: the whole counts behind its synthetic rows."""

from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction
from math import log10, prod
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.dpbench.flat import discrete_laplace, variance

sys.path.insert(0, str(Path(__file__).parents[1]))

from accuracy import as_a_run

from synth import load_config
from synth.config import Config, OutputConfig, RangeQueries, WorkloadConfig
from synth.curator.seal import Sensitive
from synth.domain import Attribute, HierarchyLevel, Margin, Universe
from synth.estimate import estimate_whole
from synth.measurements import MeasuredTable, Measurements
from synth.privacy import TableEvent, sensitivity_l1
from synth.privacy.accounting import LAPLACE

Ints = NDArray[np.int64]
Kind = Literal["prefix", "range"]

TEMPLATE = Path(__file__).parents[2] / "configs" / "nltcs.yaml"
"""Gives what does not matter here: titles, output, ledger."""


def balanced_hierarchy(size: int, branching: int) -> tuple[HierarchyLevel, ...]:
    """Groups of `branching`, branching^2, ... neighbouring codes, coarsest first; no root."""
    levels: list[HierarchyLevel] = []
    width = branching
    while width < size:
        group_of = tuple(code // width for code in range(size))
        labels = tuple(f"{low}-{min(low + width, size) - 1}" for low in range(0, size, width))
        levels.insert(0, HierarchyLevel(f"by {width}", group_of, labels))
        width *= branching
    return tuple(levels)


def axis(name: str, size: int, branching: int) -> Attribute:
    """The whole numbers from 0 to size - 1, one bin for each."""
    edges = (*map(Fraction, range(size)), Fraction(size - 1))
    hierarchy = balanced_hierarchy(size, branching)
    return Attribute(name, "integer", edges=edges, out_of_domain="clamp", hierarchy=hierarchy)


def range_config(
    shape: tuple[int, ...], *, epsilon: Fraction, kind: Kind, branching: int, records: int | None
) -> Config:
    """A configuration that cares about ranges of all axes together, and about nothing else.

    `records` is what is publicly expected, or None.
    """
    attributes = tuple(axis(f"axis{i}", size, branching) for i, size in enumerate(shape))
    names = tuple(attribute.name for attribute in attributes)
    template = load_config(TEMPLATE)
    return replace(
        template,
        privacy=replace(template.privacy, epsilon=epsilon, delta=Fraction(0)),
        universe=Universe(attributes),
        public_totals=(),
        workload=WorkloadConfig(
            (),
            cells=False,
            ranges=(RangeQueries(names, kind, Fraction(1)),),
            expected_records=records,
        ),
        strategy="auto",
        output=OutputConfig(None, ("csv",), None, "uniform"),
    )


def level_events(config: Config) -> tuple[TableEvent, ...]:
    """Every level of the hierarchies, all axes alike, with equal shares of epsilon."""
    universe, names = config.universe, config.universe.names
    depth = min(attribute.depth for attribute in universe.attributes)
    return tuple(
        TableEvent(
            table=names,
            cells=Margin(names, (step,) * len(names)).cells(universe),
            sensitivity_l1=sensitivity_l1(config.privacy),
            epsilon=config.privacy.epsilon / depth,
            coarsening=(step,) * len(names),
        )
        for step in range(depth)
    )


def measure(truth: Ints, config: Config, events: tuple[TableEvent, ...], seed: int) -> Measurements:
    """Noisy tables with the exact law of their noise, in floating point: for a benchmark only."""
    generator = np.random.default_rng(seed)
    tables = []
    for event in events:
        if event.mechanism != LAPLACE:
            raise SystemExit(f"the benchmark is for pure epsilon, not {event.mechanism}")
        decay = float(1 / event.noise_scale_records)
        sums = Margin(event.table, event.coarsening).sums(config.universe, truth.reshape(-1))
        noisy = sums + discrete_laplace(generator, decay, sums.size)
        tables.append(MeasuredTable(event, noisy, variance(decay)))
    return Measurements("benchmark", "", tuple(tables))


def synth_counts(
    truth: Ints,
    shape: tuple[int, ...],
    epsilon: Fraction,
    seed: int,
    *,
    kind: Kind = "range",
    branching: int = 16,
    levels: bool = False,
    told: bool = False,
) -> Ints:
    """Whole counts, flat in cell order: look, plan, measure, estimate, round.

    `told`: the planner is told the number of records to the nearest power of ten, as a publisher
    would guess it. `levels` measures every level of the hierarchies equally instead.
    """
    if truth.size != prod(shape):
        raise ValueError("the counts do not have that shape")
    records = 10 ** round(log10(max(1, int(truth.sum())))) if told else None
    config = range_config(shape, epsilon=epsilon, kind=kind, branching=branching, records=records)
    if levels:
        measurements = measure(truth, config, level_events(config), seed)
    else:
        measurements = as_a_run(config, Sensitive(truth.reshape(-1).copy()), seed)
    return estimate_whole(measurements, config).round(seed).of_every_cell(config.universe.shape)
