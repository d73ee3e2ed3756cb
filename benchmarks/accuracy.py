"""Accuracy of whole counts: ours against clip-and-rescale and simplex projection.

    python benchmarks/accuracy.py --tables nltcs,adult --epsilons 0.1,1,3,10 --repeats 5
    python benchmarks/accuracy.py --ways auto --tables flights,diamonds --delta 1e-9

The first three measure one noisy table of the universe; `auto` measures what a run of the shipped
configuration measures at that budget, by its own code; `1-way 0.3` measures the universe with 70 %
of the budget and all tables of one attribute with 30 %, `1-way 1` those tables alone. The
projections are rounded in cell order. Printed is the total variation distance to the true table
(half the sum of absolute differences of shares), as a mean over all tables of one, two and three
attributes and over the repeats, and of the joint table; seconds of one estimate with its rounding;
the most memory that it held; by how many rows the total was off, over the repeats. `--append FILE`
also adds a line of JSON for every row.

The noise has the exact law in floating point and a seed: for a benchmark, not for a release.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
from baselines import clip_and_rescale, simplex_projection
from numpy.typing import NDArray
from tables import NAMES, table

from synth.config import Config, Strategy
from synth.curator.counting.tabulate import Held
from synth.curator.measuring import measure_after_look, measure_counted
from synth.curator.seal import Sensitive
from synth.domain import Margin
from synth.estimate import estimate_whole, required_atoms, round_counts
from synth.estimate.interactions import Interactions
from synth.estimate.maximum_entropy import quick_guess
from synth.measurements import MeasuredLook, MeasuredTable, Measurements
from synth.noise import NoiseStream, noise_variance
from synth.planning import Schedule as PlannedRounds
from synth.planning import plan_events, plan_look
from synth.planning.problem import problem_of
from synth.planning.weighing import choose, planned_way
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


def noise_of(config: Config, seed: int) -> NoiseStream:
    """A stream for one draw of one table at one budget: no two share the luck of a look."""
    shape = [(each.name, each.size) for each in config.universe.attributes]
    words = f"{seed} {shape} {config.privacy.epsilon} {config.privacy.delta}"
    return NoiseStream(key=hashlib.sha256(words.encode()).digest())


def as_a_run(config: Config, counted: Sensitive[Held], seed: int) -> Measurements:
    """What a run measures of these counts, by its own code, with exact noise: a look, choices."""
    look, stream = plan_look(config), noise_of(config, seed)

    def fit(noisy: Measurements) -> Callable[[Margin], NDArray[np.float64]]:
        return quick_guess(noisy, config.universe)

    def plan_after(seen: MeasuredLook | None) -> Sequence[TableEvent] | PlannedRounds:
        way = planned_way(config, None if seen is None else seen.noisy_counts)
        return way.schedule or way.first

    if look is None:
        return measure_counted(config, plan_after(None), counted, stream, fit)
    return measure_after_look(config, look, counted, stream, plan_after, fit=fit)


def measured_by(
    way: str, config: Config, truth: Ints, events: Sequence[TableEvent], seed: int
) -> Measurements:
    """What one way measures: `auto` as a run does."""
    if way == "auto":
        return as_a_run(config, Sensitive(truth.copy()), seed)
    return measure(config, truth, events, seed)


def budgeted(config: Config, epsilon: Fraction, delta: Fraction, strategy: Strategy) -> Config:
    """The configuration with another budget and strategy."""
    privacy = replace(config.privacy, epsilon=epsilon, delta=delta)
    return replace(config, privacy=privacy, strategy=strategy)


def events_of(config: Config, epsilon: Fraction, delta: Fraction, way: str) -> Sequence[TableEvent]:
    """What a way measures."""
    if not way.startswith(ONE_WAY):
        return plan_events(budgeted(config, epsilon, delta, "identity"))
    share = Fraction(way.removeprefix(ONE_WAY))
    weighed = choose(problem_of(budgeted(config, epsilon, delta, "auto"))).weighed
    for spending in (each.spending for each in weighed):
        split = (spending.tables, spending.noise, spending.low_order_share)
        alone = ("all 1-way alike", "laplace", None)
        if split == (alone if share == 1 else ("universe + 1-way", "laplace", share)):
            return spending.events
    raise SystemExit(f"the planner does not weigh a share of {share} for the 1-way tables")


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
        return round_counts(project(noisy.astype(np.float64)), required_atoms(config), seed)

    return run


def ours(measured: Measurements, config: Config, seed: int) -> Ints:
    """What a release publishes."""
    return estimate_whole(measured, config).round(seed).of_every_cell(config.universe.shape)


WAYS: dict[str, Callable[[Measurements, Config, int], Ints]] = {
    "clip and rescale": baseline(clip_and_rescale),
    "simplex projection": baseline(simplex_projection),
    "identity": ours,
    "auto": ours,
}
ONE_WAY = "1-way "
"""A way that starts like this, followed by the share of the tables of one attribute."""


def run(
    name: str,
    epsilon: Fraction,
    delta: Fraction,
    seeds: range,
    ways: list[str],
    append: Path | None,
) -> None:
    """Measure some ways on one table at one budget; print a row for each, and append it."""
    declared, truth = table(name)
    shape = declared.universe.shape
    for way in ways:
        publish = ours if way.startswith(ONE_WAY) else WAYS[way]
        config = budgeted(declared, epsilon, delta, "auto" if way == "auto" else "identity")
        events = () if way == "auto" else events_of(declared, epsilon, delta, way)
        results, seconds, extra_rows = [], [], []
        for seed in seeds:
            measured = measured_by(way, config, truth, events, seed)
            start = time.perf_counter()
            counts = publish(measured, config, seed)
            seconds.append(time.perf_counter() - start)
            results.append(distances(counts, truth, shape))
            extra_rows.append(int(counts.sum() - truth.sum()))
        tracemalloc.start()
        publish(measured_by(way, config, truth, events, 0), config, 0)
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        mean, spread = np.mean(results, axis=0), np.std(results, axis=0)
        means = " | ".join(f"{value:.4f}" for value in mean)
        spreads = "/".join(f"{value:.4f}" for value in spread)
        seconds_text = f"{np.median(seconds):.2f}"
        print(
            f"| {name} | {float(epsilon):g} | {float(delta):g} | {way} | {means} | {spreads} |"
            f" {seconds_text} | {peak:.0f} | {min(extra_rows):+} to {max(extra_rows):+} |",
            flush=True,
        )
        if append is not None:
            line = {
                "table": name,
                "epsilon": f"{float(epsilon):g}",
                "delta": f"{float(delta):g}".replace("e-0", "e-"),
                "way": way,
                "tvd": [round(float(value), 6) for value in mean],
                "sd": [round(float(value), 6) for value in spread],
                "seconds": round(float(np.median(seconds)), 2),
                "repeats": len(seeds),
                "first_seed": seeds.start,
            }
            with append.open("a") as file:
                file.write(json.dumps(line) + "\n")


def main() -> None:
    """Read the command line and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tables", default="nltcs,adult", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--epsilons", default="1")
    parser.add_argument("--delta", default="0")
    ways = f"of {', '.join(WAYS)}, {ONE_WAY}SHARE"
    parser.add_argument("--ways", default=",".join(WAYS), help=ways)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--append", type=Path, help="a file of JSON lines to add the rows to")
    arguments = parser.parse_args()
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.repeats)
    errors = "1-way, 2-way, 3-way, joint, sd"
    columns = f"table, epsilon, delta, way, {errors}, seconds, MB, rows too many"
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
                arguments.append,
            )


if __name__ == "__main__":
    main()
