"""Draws per second of discrete Laplace noise: ours, numpy's geometric difference, OpenDP's.

All samplers run in one process, in turns, pinned to one core, so that whatever else the machine
does meets them alike; the ratios count, more than the absolute figures. numpy's difference of two
geometric variables is neither exact nor secure; it is here as the speed of plain numpy.

    python benchmarks/noise.py --epsilons 0.1,1,10 --seconds 1
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import resource
import statistics
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np

from synth.noise import DiscreteGaussian, DiscreteLaplace, NoiseStream, TableSampler
from synth.noise.law import Distribution
from synth.noise.stream import WordMemory
from synth.noise.table_sampler import CHUNK_CELLS

Draw = Callable[[int], object]
"""Draws a number of values."""


def ours(epsilon: Fraction) -> Draw:
    """The noise of further and further cells of one table."""
    return of_law(DiscreteLaplace(epsilon, 1))


def of_law(law: Distribution) -> Draw:
    """The noise of further and further cells of one table."""
    sampler = TableSampler(law)
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
        tries = []
        for _ in range(3):  # one may be held up by what else the machine does
            start = time.perf_counter()
            draw(count)
            tries.append(time.perf_counter() - start)
        if min(tries) > seconds / 2:
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


def laws() -> dict[str, Distribution]:
    """Noise of every width, by name; the first is what the others are compared with."""
    narrow_to_wide = {
        f"Laplace, epsilon {epsilon}, sensitivity {sensitivity}": DiscreteLaplace(
            Fraction(epsilon), sensitivity
        )
        for epsilon, sensitivity in (
            ("1", 1),
            ("0.1", 1),
            ("0.01", 1),
            ("0.001", 1),
            ("0.001", 1000),
        )
    }
    gaussian = {
        f"Gaussian, sigma {sigma:,}": DiscreteGaussian(Fraction(1, 2 * sigma**2), 1)
        for sigma in (1, 10, 80, 100, 1_000, 30_000, 1_000_000)
    }
    return narrow_to_wide | gaussian


def cipher(count: int) -> Draw:
    """Two random bytes for each cell and nothing else: no sampler can be quicker."""
    keystream = NoiseStream.from_operating_system().keystream(lane=0, table=0, index=0)
    memory = WordMemory(min(count, CHUNK_CELLS))

    def draw(count: int) -> object:
        for start in range(0, count, CHUNK_CELLS):
            keystream.words(min(CHUNK_CELLS, count - start), memory)
        return memory

    return draw


def every_width(arguments: argparse.Namespace) -> dict[str, object]:
    """The best of many short turns of every law, and of the cipher alone, in one process."""
    draws: dict[str, Draw] = {"cipher alone": cipher(arguments.cells)}
    draws |= {name: of_law(law) for name, law in laws().items()}
    best = dict.fromkeys(draws, math.inf)
    for _ in range(40 * arguments.turns // 9):
        for name, draw in draws.items():
            start = time.perf_counter()
            draw(arguments.cells)
            best[name] = min(best[name], time.perf_counter() - start)
    rates = {name: arguments.cells / seconds for name, seconds in best.items()}
    widths = [name for name in rates if name != "cipher alone"]
    return {
        "values_per_second": rates,
        "cipher_gigabytes_per_second": 2 * rates["cipher alone"] / 1e9,
        "share_of_the_first": {name: rates[name] / rates[widths[0]] for name in widths},
    }


def in_place(arguments: argparse.Namespace) -> dict[str, float]:
    """Cells per second of noise added to counts, with one thread and with two, in turns."""
    sampler, stream = TableSampler(DiscreteLaplace(Fraction(1), 1)), NoiseStream(key=os.urandom(32))
    tables, best = iter(range(1 << 20)), {}
    counts = np.zeros(16 * arguments.cells, dtype=np.int64)
    for _ in range(arguments.turns):
        for threads in (1, 2):
            start = time.perf_counter()
            sampler.add_to(counts, stream, table=next(tables), threads=threads)
            rate = len(counts) / (time.perf_counter() - start)
            name = f"{threads} threads"
            best[name] = max(best.get(name, 0.0), rate)
    return best


def huge_table(path: Path, cells: int) -> dict[str, float]:
    """Noise for `cells` counts in a file mapped to memory, and what memory that takes."""
    sampler = TableSampler(DiscreteLaplace(Fraction(1), 1))
    counts = np.memmap(path, dtype=np.int64, mode="w+", shape=cells)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    sampler.add_to(counts, NoiseStream.from_operating_system(), table=0)
    elapsed = time.perf_counter() - start
    status = Path("/proc/self/status").read_text().splitlines()
    own = next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))
    counts._mmap.close()
    path.unlink()
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "cells": cells,
        "seconds": elapsed,
        "own_megabytes": own * 1024 / 1e6,
        "peak_growth_with_mapped_pages_megabytes": (after - before) * 1024 / 1e6,
    }


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
    parser.add_argument("--huge", type=Path, help="file to map for a table of --huge-cells cells")
    parser.add_argument("--huge-cells", type=int, default=1_000_000_000)
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
        "every_width": every_width(arguments),
        "whole_table": whole_table(Fraction(1), arguments.table),
        "peak_process_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6,
    }
    os.sched_setaffinity(0, all_cores)
    results["in_place_epsilon_1"] = in_place(arguments)
    if arguments.huge:
        results["huge_table"] = huge_table(arguments.huge, arguments.huge_cells)
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
    widths = results["every_width"]
    print(f"cipher alone: {widths['cipher_gigabytes_per_second']:.2f} GB a second")
    for name, share in widths["share_of_the_first"].items():
        print(f"{name}: {widths['values_per_second'][name] / 1e6:,.0f} million, {share:.2f}")
    for name, cells in results["in_place_epsilon_1"].items():
        print(f"added in place, {name}: {cells / 1e6:,.0f} million cells a second")
    if "huge_table" in results:
        print(results["huge_table"])


if __name__ == "__main__":
    main()
