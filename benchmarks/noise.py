"""Draws per second of discrete Laplace noise: ours, numpy's geometric difference, OpenDP's.

All samplers run in one process, in turns, pinned to one core, so that whatever else the machine
does meets them alike; the ratios count, more than the absolute figures. numpy's difference of two
geometric variables is neither exact nor secure; it is here as the speed of plain numpy.

    python benchmarks/noise.py --epsilons 0.1,1,10 --seconds 1
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np

from synth.noise import DiscreteLaplace, NoiseStream, TableSampler

Draw = Callable[[int], object]
"""Draws a number of values."""


def ours(epsilon: Fraction) -> Draw:
    """The noise of further and further cells of one table."""
    sampler = TableSampler(DiscreteLaplace(epsilon, 1))
    stream = NoiseStream.from_operating_system()
    position = 0

    def draw(count: int) -> object:
        nonlocal position
        noise = sampler.draw(stream, table=0, start=position, count=count)
        position += count
        return noise

    return draw


def numpy_difference(epsilon: Fraction) -> Draw:
    """The difference of two geometric variables, from numpy's default generator."""
    generator = np.random.default_rng()
    success = -np.expm1(-float(epsilon))

    def draw(count: int) -> object:
        return generator.geometric(success, count) - generator.geometric(success, count)

    return draw


def opendp_vector(epsilon: Fraction) -> Draw | None:
    """OpenDP's discrete Laplace mechanism on a vector of zeros; None where it is missing."""
    try:
        import opendp.prelude as dp
    except ImportError:
        return None
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=dp.i64)), dp.l1_distance(T=dp.i64)
    mechanism = dp.m.make_laplace(*space, scale=float(1 / epsilon))

    def draw(count: int) -> object:
        return mechanism([0] * count)

    return draw


def let_the_allocator_recycle() -> None:
    """Free one large block, so that malloc keeps memory of every sampler for its next turn.

    Otherwise all samplers alike are measured mostly at waiting for the system to clear pages.
    """
    np.empty(31 << 17).fill(0.0)


def rate(draw: Draw, count: int, seconds: float) -> float:
    """Values per second, by the clock on the wall, over at least `seconds`."""
    draw(count)  # the caches still hold what another sampler needed
    drawn, start = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - start) < seconds:
        draw(count)
        drawn += count
    return drawn / elapsed


def count_for(draw: Draw, seconds: float, most: int) -> int:
    """How many values one call draws, so that it takes at most about `seconds`."""
    count = 1 << 10
    while count < most:
        start = time.perf_counter()
        draw(count)
        if time.perf_counter() - start > seconds / 2:
            break
        count *= 2
    return count


def one_epsilon(epsilon: Fraction, arguments: argparse.Namespace) -> dict[str, object]:
    """Medians of all samplers, in turns on one core."""
    candidates = {
        "synth": ours(epsilon),
        "numpy": numpy_difference(epsilon),
        "opendp": opendp_vector(epsilon),
    }
    draws = {name: draw for name, draw in candidates.items() if draw is not None}
    turn = arguments.seconds / arguments.turns
    counts = {name: count_for(draw, turn / 4, arguments.cells) for name, draw in draws.items()}
    rates: dict[str, list[float]] = {name: [] for name in draws}
    for _ in range(arguments.turns):
        for name, draw in draws.items():
            rates[name].append(rate(draw, counts[name], turn))
    medians = {name: statistics.median(values) for name, values in rates.items()}
    return {
        "epsilon": str(epsilon),
        "values_per_second": medians,
        "values_per_call": counts,
        "ratio": {
            peer: medians["synth"] / medians[peer] for peer in ("numpy", "opendp") if peer in draws
        },
    }


def two_threads(epsilon: Fraction, arguments: argparse.Namespace) -> dict[str, float]:
    """One thread against two, in turns, each thread filling its own memory."""
    sampler = TableSampler(DiscreteLaplace(epsilon, 1))
    stream = NoiseStream.from_operating_system()
    memory = [np.empty(arguments.cells, dtype=np.int64) for _ in range(2)]
    tables = iter(range(1 << 20))

    def fill(target: np.ndarray) -> None:
        sampler.draw(stream, table=next(tables), start=0, count=len(target), out=target)

    rates: dict[int, list[float]] = {1: [], 2: []}
    with ThreadPoolExecutor(2) as pool:
        for _ in range(arguments.turns):
            for threads in (1, 2):
                start = time.perf_counter()
                for _ in range(4):
                    list(pool.map(fill, memory[:threads]))
                elapsed = time.perf_counter() - start
                rates[threads].append(4 * threads * arguments.cells / elapsed)
    return {f"{n} threads": statistics.median(values) for n, values in rates.items()}


def whole_table(epsilon: Fraction, cells: int) -> dict[str, float]:
    """One table of `cells` cells in fresh memory, beside filling that memory with zeros."""
    start = time.perf_counter()
    TableSampler(DiscreteLaplace(epsilon, 1))
    prepared = time.perf_counter() - start
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    draw = ours(epsilon)
    start = time.perf_counter()
    draw(cells)
    elapsed = time.perf_counter() - start
    start = time.perf_counter()
    np.empty(cells, dtype=np.int64).fill(0)
    zeros = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "cells": cells,
        "seconds": elapsed,
        "preparation_seconds": prepared,
        "zeros_seconds": zeros,
        "result_megabytes": 8 * cells / 1e6,
        "peak_growth_megabytes": (after - before) * 1024 / 1e6,
    }


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--epsilons", default="0.001,0.01,0.1,1,10", help="comma-separated")
    parser.add_argument("--seconds", type=float, default=2.0, help="per sampler and epsilon")
    parser.add_argument("--turns", type=int, default=9, help="the median of so many is taken")
    parser.add_argument("--cells", type=int, default=1 << 18, help="values in one call, at most")
    parser.add_argument("--table", type=int, default=10_000_000, help="cells of one whole table")
    parser.add_argument("--core", type=int, default=0, help="core to be pinned to")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def main() -> None:
    arguments = parse()
    all_cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {arguments.core})
    let_the_allocator_recycle()
    epsilons = [Fraction(text) for text in arguments.epsilons.split(",")]
    results = {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "one_thread": [one_epsilon(epsilon, arguments) for epsilon in epsilons],
        "whole_table": whole_table(Fraction(1), arguments.table),
        "peak_process_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6,
    }
    os.sched_setaffinity(0, all_cores)
    results["threads_epsilon_1"] = two_threads(Fraction(1), arguments)
    if arguments.json:
        print(json.dumps(results, indent=2))
        return
    print("million values a second, one thread; ratios of synth to a peer")
    for row in results["one_thread"]:
        rates = {name: value / 1e6 for name, value in row["values_per_second"].items()}
        ratios = ", ".join(f"{peer} {ratio:,.1f}x" for peer, ratio in row["ratio"].items())
        shown = ", ".join(f"{name} {value:,.4g}" for name, value in rates.items())
        print(f"epsilon {row['epsilon']:>7}: {shown}; {ratios}")
    table = results["whole_table"]
    print(
        f"one table of {table['cells']:,} cells, epsilon 1: {table['seconds']:.3f} s "
        f"(filling as much fresh memory with zeros: {table['zeros_seconds']:.3f} s), "
        f"{table['peak_growth_megabytes']:.0f} MB more at the peak for a result of "
        f"{table['result_megabytes']:.0f} MB; preparation {table['preparation_seconds']:.4f} s"
    )
    print(f"peak of the process: {results['peak_process_megabytes']:.0f} MB")
    threads = results["threads_epsilon_1"]
    print(
        f"epsilon 1, memory reused: one thread {threads['1 threads'] / 1e6:,.0f}, "
        f"two threads {threads['2 threads'] / 1e6:,.0f} million values a second"
    )


if __name__ == "__main__":
    main()
