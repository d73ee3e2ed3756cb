"""One noisy column: posterior means of its levels beside the nearest numbers above zero.

    python benchmarks/levels.py

Made-up shapes of 100 levels with 50,000 records, ordered columns of Adult, and histograms of
DPBench of 256 bins (sums of neighbouring ones). Printed is the total variation of the projection
onto the numbers above zero with the known sum, and what part of it the posterior means have,
with the order and without, at three sizes of Laplace noise; means of five draws.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from tables import ROOT
from wide import adult

from synth.estimate.listed.levels import posterior_of_levels, simplex

Floats = NDArray[np.float64]

RECORDS = 50_000
DEVIATIONS = (5.0, 50.0, 500.0)
BINS = 256


def made_up() -> Iterator[tuple[str, Floats]]:
    """Counts of every shape."""
    k = np.arange(100)
    generator = np.random.default_rng(5)
    spikes = np.full(100, 0.01)
    spikes[[0, 20, 21, 22, 40, 41, 70]] = 30, 5, 6, 7, 20, 3, 2
    shapes = {
        "even": np.ones(100),
        "Zipf": 1 / (k + 1),
        "Zipf, shuffled": generator.permutation(1 / (k + 1)),
        "geometric": 0.9**k,
        "three steps": np.repeat([1.0, 5.0, 0.2], (37, 23, 40)),
        "clustered spikes": spikes,
        "heaps at tens": np.exp(-k / 40) * np.where(k % 10, 1, 10),
        "any (Dirichlet)": generator.dirichlet(np.ones(100)),
        "seven levels": np.array([0.4, 0.3, 0.1, 0.1, 0.05, 0.03, 0.02]),
        "two levels": np.array([0.7, 0.3]),
    }
    for name, shape in shapes.items():
        counts = generator.multinomial(RECORDS, shape / shape.sum())
        yield name, counts.astype(np.float64)


def real() -> Iterator[tuple[str, Floats]]:
    """Ordered columns of Adult, and histograms of DPBench."""
    config, columns = adult()
    for attribute, column in zip(config.universe.attributes, columns, strict=True):
        if attribute.is_ordered:
            counts = np.bincount(column, minlength=attribute.size)
            yield f"Adult, {attribute.name}", counts.astype(np.float64)
    for path in sorted((ROOT / "data" / "dpbench").glob("*.n4096.npy")):
        counts = np.load(path).astype(np.float64).reshape(BINS, -1).sum(axis=1)
        yield path.name.split(".")[0], counts


def errors(counts: Floats, deviation: float, draws: int) -> Floats:
    """Mean total variations: projection, posterior means with the order, and without."""
    total, found = float(counts.sum()), []
    for seed in range(draws):
        noise = np.random.default_rng(seed).laplace(0.0, deviation / 2**0.5, counts.size)
        noisy = counts + np.rint(noise)
        made = [simplex(noisy, total)]
        made += [
            posterior_of_levels(noisy, deviation**2, total, ordered=ordered).mean
            for ordered in (True, False)
        ]
        found.append([float(np.abs(each - counts).sum()) / 2 / total for each in made])
    return np.mean(found, axis=0)


def main() -> None:
    """Read the command line and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=5)
    draws = parser.parse_args().draws
    columns = " | ".join(f"noise of {deviation:g}" for deviation in DEVIATIONS)
    print(f"| table | levels | records | {columns} |")
    print("|---|---|---|" + "---|" * len(DEVIATIONS))
    for name, counts in (*made_up(), *real()):
        cells = []
        for deviation in DEVIATIONS:
            plain, ordered, unordered = errors(counts, deviation, draws)
            cells.append(f"{plain:.4f}, {ordered / plain:.2f}, {unordered / plain:.2f}")
        print(f"| {name} | {counts.size} | {counts.sum():,.0f} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
