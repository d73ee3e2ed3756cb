"""Accuracy of whole counts: ours against clip-and-rescale and simplex projection.

    python benchmarks/accuracy.py --tables nltcs,adult --epsilons 0.1,1,3,10 --repeats 5
    python benchmarks/accuracy.py --ways auto --tables flights,diamonds --delta 1e-9

The first three measure one noisy table of the universe; `auto` measures what the planner chooses
from the shipped configuration at that budget. All end with the same systematic rounding. Printed
is the total variation distance to the true table (half the sum of absolute differences of shares),
as a mean over all tables of one, two and three attributes and over the repeats, and of the joint
table; seconds of one estimate with its rounding; the most memory that it held; by how many rows
the total was off, over the repeats.

The noise has the exact law in floating point and a seed: for a benchmark, not for a release.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from baselines import clip_and_rescale, simplex_projection
from numpy.typing import NDArray
from tables import NAMES, table

from synth.config.types import Config, Strategy
from synth.domain import Margin
from synth.estimate import Estimate, estimate, round_counts
from synth.estimate.interactions import Interactions
from synth.measurements import MeasuredTable, Measurements, noise_variance
from synth.plan import plan_events
from synth.privacy import TableEvent
from synth.privacy.accounting import LAPLACE

Ints = NDArray[np.int64]


def measure(config: Config, truth: Ints, events: Sequence[TableEvent], seed: int) -> Measurements:
    """The planned tables, with noise of the exact law drawn in floating point."""
    generator = np.random.default_rng(seed)
    tables = []
    for event in events:
        counts = Margin(event.table, event.coarsening).sums(config.universe, truth)
        variance = noise_variance(event)
        if event.mechanism == LAPLACE:
            success = -np.expm1(-1.0 / float(event.noise_scale_records))
            noise = generator.geometric(success, counts.size)
            noise -= generator.geometric(success, counts.size)
        else:
            noise = np.rint(generator.normal(0.0, variance**0.5, counts.size)).astype(np.int64)
        tables.append(MeasuredTable(event, counts + noise, variance))
    return Measurements("benchmark", "", tuple(tables))


def budgeted(config: Config, epsilon: Fraction, delta: Fraction, strategy: Strategy) -> Config:
    """The configuration with another budget and strategy."""
    privacy = replace(config.privacy, epsilon=epsilon, delta=delta)
    return replace(config, privacy=privacy, strategy=strategy)


def distances(counts: Ints, truth: Ints, shape: tuple[int, ...]) -> list[float]:
    """Mean total variation of the tables of order 1, 2 and 3, and that of the joint table."""
    gap = counts / max(1, counts.sum()) - truth / truth.sum()
    found: dict[int, list[float]] = {1: [], 2: [], 3: []}
    interactions = Interactions(shape)
    for subset, sums in interactions.tables(gap, 3):
        found[interactions.component_order(subset)].append(0.5 * float(np.abs(sums).sum()))
    means = [float(np.mean(values)) if values else float("nan") for values in found.values()]
    return [*means, 0.5 * float(np.abs(gap).sum())]


def baseline(project: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> Callable[..., Ints]:
    """A way that looks at cells alone, with our rounding."""

    def run(measured: Measurements, config: Config, seed: int) -> Ints:
        noisy = measured.tables[0].noisy_counts * config.universe.possible()
        return round_counts(Estimate(project(noisy.astype(np.float64)), {}), config, seed).values

    return run


def ours(measured: Measurements, config: Config, seed: int) -> Ints:
    """What a release publishes."""
    return round_counts(estimate(measured, config), config, seed).values


WAYS: dict[str, Callable[[Measurements, Config, int], Ints]] = {
    "clip and rescale": baseline(clip_and_rescale),
    "simplex projection": baseline(simplex_projection),
    "identity": ours,
    "auto": ours,
}


def run(name: str, epsilon: Fraction, delta: Fraction, seeds: range, ways: list[str]) -> None:
    """Measure some ways on one table at one budget, and print a row for each."""
    declared, truth = table(name)
    config = declared
    shape = config.universe.shape
    for way in ways:
        publish = WAYS[way]
        config = budgeted(declared, epsilon, delta, "auto" if way == "auto" else "identity")
        events = plan_events(config)
        results, seconds, extra_rows = [], [], []
        for seed in seeds:
            measured = measure(config, truth, events, seed)
            start = time.perf_counter()
            counts = publish(measured, config, seed)
            seconds.append(time.perf_counter() - start)
            results.append(distances(counts, truth, shape))
            extra_rows.append(int(counts.sum() - truth.sum()))
        tracemalloc.start()
        publish(measure(config, truth, events, 0), config, 0)
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        means = " | ".join(f"{value:.4f}" for value in np.mean(results, axis=0))
        spread = np.std(results, axis=0)
        spreads = "/".join(f"{value:.4f}" for value in spread)
        time_text = f"{np.median(seconds):.2f}"
        print(
            f"| {name} | {float(epsilon):g} | {float(delta):g} | {way} | {means} | {spreads} | {time_text} |"
            f" {peak:.0f} | {min(extra_rows):+} to {max(extra_rows):+} |",
            flush=True,
        )


def main() -> None:
    """Read the command line and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tables", default="nltcs,adult", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--epsilons", default="1")
    parser.add_argument("--delta", default="0")
    parser.add_argument("--ways", default=",".join(WAYS), help=f"of {', '.join(WAYS)}")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    arguments = parser.parse_args()
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.repeats)
    columns = (
        "table, epsilon, delta, way, 1-way, 2-way, 3-way, joint, sd, seconds, MB, rows too many"
    )
    print(f"| {columns.replace(', ', ' | ')} |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for name in arguments.tables.split(","):
        for epsilon in arguments.epsilons.split(","):
            run(
                name,
                Fraction(epsilon),
                Fraction(arguments.delta),
                seeds,
                arguments.ways.split(","),
            )


if __name__ == "__main__":
    main()
