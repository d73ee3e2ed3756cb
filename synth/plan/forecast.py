"""The forecast: how wrong every query of the workload will be, before anything is spent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

from synth.config.limits import epsilon_problem
from synth.config.types import Config, PrivacyConfig
from synth.errors import ConfigError
from synth.noise import DiscreteLaplace
from synth.noise.discrete_laplace import LARGEST_RATE
from synth.plan.costs import Costs, forecast_costs
from synth.plan.events import plan_events
from synth.plan.noise_sum import NoiseSum
from synth.plan.possible import possible_cells
from synth.privacy import TableEvent

MISS = Fraction(1, 20)
"""One minus the confidence of every interval of the forecast."""


@dataclass(frozen=True)
class QueryForecast:
    """The error of one marginal, summed from the noisy table as it is (signed noise).

    Shapes and units: all errors are in records, per cell of the marginal. A cell's interval is
    its value plus or minus `half_width_95`; with `simultaneous_95` all cells of the marginal
    are covered at once with 95 % (Bonferroni).
    """

    attributes: tuple[str, ...]
    cells: int
    summed_cells: int
    """Noisy cells that add up to one cell of the marginal."""
    sd_records: float
    half_width_95: int
    simultaneous_95: int
    mean_absolute_error_records: float
    total_variation: float | None
    """Expected half L1 error over a declared total; None if no total is declared."""
    weight: Fraction

    @property
    def l1_records(self) -> float:
        """The expected sum of the absolute errors of all cells."""
        return self.cells * self.mean_absolute_error_records


@dataclass(frozen=True)
class Forecast:
    """What one budget buys; computed from the configuration alone."""

    release_id: str
    epsilon: Fraction
    delta: Fraction
    neighbours: str
    privacy_unit: str
    universe_size: int
    possible_cells: int
    tables: tuple[TableEvent, ...]
    alpha: float
    noise_scale_records: float
    noise_sd_per_cell: float
    declared_total: int | None
    """All records, if `public_totals` declares them."""
    single_cell: QueryForecast
    """The finest query: one cell of the universe."""
    queries: tuple[QueryForecast, ...]
    """One per marginal of the workload, in its order."""
    phantom_records_if_clipped: float
    """Records that clipping at zero would add to a universe without records."""
    costs: Costs

    def to_plain(self) -> dict[str, Any]:
        """The forecast in JSON values; budgets are exact fractions in text."""
        return {
            "release_id": self.release_id,
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "neighbours": self.neighbours,
            "privacy_unit": self.privacy_unit,
            "universe_size": self.universe_size,
            "possible_cells": self.possible_cells,
            "tables": [
                {
                    "attributes": list(table.table),
                    "cells": table.cells,
                    "mechanism": table.mechanism,
                    "sensitivity_l1": table.sensitivity_l1,
                    "epsilon": str(table.epsilon),
                }
                for table in self.tables
            ],
            "noise_scale_records": self.noise_scale_records,
            "noise_sd_per_cell": self.noise_sd_per_cell,
            "declared_total": self.declared_total,
            "single_cell": _query_to_plain(self.single_cell),
            "queries": [_query_to_plain(query) for query in self.queries],
            "phantom_records_if_clipped": self.phantom_records_if_clipped,
            "costs": {
                "memory_bytes": self.costs.memory_bytes,
                "disk_bytes": self.costs.disk_bytes,
                "seconds": self.costs.seconds,
            },
        }


def forecast(config: Config, epsilon: Fraction | None = None) -> Forecast:
    """Forecast the errors and costs of a release, with its own epsilon or another one.

    Privacy: reads the configuration only; opens no data and spends nothing.
    Raises: ValueError for an epsilon that is not positive, ConfigError for one that no
    configuration with this unit and these neighbours may have.
    """
    if epsilon is not None:
        if epsilon <= 0:
            raise ValueError("epsilon must be positive")
        _refuse_unsuitable(config.privacy, epsilon)
        config = replace(config, privacy=replace(config.privacy, epsilon=epsilon))
    (table,) = tables = plan_events(config)
    law = DiscreteLaplace(table.epsilon, table.sensitivity_l1)
    rate = float(min(law.rate, LARGEST_RATE))
    total = _declared_total(config)
    one = NoiseSum(rate, 1)

    @cache
    def errors(cells: int) -> tuple[float, int, int, float]:
        noise = NoiseSum(rate, table.cells // cells)
        misses = MISS, MISS / cells
        if noise.count == 1:
            widths = [law.half_width(1 - miss) for miss in misses]
        else:
            widths = [noise.half_width(float(miss)) for miss in misses]
        return noise.sd, widths[0], widths[1], noise.mean_absolute

    def query(attributes: tuple[str, ...], weight: Fraction) -> QueryForecast:
        cells = math.prod(config.universe.attribute(name).size for name in attributes)
        sd, half_width, simultaneous, mean_absolute = errors(cells)
        return QueryForecast(
            attributes=attributes,
            cells=cells,
            summed_cells=table.cells // cells,
            sd_records=sd,
            half_width_95=half_width,
            simultaneous_95=simultaneous,
            mean_absolute_error_records=mean_absolute,
            total_variation=cells * mean_absolute / (2 * total) if total else None,
            weight=weight,
        )

    possible = possible_cells(config.universe)
    unit = config.privacy.unit
    return Forecast(
        release_id=config.release.id,
        epsilon=config.privacy.epsilon,
        delta=config.privacy.delta,
        neighbours=config.privacy.neighbours,
        privacy_unit="record"
        if isinstance(unit, str)
        else f"{unit.column}, at most {unit.max_records} records",
        universe_size=config.universe.size,
        possible_cells=possible,
        tables=tables,
        alpha=float(law.alpha),
        noise_scale_records=float(table.noise_scale_records),
        noise_sd_per_cell=math.sqrt(law.variance),
        declared_total=total,
        single_cell=query(config.universe.names, Fraction(1)),
        queries=tuple(query(m.attributes, m.weight) for m in config.workload.marginals),
        # E max(noise, 0) is half of E|noise|, because the noise is symmetric: a / (1 - a^2)
        phantom_records_if_clipped=possible * one.mean_absolute / 2,
        costs=forecast_costs(config.universe, formats=config.output.formats, total=total),
    )


def compare(config: Config, epsilons: Sequence[Fraction]) -> list[Forecast]:
    """One forecast per epsilon, in the order given."""
    return [forecast(config, epsilon) for epsilon in epsilons]


def _refuse_unsuitable(privacy: PrivacyConfig, epsilon: Fraction) -> None:
    unit = privacy.unit
    problem = epsilon_problem(
        epsilon,
        neighbours=privacy.neighbours,
        max_records=1 if isinstance(unit, str) else unit.max_records,
    )
    if problem is not None:
        raise ConfigError("--epsilon", [problem])


def _declared_total(config: Config) -> int | None:
    for entry in config.public_totals:
        if not entry.where.codes:
            return entry.total
    return None


def _query_to_plain(query: QueryForecast) -> dict[str, Any]:
    return {
        "attributes": list(query.attributes),
        "cells": query.cells,
        "summed_cells": query.summed_cells,
        "sd_records": query.sd_records,
        "half_width_95": query.half_width_95,
        "simultaneous_95": query.simultaneous_95,
        "mean_absolute_error_records": query.mean_absolute_error_records,
        "l1_records": query.l1_records,
        "total_variation": query.total_variation,
        "weight": str(query.weight),
    }
