"""How often the intervals of `synth errors` hold the true count, and how wide they are.

    python benchmarks/coverage.py --seeds 40 --queries 30 --simulated 0
    python benchmarks/coverage.py --tables nltcs,adult --seeds 2 --simulated 2 --draws 12 --keep DIR

A query restricts one to four columns, drawn evenly; of each column it takes one code, a run of
bins or half of the labels. For every seed a release is measured as its shipped configuration says
and estimated where simulated intervals are asked for; then the same number of random queries is
answered, each by both methods. Printed are the share of 95 % intervals that hold the true count,
and median widths in records. `best` is the width that the table over just the columns of the query
would give if it alone were measured, with the whole budget: no release can have that for all
queries at once. `--keep` keeps redraws, so that a run can be taken up again.

The noise has the exact law in floating point and a seed: for a benchmark, not for a release.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tables import table

from synth.config import Config
from synth.domain import Margin, Universe
from synth.domain.counts import Counts
from synth.estimate import estimate_whole, required_atoms, round_counts
from synth.estimate.noise_again import draw_noise
from synth.measurements import MeasuredTable, Measurements, public_seed
from synth.measurements.combined_noise import CombinedNoise, summed_noise
from synth.noise import noise_variance
from synth.planning import plan_events
from synth.privacy import TableEvent
from synth.reading.answers import Answer, Answering
from synth.reading.queries import Query, query_of
from synth.reading.simulated_errors import Redraw, Redrawing

LEVEL = 0.95
MOST_COLUMNS = 4


@dataclass(eq=False)
class Made:
    """What `Answering` needs of a release."""

    config: Config
    measurements: Measurements
    cell_counts: Counts


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
    return 2 * CombinedNoise((summed_noise(alone, cells, 1),), 1).half_width(1 - LEVEL)


def keep_redraws(directory: Path, name: str, seed: int) -> None:
    """Let every redraw of this release be stored, and be read where it is stored."""
    drawn = Redrawing.redraw

    def redraw(self: Redrawing, number: int) -> Redraw:
        path = directory / f"{name}-{seed}-{number}.npz"
        if path.exists():
            stored = np.load(path)
            return Redraw(
                *(stored[key].astype(np.int64) for key in ("truth", "published", "noise"))
            )
        found = drawn(self, number)
        np.savez_compressed(
            path,
            truth=found.truth.astype(np.int32),
            published=found.published.astype(np.int32),
            noise=np.asarray(found.cell_noise).astype(np.int32),
        )
        return found

    Redrawing.redraw = redraw  # type: ignore[method-assign]


def run(name: str, seed: int, queries: int, draws: int, keep: Path | None) -> list[dict[str, Any]]:
    """One release and its random queries; simulated intervals only with `draws`."""
    config, truth, _ = planned(name)
    measurements = measure(name, seed)
    original = Redrawing.redraw
    counts = np.zeros_like(truth)
    if draws:
        estimated = estimate_whole(measurements, config)
        counts = round_counts(
            estimated.values, required_atoms(config), public_seed(measurements, "rounding")
        )
        if keep is not None:
            keep_redraws(keep, name, seed)
    shape = config.universe.shape
    made = Made(config, measurements, Counts.of_all(counts, shape))
    answering = Answering(made)  # type: ignore[arg-type]
    generator = np.random.default_rng([seed, 6])
    exact = Answering(Made(config, measurements, Counts.of_all(truth, shape)))  # type: ignore[arg-type]
    found = []
    for _ in range(queries):
        query = random_query(generator, config.universe)
        if not query.columns:
            continue
        answers = answering.answers(
            query, level=LEVEL, method="both" if draws else "measured", draws=max(draws, 1)
        )
        true = exact.published(query.where)
        event = measurements.tables[0].event
        found.append(
            {"columns": len(query.columns), "best": best_width(query, config, event)}
            | {a.method: (a.low <= true <= a.high, width(a)) for a in answers}
        )
    Redrawing.redraw = original  # type: ignore[method-assign]
    return found


def width(answer: Answer) -> int:
    """The width of an interval."""
    return answer.high - answer.low


def report(name: str, found: list[dict[str, Any]], what: str) -> None:
    """One line: the share of intervals that hold the truth, by method and number of columns."""
    line = f"| {name} | {what} | {len(found)} "
    for method in ("measured", "simulated"):
        answered = [each for each in found if method in each]
        if not answered:
            line += "| | | "
            continue
        inside, widths = zip(*(each[method] for each in answered), strict=True)
        ratio = np.median([each[method][1] / each["best"] for each in answered])
        line += f"| {100 * np.mean(inside):.1f} % | {np.median(widths):.0f} ({ratio:.1f}) "
    print(line + f"| {np.median([each['best'] for each in found]):.0f} |", flush=True)


def main() -> None:
    """Read the arguments, run, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", default="nltcs,adult,diamonds")
    parser.add_argument("--seeds", default="1", help="1 to this number, or a list as 1,3")
    parser.add_argument("--simulated", type=int, default=1, help="0: measured intervals only")
    parser.add_argument("--queries", type=int, default=1000, help="for each seed")
    parser.add_argument("--draws", type=int, default=12)
    parser.add_argument("--keep", type=Path, default=None)
    given = parser.parse_args()
    if "," in given.seeds:
        seeds = list(map(int, given.seeds.split(",")))
    else:
        seeds = list(range(1, int(given.seeds) + 1))
    print("| table | columns | queries | measured | width (of best) | simulated | width | best |")
    print("|---|---|---|---|---|---|---|---|")
    for name in given.tables.split(","):
        found = []
        for seed in seeds:
            draws = given.draws if given.simulated else 0
            found += run(name, seed, given.queries, draws, given.keep)
        for columns in range(1, MOST_COLUMNS + 1):
            report(name, [e for e in found if e["columns"] == columns], str(columns))
        report(name, found, "all")


if __name__ == "__main__":
    main()
