"""Cumulative releases: what it costs that no published count ever decreases.

    python benchmarks/growth.py --tables nltcs,adult --periods 12

The records of a table get a made-up period each, later ones more of them (5 % a period). Every
period measures its nodes with noise of the exact law in floating point and a seed, as chosen for
the horizon; the release is fitted to the cumulative tables. Printed for some periods: errors of the
estimate by itself (mean over tables of one, two and three columns of the total variation distance
from the true cumulative table, and that of all cells, in per cent), and as multiples of them those
of the counts that are published: records of the release before kept and others added. `residual`
is the way not taken: the same estimator on the noisy tables less the sums of the release before.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from tables import table

from synth.config import Config, WorkloadConfig
from synth.config.workload import WeightedMarginal
from synth.domain import Margin
from synth.domain.counts import Counts
from synth.estimate import estimate, judge, with_records_added
from synth.estimate.noise_again import draw_noise
from synth.measurements import MeasuredTable, Measurements
from synth.noise import noise_variance
from synth.planning import plan_events
from synth.privacy.continual import Factorization, factorization_of

GROWTH = 1.05
MOST_TABLES = 60
PRINTED = 4


class Simulated:
    """A table that grows, and its noisy cumulative counts."""

    def __init__(self, name: str, *, epsilon: Fraction, periods: int, pairs: bool) -> None:
        """Assign a period to every record, and plan what is measured."""
        config, truth = table(name)
        asked = tuple(map(WeightedMarginal, combinations(config.universe.names, 2)))
        self.config: Config = replace(
            config,
            workload=WorkloadConfig(asked if pairs else (), cells=not pairs),
            public_totals=(),
            output=replace(config.output, rows=None),
            privacy=replace(config.privacy, epsilon=epsilon),
        )
        share = GROWTH ** np.arange(periods)
        self._cells = np.repeat(np.arange(truth.size), truth)
        generator = np.random.default_rng(5)
        self._period = generator.choice(periods, p=share / share.sum(), size=self._cells.size) + 1
        self._events = plan_events(self.config)
        self.factorization: Factorization = factorization_of(self._events, periods)
        self._nodes: list[list[NDArray[np.int64]]] = []

    def true(self, period: int) -> Counts:
        """The records so far."""
        universe = self.config.universe
        counts = np.bincount(self._cells[self._period <= period], minlength=universe.size)
        return Counts.of_all(counts, universe.shape)

    def measured(self, period: int) -> Measurements:
        """The noisy cumulative tables. Requires: the periods are asked for in their order."""
        universe, true = self.config.universe, self.true(period)
        for node in self.factorization.nodes_at(period):
            seed = [7, len(self._nodes), len(node.weights)]
            generator = np.random.default_rng(seed)
            events = map(self.factorization.node_event, self._events)
            self._nodes.append([draw_noise(generator, each, each.cells) for each in events])
        tables = []
        for place, event in enumerate(self._events):
            law = self.factorization.cumulative_event(event, period)
            noise = self.factorization.combine([node[place] for node in self._nodes], period)
            sums = true.sums(universe, Margin(event.table, event.coarsening))
            tables.append(MeasuredTable(law, sums + noise, noise_variance(law)))
        return Measurements(f"period-{period}", self.config.hash, tuple(tables))

    def errors(self, counts: Counts, true: Counts) -> NDArray[np.float64]:
        """Of one, two and three columns and of all cells, in per cent."""
        universe, found = self.config.universe, []
        for order in (1, 2, 3):
            every = list(combinations(universe.names, order))
            if len(every) > MOST_TABLES:
                chosen = np.random.default_rng(1).choice(len(every), MOST_TABLES, replace=False)
                every = [every[place] for place in chosen]
            margins = [Margin(names, (0,) * order) for names in every]
            apart = [np.abs(counts.sums(universe, m) - true.sums(universe, m)) for m in margins]
            found.append(np.mean([each.sum() for each in apart]))
        shape = universe.shape
        found.append(np.abs(counts.of_every_cell(shape) - true.of_every_cell(shape)).sum())
        return np.array(found) * 50.0 / true.total


def less(measurements: Measurements, counts: Counts, config: Config) -> Measurements:
    """The noisy tables of what the counts do not have."""
    universe = config.universe
    tables = []
    for each in measurements.tables:
        sums = counts.sums(universe, Margin(each.event.table, each.event.coarsening))
        tables.append(replace(each, noisy_counts=each.noisy_counts - sums))
    return replace(measurements, tables=tuple(tables))


def main() -> None:
    """Print a line for each of some periods."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--tables", default="nltcs,adult")
    parser.add_argument("--epsilon", type=Fraction, default=Fraction(1))
    parser.add_argument("--periods", type=int, default=12)
    parser.add_argument("--cells", action="store_true", help="plan for all cells, not for pairs")
    arguments = parser.parse_args()
    for name in arguments.tables.split(","):
        run(name, arguments.epsilon, arguments.periods, pairs=not arguments.cells)


def run(name: str, epsilon: Fraction, periods: int, *, pairs: bool) -> None:
    """All releases of one table."""
    simulated = Simulated(name, epsilon=epsilon, periods=periods, pairs=pairs)
    config, universe = simulated.config, simulated.config.universe
    print(f"{name}, epsilon {epsilon}: {simulated.factorization.to_plain()}")
    kept = residual = None
    for period in range(1, periods + 1):
        measured, true = simulated.measured(period), simulated.true(period)
        plain = estimate(measured, config, drawn_seed=period).round(period)
        margins = [Margin(event.table, event.coarsening) for event in measured.table_events]
        if kept is None or residual is None:
            kept = residual = plain
        else:
            kept = with_records_added(kept, plain, margins, universe, seed=period)
            rest = less(measured, residual, config)
            more = estimate(rest, config, drawn_seed=period).round(period)
            residual = residual.plus(more, universe.shape)
        if period % (periods // PRINTED) == 0:
            base = simulated.errors(plain, true)
            told = [np.round(simulated.errors(each, true) / base, 2) for each in (kept, residual)]
            worst = judge(kept, measured, config).worst
            print(
                f"  {period}: plain {np.round(base, 2)} %, kept {told[0]}, residual {told[1]}; "
                f"the gate's nearest limit is used to {worst.ratio if worst else 0.0:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
