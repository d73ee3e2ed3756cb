"""The planner: how near the optimum, how quick, and how true its forecasts are.

    python benchmarks/planner.py --parts optimum,time,forecast

* `optimum`: root mean square error over all cells of all marginals of one order, at privacy cost
  1, for independent noise on the best marginals, against the best Gaussian mechanism of any kind.
* `time`: seconds of a whole plan, and of the linear theory of large range workloads.
* `forecast`: standard deviation as forecast and as drawn. Noise of the right law is added to the
  true tables, the least squares estimate is found by conjugate gradients over the cells of the
  universe, which knows nothing of components, and its error is averaged over all queries and
  draws.

The noise is drawn in floating point with a seed: for a benchmark, not for a release.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from tables import made_up, mixture, table

from synth.config import Config, RangeQueries, Strategy, WeightedMarginal, WorkloadConfig
from synth.domain import Attribute, Margin, Universe
from synth.domain.attribute import balanced_levels
from synth.planning import forecast
from synth.planning.linear_theory import axes_of, components_of, marginal, questions_of
from synth.planning.margins import finest, points_of
from synth.planning.noise_sums import noise_variance
from synth.planning.optimum import objective_of, optimal_split
from synth.planning.problem import problem_of
from synth.planning.query_forecast import QueryForecast
from synth.planning.weighing import choose
from synth.privacy import TableEvent
from synth.privacy.accounting import GAUSSIAN

Floats = NDArray[np.float64]
ONE = Fraction(1)

DOMAINS = {
    "Adult": (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2),
    "CPS": (50, 100, 7, 4, 2),
    "Loans": (101, 101, 101, 101, 3, 8, 36, 6, 51, 4, 5, 15),
}


def binned(name: str, bins: int, branching: int) -> Attribute:
    """An ordered attribute with a balanced hierarchy."""
    edges = tuple(map(Fraction, range(bins + 1)))
    bare = Attribute(name, "number", edges=edges)
    return replace(bare, hierarchy=balanced_levels(bare, branching)) if branching else bare


def levels(sizes: Sequence[int]) -> Universe:
    """A universe of categorical attributes."""
    return Universe(
        tuple(
            Attribute(f"a{i:02}", "categorical", tuple(map(str, range(size))))
            for i, size in enumerate(sizes)
        )
    )


def best_of_all(sizes: Sequence[int], order: int) -> float:
    """The optimum over all Gaussian mechanisms, from its closed form (arXiv 2305.08175).

    Noise with its own variance on every residual: cost sum p_A / s_A, total variance sum v_A s_A,
    so the least is (sum sqrt(v_A p_A))^2 at cost 1.
    """
    value: dict[tuple[int, ...], float] = {}
    cells = 0
    for chosen in combinations(range(len(sizes)), order):
        size = math.prod(sizes[i] for i in chosen)
        cells += size
        for count in range(order + 1):
            for part in combinations(chosen, count):
                inside = math.prod((sizes[i] - 1) / sizes[i] for i in part)
                outside = math.prod(sizes[i] ** -2 for i in chosen if i not in part)
                value[part] = value.get(part, 0.0) + size * inside * outside
    root = sum(
        math.sqrt(v * math.prod((sizes[i] - 1) / sizes[i] for i in part))
        for part, v in value.items()
    )
    return root / math.sqrt(cells)


def optimum() -> None:
    """Print how near independent noise on marginals comes to the best mechanism."""
    print("| domain | marginals | best mechanism | independent noise | ratio | gap known | s |")
    print("|---|---|---|---|---|---|---|")
    for name, sizes in DOMAINS.items():
        for order in (1, 2, 3):
            start = time.process_time()
            universe = levels(sizes)
            axes = axes_of(universe)
            places = range(len(sizes))
            below = [c for k in range(1, order + 1) for c in combinations(places, k)]
            components = components_of(axes, tuple(finest(axes, c) for c in below))
            questions = tuple(
                marginal([axes[i].name for i in c], axes) for c in below if len(c) == order
            )
            split = optimal_split(objective_of(components, questions, error="variance"))
            seconds = time.process_time() - start
            error = math.sqrt(split.loss / sum(q.queries for q in questions))
            best = best_of_all(sizes, order)
            print(
                f"| {name} | all {order}-way | {best:.3f} | {error:.3f} | {error / best:.4f} |"
                f" {1 - (split.efficiency or 0):.4%} | {seconds:.2f} |",
                flush=True,
            )


def seconds_of_plans() -> None:
    """Print the processor time of plans."""
    print("| problem | candidates | seconds |\n|---|---|---|")
    nltcs, adult = table("nltcs")[0], table("adult")[0]
    wide = with_workload(adult, levels(DOMAINS["Adult"]), order=3, cells=False)
    cases: dict[str, Callable[[], int]] = {
        "Adult, 14 columns, all 3-way": lambda: weighed(wide),
        "the same, delta 1e-9": lambda: weighed(with_delta(wide)),
        "adult.yaml (7 columns)": lambda: weighed(adult),
        "nltcs.yaml (16 columns)": lambda: weighed(nltcs),
        "4,096 bins, all ranges, branching 2": lambda: ranges_of(binned("x", 4096, 2)),
        "256 x 256 bins, all rectangles, branching 2": lambda: ranges_of(
            binned("x", 256, 2), binned("y", 256, 2)
        ),
    }
    for name, plan in cases.items():
        start = time.process_time()
        count = plan()
        print(f"| {name} | {count} | {time.process_time() - start:.2f} |", flush=True)


def weighed(config: Config) -> int:
    """Make a whole plan; the largest number of tables in an alternative."""
    ways = choose(replace(problem_of(config), strategy="auto")).weighed
    return max(len(each.spending.events) for each in ways)


def ranges_of(*attributes: Attribute) -> int:
    """Split a budget for all ranges; the number of candidates."""
    axes = axes_of(Universe(attributes))
    asked = RangeQueries(tuple(each.name for each in attributes), "range", ONE)
    questions = questions_of(WorkloadConfig((), cells=False, ranges=(asked,)), axes)
    points = points_of(axes, questions)
    optimal_split(objective_of(components_of(axes, points), questions, error="absolute"))
    return len(points)


def with_delta(config: Config) -> Config:
    """The same with delta 1e-9."""
    return replace(config, privacy=replace(config.privacy, delta=Fraction(1, 10**9)))


def with_workload(
    config: Config,
    universe: Universe,
    *,
    order: int,
    ranges: tuple[RangeQueries, ...] = (),
    cells: bool = True,
    strategy: Strategy = "auto",
) -> Config:
    """The configuration with another universe and workload."""
    marginals = tuple(
        WeightedMarginal(chosen, ONE)
        for count in range(1, order + 1)
        for chosen in combinations(universe.names, count)
    )
    workload = WorkloadConfig(marginals, cells=cells, ranges=ranges)
    return replace(
        config, universe=universe, public_totals=(), workload=workload, strategy=strategy
    )


def planned(config: Config, tables: str, noise: str) -> Config:
    """The configuration with the tables of one alternative, if that is the split they get."""
    problem = replace(problem_of(config), strategy="auto")
    chosen = next(
        each.spending
        for each in choose(problem).weighed
        if each.spending.tables == tables and each.spending.noise == noise
    )
    margins = tuple(Margin(event.table, event.coarsening) for event in chosen.events)
    return replace(config, strategy=margins)


def cases() -> Iterator[tuple[str, Config, NDArray[np.int64]]]:
    """Ten data sets with workloads and the tables that are measured."""
    adult, adult_counts = table("adult")
    nltcs, nltcs_counts = table("nltcs")
    adult2 = with_workload(adult, adult.universe, order=2)
    adult3 = with_workload(adult, adult.universe, order=3)
    nltcs2 = with_workload(nltcs, nltcs.universe, order=2)
    yield "adult, identity, 3-way", replace(adult3, strategy="identity"), adult_counts
    yield (
        "adult, universe + 1-way, 2-way",
        planned(adult2, "universe + 1-way", "laplace"),
        adult_counts,
    )
    best = "best marginals"
    yield "adult, best marginals, 2-way", planned(adult2, best, "laplace"), adult_counts
    gaussian = planned(with_delta(adult3), best, "gaussian")
    yield "adult, best marginals, Gaussian, 3-way", gaussian, adult_counts
    gaussian = planned(with_delta(nltcs2), best, "gaussian")
    yield "nltcs, best marginals, Gaussian, 2-way", gaussian, nltcs_counts
    yield (
        "nltcs, universe + 1-way, 2-way",
        planned(nltcs2, "universe + 1-way", "laplace"),
        nltcs_counts,
    )
    for name, shape in (("mixture", (10, 10, 10, 10)), ("small", (3, 4, 5, 6))):
        made = with_workload(adult, levels(shape), order=2)
        counts = made_up(shape, mixture(shape, 10, 0.3), 20_000)
        chosen = planned(made, "universe + best marginals", "laplace")
        yield f"{name}, universe + best marginals, 2-way", chosen, counts
    for kind, attributes in (
        ("prefix", (binned("x", 4096, 16),)),
        ("range", (binned("x", 1000, 8),)),
        ("range", (binned("x", 64, 4), binned("y", 64, 4))),
    ):
        universe = Universe(attributes)
        asked = (RangeQueries(universe.names, kind, ONE),)  # type: ignore[arg-type]
        made = with_workload(with_delta(adult), universe, order=0, ranges=asked, cells=False)
        shape = universe.shape
        counts = made_up(shape, mixture(shape, 10, 0.3), 100_000)
        name = " x ".join(map(str, shape))
        yield f"{name} bins, best levels, every {kind}", planned(made, best, "gaussian"), counts


def drawn_noise(event: TableEvent, generator: np.random.Generator) -> Floats:
    """Noise of the law of the event, continuous where it is Gaussian."""
    if event.mechanism == GAUSSIAN:
        return generator.normal(0, math.sqrt(noise_variance(event)), event.cells)
    success = -math.expm1(-1 / float(event.noise_scale_records))
    first, second = generator.geometric(success, (2, event.cells))
    return (first - second).astype(np.float64)


def least_squares(
    universe: Universe, events: Sequence[TableEvent], noisy: Sequence[Floats]
) -> Floats:
    """Cells that fit all noisy tables best, of least norm: conjugate gradients."""
    margins = [Margin(event.table, event.coarsening) for event in events]
    precisions = [1 / noise_variance(event) for event in events]

    def spread(margin: Margin, values: Floats) -> Floats:
        out = values.reshape(margin.shape(universe))
        for axis, (name, step) in enumerate(zip(margin.names, margin.coarsening, strict=True)):
            groups = np.array(universe.attribute(name).groups(step))
            out = np.take(out, groups, axis=axis)
        shape = [
            size if name in margin.names else 1
            for name, size in zip(universe.names, universe.shape, strict=True)
        ]
        return np.broadcast_to(out.reshape(shape), universe.shape).reshape(-1)

    def normal(cells: Floats) -> Floats:
        return sum(
            precision * spread(margin, margin.sums(universe, cells))
            for margin, precision in zip(margins, precisions, strict=True)
        )

    residual: Floats = sum(
        precision * spread(margin, values)
        for margin, precision, values in zip(margins, precisions, noisy, strict=True)
    )
    cells = np.zeros(universe.size)
    direction, size = residual.copy(), float(residual @ residual)
    start = size
    for _ in range(500):
        moved = normal(direction)
        step = size / float(direction @ moved)
        cells += step * direction
        residual -= step * moved
        new = float(residual @ residual)
        if new < 1e-20 * start:
            break
        direction = residual + new / size * direction
        size = new
    return cells


def squared_error(universe: Universe, query: QueryForecast, errors: Floats) -> float:
    """The mean over the queries of the squared sum of cell errors."""
    sums = Margin(query.attributes, (0,) * len(query.attributes)).sums(universe, errors)
    if query.kind == "marginal":
        return float((sums**2).mean())
    table_of_sums = sums.reshape([universe.attribute(name).size for name in query.attributes])
    for axis, name in enumerate(query.attributes):
        bins = universe.attribute(name).bin_count
        part = np.moveaxis(table_of_sums, axis, 0)[:bins]
        upto = np.concatenate([np.zeros((1, *part.shape[1:])), np.cumsum(part, axis=0)])
        if query.kind == "prefix":
            part = upto[1:]
        else:
            low, high = np.triu_indices(bins + 1, 1)
            part = upto[high] - upto[low]
        table_of_sums = np.moveaxis(part, 0, axis)
    return float((table_of_sums**2).mean())


def forecasts(repeats: int, only: str) -> None:
    """Print standard deviations as forecast and as drawn, of cases whose name holds `only`."""
    print("| case | tables | queries | draws | forecast sd | drawn sd | ratio |")
    print("|---|---|---|---|---|---|---|")
    for name, config, counts in cases():
        if only not in name:
            continue
        plan = forecast(config)
        universe = config.universe
        asked = [*plan.queries, *plan.ranges]
        predicted = math.sqrt(np.mean([query.sd_records**2 for query in asked]))
        total = 0.0
        draws = repeats * min(10, max(1, 100_000 // universe.size))
        for seed in range(draws):
            generator = np.random.default_rng([seed, universe.size])
            noisy = [
                Margin(event.table, event.coarsening).sums(universe, counts)
                + drawn_noise(event, generator)
                for event in plan.tables
            ]
            errors = least_squares(universe, plan.tables, noisy) - counts
            total += np.mean([squared_error(universe, query, errors) for query in asked])
        drawn = math.sqrt(total / draws)
        queries = sum(query.cells for query in asked)
        print(
            f"| {name} | {len(plan.tables)} | {queries:,} | {draws} | {predicted:.4g} |"
            f" {drawn:.4g} | {drawn / predicted:.3f} |",
            flush=True,
        )


def main() -> None:
    """Read the command line and print tables in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--parts", default="optimum,time,forecast")
    parser.add_argument("--only", default="", help="a part of the names of forecast cases")
    parser.add_argument("--repeats", type=int, default=60, help="draws; more on small universes")
    arguments = parser.parse_args()
    parts = {"optimum": optimum, "time": seconds_of_plans}
    for part in arguments.parts.split(","):
        parts.get(part, lambda: forecasts(arguments.repeats, arguments.only))()
        print()


if __name__ == "__main__":
    main()
