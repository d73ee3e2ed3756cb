"""How often the intervals of `synth errors` hold the true count, and how wide they are.

    python benchmarks/coverage.py --seeds 34 --queries 30
    python benchmarks/coverage.py --tables nltcs,adult --seeds 8 --queries 200 --replicates 40

A query restricts one to four columns, drawn evenly; of each column it takes one code, a run of
bins or half of the labels. For every seed a release is measured as its shipped configuration says,
and with `--replicates` estimated and replicated as often; then random queries are answered, each by
both methods. Printed are the share of 95 % intervals that hold the true count, and median widths in
records. `best` is the width that the table over just the columns of the query would give if it
alone were measured, with the whole budget: no release can have that for all queries at once.

Intervals from replicates that the release says not to rely on are left out; the share that is kept
stands behind them.

The noise has the exact law in floating point and a seed: for a benchmark, not for a release.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tables import table

from synth.config import Config
from synth.domain import Margin, Universe
from synth.domain.counts import Counts
from synth.estimate.noise_again import draw_noise
from synth.measurements import MeasuredTable, Measurements
from synth.measurements.combined_noise import CombinedNoise, summed_noise
from synth.noise import noise_variance
from synth.planning import plan_events
from synth.privacy import TableEvent
from synth.reading.answers import Answer, Answering
from synth.reading.quantities import Count
from synth.reading.queries import Query, query_of
from synth.reading.replicate_weights import Rule
from synth.reading.weighted_table import WeightedTable
from synth.release.derivation import derive
from synth.release.manifest.processing import CALIBRATED_COLUMNS, LARGEST_SHIFT

LEVEL = 0.95
MOST_COLUMNS = 4


@dataclass(eq=False)
class Made:
    """What `Answering` needs of a release."""

    config: Config
    measurements: Measurements
    cell_counts: Counts
    weights: SimpleNamespace | None = None

    @property
    def manifest(self) -> dict[str, Any]:
        """The one section that is read."""
        return {"post_processing": {"replicates": {}} if self.weights else {}}


@cache
def planned(name: str) -> tuple[Config, NDArray[np.int64], tuple[TableEvent, ...]]:
    """A shipped configuration, the true counts and what is measured."""
    config, truth = table(name)
    return config, truth, plan_events(config)


def measure(name: str, seed: int) -> Measurements:
    """The planned tables with noise."""
    config, truth, events = planned(name)
    generator = np.random.default_rng([seed, 5])
    tables = []
    for event in events:
        sums = Margin(event.table, event.coarsening).sums(config.universe, truth)
        noisy = sums + draw_noise(generator, event, len(sums))
        tables.append(MeasuredTable(event, noisy, noise_variance(event)))
    return Measurements("benchmark", "", tuple(tables))


def random_query(generator: np.random.Generator, universe: Universe) -> Query:
    """A conjunction over one to four columns."""
    most = min(MOST_COLUMNS, len(universe.names))
    names = generator.choice(universe.names, generator.integers(1, most + 1), replace=False)
    codes = {}
    for name in names:
        attribute = universe.attribute(str(name))
        kind = generator.integers(3)
        if kind == 0 or attribute.size == 2:
            taken = [int(generator.integers(attribute.size))]
        elif attribute.is_ordered:
            ends = sorted(generator.choice(attribute.bin_count + 1, 2, replace=False))
            taken = list(range(int(ends[0]), int(ends[1])))
        else:
            taken = list(map(int, generator.permutation(attribute.size)[: attribute.size // 2]))
        codes[attribute.name] = tuple(sorted(taken))
    return query_of("", codes, universe)


def best_width(query: Query, config: Config, event: TableEvent) -> int:
    """The width with the whole budget on the one table over the columns of the query."""
    cells = 1
    for codes in query.where.codes.values():
        cells *= len(codes)
    epsilon = config.privacy.epsilon
    alone = TableEvent(query.columns, cells, event.sensitivity_l1, epsilon)
    (width,) = CombinedNoise((summed_noise(alone, cells, 1),), 1).half_widths(1 - LEVEL)
    return 2 * width


def replicated(measurements: Measurements, config: Config, replicates: int) -> Made:
    """The release of these measurements."""
    config = replace(config, output=replace(config.output, replicates=replicates))
    derived = derive(measurements, config)
    if not replicates:
        return Made(config, measurements, derived.counts)
    found = derived.replicates
    weights = np.stack([found.published, *found.counts]).astype(np.float64)
    codes = np.stack(found.columns).astype(np.int64)
    table = WeightedTable(config.universe, codes, weights)
    rule = Rule.of(
        measurements.tables, calibrated_columns=CALIBRATED_COLUMNS, largest_shift=LARGEST_SHIFT
    )
    of_release = SimpleNamespace(table=table, factor=found.factor, rule=rule)
    return Made(config, measurements, derived.counts, of_release)


def run(name: str, seed: int, queries: int, replicates: int) -> list[dict[str, Any]]:
    """One release and its random queries."""
    config, truth, _ = planned(name)
    measurements = measure(name, seed)
    true_counts = Counts.of_all(truth, config.universe.shape)
    exact = Made(config, measurements, true_counts)
    made = replicated(measurements, config, replicates) if replicates else exact
    answering = Answering(made)  # type: ignore[arg-type]
    generator = np.random.default_rng([seed, 6])
    found = []
    for _ in range(queries):
        query = random_query(generator, config.universe)
        if not query.columns:
            continue
        method = "both" if replicates else "measured"
        answers = answering.answers(Count(query), level=LEVEL, method=method)
        true = true_counts.inside(config.universe, query.where)
        event = measurements.tables[0].event
        found.append(
            {"columns": len(query.columns), "best": best_width(query, config, event)}
            | {a.method: (a.low <= true <= a.high, width(a)) for a in answers if not a.reason}
        )
    return found


def width(answer: Answer) -> int:
    """The width of an interval."""
    return answer.high - answer.low


def report(name: str, found: list[dict[str, Any]], what: str) -> None:
    """One line: the share of intervals that hold the truth, by method and number of columns."""
    line = f"| {name} | {what} | {len(found)} "
    for method in ("measured", "replicates"):
        answered = [each for each in found if method in each]
        if not answered:
            line += "| | | "
            continue
        inside, widths = zip(*(each[method] for each in answered), strict=True)
        ratio = np.median([each[method][1] / each["best"] for each in answered])
        kept = f", of {100 * len(answered) / len(found):.0f} %" if method == "replicates" else ""
        line += f"| {100 * np.mean(inside):.1f} %{kept} | {np.median(widths):.0f} ({ratio:.1f}) "
    print(line + f"| {np.median([each['best'] for each in found]):.0f} |", flush=True)


def main() -> None:
    """Read the arguments, run, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", default="nltcs,adult,diamonds")
    parser.add_argument("--seeds", default="1", help="1 to this number, or a list as 1,3")
    parser.add_argument("--queries", type=int, default=1000, help="for each seed")
    parser.add_argument("--replicates", type=int, default=0, help="0: measured intervals only")
    given = parser.parse_args()
    if "," in given.seeds:
        seeds = list(map(int, given.seeds.split(",")))
    else:
        seeds = list(range(1, int(given.seeds) + 1))
    print("| table | columns | queries | measured | width (of best) | replicates | width | best |")
    print("|---|---|---|---|---|---|---|---|")
    for name in given.tables.split(","):
        found = []
        for seed in seeds:
            found += run(name, seed, given.queries, given.replicates)
        for columns in range(1, MOST_COLUMNS + 1):
            report(name, [e for e in found if e["columns"] == columns], str(columns))
        report(name, found, "all")


if __name__ == "__main__":
    main()
